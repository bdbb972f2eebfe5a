// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/kernels/states.h"

#include "base/check.h"
#include "kernels/delta_net.h"

namespace aster::vulkan {
namespace {

constexpr uint32_t kInvocations = 64;
// Columns of a state in a workgroup of delta_states.comp. Fewer for large keys, as the state would
// leave no shared memory for the rest.
constexpr uint32_t kColumns = 32;
constexpr uint32_t kFewColumns = 16;
constexpr uint32_t kMostKeyDimOfColumns = 192;

struct InputsPush {
  Address mixed;
  Address times;
  Address betas;
  Address time_bias;
  Address rates;
  Address rows_out;
  uint32_t mixed_stride;
  uint32_t time_stride;
  uint32_t beta_stride;
  uint32_t channels;
  uint32_t heads;
};

struct ConvolutionPush {
  Address courses;
  Address table;
  Address hashes;
  Address weights;
  Address keys;
  Address values;
  uint32_t channels;
  uint32_t key_channels;
  uint32_t taps;
  uint32_t row_words;
  uint32_t mark_word;
};

struct StatesPush {
  Address courses;
  Address table;
  Address hashes;
  Address keys;
  Address values;
  Address result;
  uint32_t heads;
  uint32_t key_heads;
  uint32_t in_turn;
  uint32_t value_dim;
  uint32_t row_words;
  uint32_t numbers_word;
  uint32_t mark_word;
  uint32_t result_stride;
  uint32_t page;
};

struct MarksPush {
  Address courses;
  Address table;
  Address hashes;
  uint32_t mark_word;
};

kernels::DeltaInputs InputsOf(const DeltaSizes& sizes) {
  return {.channels = sizes.channels(), .heads = sizes.value_heads};
}
uint32_t RowWords(const DeltaSizes& sizes) {
  return static_cast<uint32_t>(InputsOf(sizes).bytes() / sizeof(uint32_t));
}
uint32_t MarkWord(const DeltaSizes& sizes) {
  return sizes.value_heads * sizes.key_dim * sizes.value_dim;
}

void CheckSizes(const DeltaSizes& sizes) {
  CHECK(sizes.key_dim % kernels::kDeltaLanes == 0 && sizes.value_dim % kernels::kDeltaLanes == 0);
  CHECK(sizes.key_dim <= kernels::kMaxDeltaDim && sizes.value_heads % sizes.key_heads == 0);
}

}  // namespace

Status RecordDeltaInputs(Kernels& kernels, Commands& commands, const DeltaInputsJob& job) {
  CheckSizes(job.sizes);
  CHECK(job.rows <= kRowGroups);
  const InputsPush push{job.mixed,
                        job.times,
                        job.betas,
                        job.time_bias,
                        job.rates,
                        job.rows_out,
                        job.mixed_stride,
                        job.time_stride,
                        job.beta_stride,
                        job.sizes.channels(),
                        job.sizes.value_heads};
  return kernels.Record(commands, "delta_inputs", {}, push,
                        {.x = DivideRoundingUp(RowWords(job.sizes), kInvocations), .y = job.rows});
}

Status RecordDeltaConvolution(Kernels& kernels, Commands& commands,
                              const DeltaConvolutionJob& job) {
  CheckSizes(job.sizes);
  CHECK(job.courses.longest <= kRowGroups && job.courses.count <= kRowGroups);
  const uint32_t channels = job.sizes.channels();
  const ConvolutionPush push{job.courses.courses,
                             job.courses.table,
                             job.courses.hashes,
                             job.weights,
                             job.keys,
                             job.values,
                             channels,
                             job.sizes.key_channels(),
                             job.taps,
                             RowWords(job.sizes),
                             MarkWord(job.sizes)};
  return kernels.Record(commands, "delta_convolve", {}, push,
                        {.x = DivideRoundingUp(channels, kInvocations),
                         .y = job.courses.longest,
                         .z = job.courses.count});
}

Status RecordDeltaStates(Kernels& kernels, Commands& commands, const DeltaStatesJob& job) {
  CheckSizes(job.sizes);
  CHECK(job.courses.count <= kRowGroups);
  const StatesPush push{job.courses.courses,
                        job.courses.table,
                        job.courses.hashes,
                        job.keys,
                        job.values,
                        job.result,
                        job.sizes.value_heads,
                        job.sizes.key_heads,
                        job.sizes.in_turn ? 1u : 0u,
                        job.sizes.value_dim,
                        RowWords(job.sizes),
                        static_cast<uint32_t>(InputsOf(job.sizes).numbers_at() / sizeof(uint32_t)),
                        MarkWord(job.sizes),
                        job.result_stride,
                        job.page};
  const uint32_t columns = job.sizes.key_dim > kMostKeyDimOfColumns ? kFewColumns : kColumns;
  return kernels.Record(commands,
                        kernels.arithmetic().native_fma ? "delta_states" : "delta_states_emulated",
                        {job.sizes.key_dim, columns}, push,
                        {.x = DivideRoundingUp(job.sizes.value_dim, columns),
                         .y = job.sizes.value_heads,
                         .z = job.courses.count});
}

Status RecordDeltaMarks(Kernels& kernels, Commands& commands, const DeltaSizes& sizes,
                        const StateCourses& courses) {
  const MarksPush push{courses.courses, courses.table, courses.hashes, MarkWord(sizes)};
  return kernels.Record(commands, "delta_marks", {}, push, {.x = courses.count});
}

}  // namespace aster::vulkan
