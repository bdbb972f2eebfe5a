// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/kernels/streams.h"

#include "base/check.h"
#include "kernels/stream_mix.h"

namespace aster::vulkan {
namespace {

constexpr uint32_t kRowInvocations = 64;      // of stream_weights.comp
constexpr uint32_t kColumnInvocations = 256;  // of streams.comp

struct StreamWeightsPush {
  Address numbers;
  Address scale;
  Address base;
  uint32_t rows;
  uint32_t stride;
  uint32_t streams;
  uint32_t iterations;
  float epsilon;
  uint32_t is_merge;
};

struct StreamsPush {
  Address streams;
  Address numbers;
  Address half;
  uint32_t rows;
  uint32_t width;
  uint32_t count;
  uint32_t stream_stride;
  uint32_t number_stride;
  uint32_t half_stride;
};

struct GateValuesPush {
  Address streams;
  Address keys;
  Address weights;
  uint32_t width;
  uint32_t stream_stride;
  uint32_t key_stride;
  float epsilon;
};

Status RecordStreams(Kernels& kernels, Commands& commands, const StreamsJob& job, bool spread) {
  CHECK(job.count <= kernels::kMaxStreams);
  const StreamsPush push{job.streams,       job.numbers,       job.half,
                         job.rows,          job.width,         job.count,
                         job.stream_stride, job.number_stride, job.half_stride};
  return kernels.Record(commands, "streams", {spread ? 1u : 0u}, push,
                        GroupsForElements(uint64_t{job.rows} * job.width, kColumnInvocations));
}

}  // namespace

Status RecordStreamWeights(Kernels& kernels, Commands& commands, const StreamWeightsJob& job) {
  CHECK(job.streams <= kernels::kMaxStreams);
  const StreamWeightsPush push{job.numbers,    job.scale,   job.base,
                               job.rows,       job.stride,  job.streams,
                               job.iterations, job.epsilon, job.is_merge ? 1u : 0u};
  return kernels.Record(commands, "stream_weights", {}, push,
                        {.x = DivideRoundingUp(job.rows, kRowInvocations)});
}

Status RecordSumStreams(Kernels& kernels, Commands& commands, const StreamsJob& job) {
  return RecordStreams(kernels, commands, job, false);
}

Status RecordSpreadStreams(Kernels& kernels, Commands& commands, const StreamsJob& job) {
  return RecordStreams(kernels, commands, job, true);
}

Status RecordGateValues(Kernels& kernels, Commands& commands, const GateValuesJob& job) {
  CHECK(job.rows <= kRowGroups);
  const GateValuesPush push{job.streams,       job.keys,       job.weights, job.width,
                            job.stream_stride, job.key_stride, job.epsilon};
  return kernels.Record(commands, "gate_values", {}, push, {.x = job.count, .y = job.rows});
}

}  // namespace aster::vulkan
