// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/kernels/rows.h"

#include <bit>

#include "base/check.h"

namespace aster::vulkan {
namespace {

constexpr uint32_t kInvocations = 256;  // of a workgroup with an invocation an element

struct RmsNormPush {
  Address x;
  Address y;
  Address weight;
  uint32_t rows;
  uint32_t count;
  uint32_t x_stride;
  uint32_t y_stride;
  float epsilon;
  uint32_t weighted;
};

struct SoftmaxPush {
  Address x;
  Address y;
  uint32_t rows;
  uint32_t count;
  uint32_t stride;
};

struct RopePush {
  Address x;
  Address cosines;
  Address sines;
  uint32_t rows;
  uint32_t rows_of_token;
  uint32_t stride;
  uint32_t pairs;
  uint32_t inverse;
  uint32_t adjacent;
};

struct HadamardPush {
  Address x;
  uint32_t rows;
  uint32_t stride;
  uint32_t count;
  float factor;
};

struct CopyRowsPush {
  Address from;
  Address to;
  uint32_t rows;
  uint32_t columns;
  uint32_t from_stride;
  uint32_t to_stride;
};

struct GatherRowsPush {
  Address table;
  Address indices;
  Address result;
  uint32_t rows;
  uint32_t width;
};

// 1 / sqrt(count), as computed by Hadamard of ref/ops.cc: for an odd power of two, 1 / sqrt(2)
// times an exact factor.
float HadamardFactor(uint32_t count) {
  const int exponent = std::countr_zero(count);
  const float power = std::bit_cast<float>(static_cast<uint32_t>(127 - exponent / 2) << 23);
  return exponent % 2 == 0 ? power : 0x1.6a09e6p-1f * power;
}

}  // namespace

Status RecordRmsNorm(Kernels& kernels, Commands& commands, const RmsNormJob& job) {
  const RmsNormPush push{job.x,        job.y,       Readable(job.weight, job.x),
                         job.rows,     job.count,   job.x_stride,
                         job.y_stride, job.epsilon, job.weight != 0 ? 1u : 0u};
  return kernels.Record(commands, "rms_norm", {}, push, GroupsForRows(job.rows));
}

Status RecordSoftmax(Kernels& kernels, Commands& commands, const SoftmaxJob& job) {
  const SoftmaxPush push{job.x, job.y, job.rows, job.count, job.stride};
  return kernels.Record(commands, "softmax", {}, push, GroupsForRows(job.rows));
}

Status RecordArgmax(Kernels& kernels, Commands& commands, const ArgmaxJob& job) {
  const SoftmaxPush push{job.x, job.indices, job.rows, job.count, job.stride};
  return kernels.Record(commands, "argmax", {}, push, GroupsForRows(job.rows));
}

Status RecordRope(Kernels& kernels, Commands& commands, const RopeJob& job) {
  const RopePush push{
      job.x,     job.cosines,           job.sines,
      job.rows,  job.rows_of_token,     job.stride,
      job.pairs, job.inverse ? 1u : 0u, job.layout == kernels::RopeLayout::kAdjacent ? 1u : 0u};
  return kernels.Record(commands, "rope", {}, push,
                        GroupsForElements(uint64_t{job.rows} * job.pairs, kInvocations));
}

Status RecordHadamard(Kernels& kernels, Commands& commands, Address x, uint32_t stride,
                      uint32_t rows, uint32_t count) {
  CHECK(std::has_single_bit(count) && count <= kMostHadamard);
  const HadamardPush push{x, rows, stride, count, HadamardFactor(count)};
  return kernels.Record(commands, "hadamard", {}, push, GroupsForRows(rows));
}

Status RecordCopyRows(Kernels& kernels, Commands& commands, const CopyRowsJob& job) {
  const CopyRowsPush push{job.from, job.to, job.rows, job.columns, job.from_stride, job.to_stride};
  return kernels.Record(commands, "copy_rows", {}, push,
                        GroupsForElements(uint64_t{job.rows} * job.columns, kInvocations));
}

Status RecordGatherRows(Kernels& kernels, Commands& commands, const GatherRowsJob& job) {
  CHECK(job.type == TableType::kF32 || job.width % 2 == 0);
  const GatherRowsPush push{job.table, job.indices, job.result, job.rows, job.width};
  return kernels.Record(commands, "gather_rows", {static_cast<uint32_t>(job.type)}, push,
                        GroupsForElements(uint64_t{job.rows} * job.width, kInvocations));
}

}  // namespace aster::vulkan
