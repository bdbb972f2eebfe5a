// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/kernels/elements.h"

#include <algorithm>

namespace aster::vulkan {
namespace {

constexpr uint32_t kInvocations = 256;  // of a workgroup

struct ElementPush {
  Address a;
  Address b;
  Address y;
  uint32_t count;
  uint32_t b_count;
  uint32_t b_share;
  uint32_t b_stride;
  float factor;
  uint32_t operation;
};

struct ConversionPush {
  Address x;
  Address y;
  uint32_t count;
  uint32_t conversion;
};

// fixed.comp has the same numbers.
constexpr uint32_t kAccumulate = 0;
constexpr uint32_t kAdd = 1;
constexpr uint32_t kFinish = 2;

struct FixedPush {
  Address sums;
  Address terms;
  Address result;
  uint32_t count;
  float weight;
  uint32_t operation;
};

struct WeightedSumPush {
  Address terms;
  Address places;
  Address weights;
  Address more;
  Address more_scores;
  Address result;
  uint32_t rows;
  uint32_t width;
  uint32_t terms_of_row;
  uint32_t has_places;
  uint32_t has_more;
  uint32_t has_more_scores;
};

struct OwnSumsPush {
  Address terms;
  Address places;
  Address weights;
  Address more;
  Address more_scores;
  Address result;
  uint32_t rows;
  uint32_t width;
  uint32_t terms_of_row;
  uint32_t has_more_scores;
};

Status RecordFixed(Kernels& kernels, Commands& commands, const FixedPush& push) {
  return kernels.Record(commands, "fixed", {}, push, GroupsForElements(push.count, kInvocations));
}

}  // namespace

Status RecordElements(Kernels& kernels, Commands& commands, const ElementJob& job) {
  const ElementPush push{job.a,
                         Readable(job.b, job.a),
                         job.y,
                         job.count,
                         job.b_count,
                         job.b_share == 0 ? std::max(job.count, 1u) : job.b_share,
                         job.b_stride == 0 ? job.b_count : job.b_stride,
                         job.factor,
                         static_cast<uint32_t>(job.operation)};
  return kernels.Record(commands, "elementwise", {}, push,
                        GroupsForElements(job.count, kInvocations));
}

Status RecordConversion(Kernels& kernels, Commands& commands, Conversion conversion, Address x,
                        uint32_t count, Address y) {
  const ConversionPush push{x, y, count, static_cast<uint32_t>(conversion)};
  return kernels.Record(commands, "convert", {}, push,
                        GroupsForElements((uint64_t{count} + 1) / 2, kInvocations));
}

Status RecordFixedAccumulate(Kernels& kernels, Commands& commands, Address sums, Address y,
                             uint32_t count, float weight) {
  return RecordFixed(kernels, commands, {sums, y, 0, count, weight, kAccumulate});
}

Status RecordFixedAdd(Kernels& kernels, Commands& commands, Address sums, Address more,
                      uint32_t count) {
  return RecordFixed(kernels, commands, {sums, more, 0, count, 0.0f, kAdd});
}

Status RecordFixedFinish(Kernels& kernels, Commands& commands, Address sums, uint32_t count,
                         Address y) {
  return RecordFixed(kernels, commands, {sums, 0, y, count, 0.0f, kFinish});
}

Status RecordWeightedSum(Kernels& kernels, Commands& commands, const WeightedSumJob& job) {
  const WeightedSumPush push{job.terms,
                             Readable(job.places, job.terms),
                             job.weights,
                             job.more,
                             Readable(job.more_scores, job.weights),
                             job.result,
                             job.rows,
                             job.width,
                             job.terms_of_row,
                             job.places != 0 ? 1u : 0u,
                             job.more != 0 ? 1u : 0u,
                             job.more_scores != 0 ? 1u : 0u};
  return kernels.Record(commands, "weighted_sum", {}, push,
                        GroupsForElements(uint64_t{job.rows} * job.width, kInvocations));
}

Status RecordOwnSums(Kernels& kernels, Commands& commands, const OwnSumsJob& job) {
  const OwnSumsPush push{job.terms,
                         job.places,
                         job.weights,
                         Readable(job.more, job.terms),
                         Readable(job.more_scores, job.weights),
                         job.result,
                         job.rows,
                         job.width,
                         job.terms_of_row,
                         job.more_scores != 0 ? 1u : 0u};
  return kernels.Record(commands, "own_sums", {}, push,
                        GroupsForElements(uint64_t{job.rows} * job.width, kInvocations));
}

}  // namespace aster::vulkan
