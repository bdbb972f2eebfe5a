// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/kernels/products.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "kernels/activation_layout.h"
#include "vulkan/kernels/product_push.h"

namespace aster::vulkan {
namespace {

using kernels::ActivationFormat;
using kernels::WeightType;

struct PreparePush {
  Address rows_in;
  Address prepared;
  uint32_t rows;
  uint32_t columns;
  uint32_t stride;
};

struct GatherPush {
  Address from;
  Address to;
  Address indices;
  uint32_t from_rows;
  uint32_t to_rows;
  uint32_t pieces;
  uint32_t words;
};

// A power of two, so that few pipelines are needed.
uint32_t RowsTogether(const ProductJob& job) {
  const bool is_float = job.type <= WeightType::kBF16;
  if (job.rows > kFewRows && !is_float) return kManyRows;
  return std::bit_ceil(std::min(job.rows, kFewRows));
}

}  // namespace

Status RecordPrepare(Kernels& kernels, Commands& commands, const PrepareJob& job) {
  CHECK(job.rows <= kRowGroups);
  const PreparePush push{job.rows_in, job.prepared, job.rows, job.columns, job.stride};
  switch (job.format) {
    case ActivationFormat::kF32:
    case ActivationFormat::kBF16: {
      const bool bfloat16 = job.format == ActivationFormat::kBF16;
      const auto pieces =
          static_cast<uint32_t>(kernels::ActivationLayoutOf(job.format, job.columns).pieces);
      return kernels.Record(commands, "prepare_floats", {bfloat16 ? 1u : 0u}, push,
                            {.x = DivideRoundingUp(pieces, 4), .y = job.rows});
    }
    case ActivationFormat::kInt8Per32:
      return kernels.Record(commands, "prepare_per_32", {}, push,
                            {.x = DivideRoundingUp(job.columns, 64), .y = job.rows});
    case ActivationFormat::kInt8Per256:
      CHECK(job.columns % 256 == 0);
      return kernels.Record(commands, "prepare_per_256", {}, push,
                            {.x = job.columns / 256, .y = job.rows});
  }
  CheckFailed(__FILE__, __LINE__, "a known activation format", "");
}

Status RecordGatherPrepared(Kernels& kernels, Commands& commands, const GatherPreparedJob& job) {
  CHECK(job.to_rows <= kRowGroups);
  const auto layout = kernels::ActivationLayoutOf(job.format, job.columns);
  const auto words = static_cast<uint32_t>(layout.words);
  const auto pieces = static_cast<uint32_t>(layout.pieces);
  const GatherPush push{job.from, job.to, job.indices, job.from_rows, job.to_rows, pieces, words};
  constexpr uint32_t kPieceWords = kernels::kPieceBytes / kernels::kWordBytes;
  return kernels.Record(
      commands, "gather_prepared", {}, push,
      {.x = DivideRoundingUp(pieces * kPieceWords + words, 64), .y = job.to_rows});
}

Status RecordProduct(Kernels& kernels, Commands& commands, const ProductJob& job) {
  CHECK(job.first_row + job.rows <= job.activation_rows);
  if (job.rows == 0 || job.outputs == 0) return Ok();
  const ProductPush push{.weights = job.weights,
                         .ids = 0,
                         .slots = 0,
                         .activations = job.activations,
                         .result = job.result,
                         .grid = kernels.grid(),
                         .outputs = job.outputs,
                         .columns = job.columns,
                         .activation_rows = job.activation_rows,
                         .first_row = job.first_row,
                         .rows = job.rows,
                         .out_stride = job.out_stride,
                         .sharing = 1,
                         .kind = ProductRows::kOneMatrix};
  const uint32_t together = RowsTogether(job);
  return RecordProductPush(kernels, commands, job.type, push, together,
                           DivideRoundingUp(job.rows, together));
}

}  // namespace aster::vulkan
