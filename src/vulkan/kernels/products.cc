// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/kernels/products.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "kernels/activation_layout.h"
#include "kernels/packed.h"
#include "vulkan/kernels/type_names.h"

namespace aster::vulkan {
namespace {

using kernels::ActivationFormat;
using kernels::WeightType;

// What product_few.comp and product_floats.comp take at once.
constexpr uint32_t kFewRows = 8;
// The outputs and rows of a workgroup of product_many.comp.
constexpr uint32_t kManyOutputs = 64;
constexpr uint32_t kManyRows = 32;
constexpr uint32_t kFloatOutputs = 64;  // of product_floats.comp

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

struct ProductPush {
  Address weights;
  Address activations;
  Address result;
  Address grid;
  uint32_t outputs;
  uint32_t columns;
  uint32_t activation_rows;
  uint32_t first_row;
  uint32_t rows;
  uint32_t out_stride;
};

struct FloatProductPush {
  Address weights;
  Address activations;
  Address result;
  uint32_t outputs;
  uint32_t columns;
  uint32_t activation_rows;
  uint32_t first_row;
  uint32_t rows;
  uint32_t out_stride;
};

// Rows that one workgroup takes: a power of two, so that few pipelines are needed.
uint32_t RowsTogether(uint32_t rows) { return std::bit_ceil(std::min(rows, kFewRows)); }

Status RecordFloatProduct(Kernels& kernels, Commands& commands, const std::string& name,
                          const ProductJob& job) {
  const FloatProductPush push{job.weights,   job.activations, job.result,
                              job.outputs,   job.columns,     job.activation_rows,
                              job.first_row, job.rows,        job.out_stride};
  const uint32_t together = RowsTogether(job.rows);
  return kernels.Record(commands, "product_" + name, {together}, push,
                        {.x = DivideRoundingUp(job.outputs, kFloatOutputs),
                         .y = DivideRoundingUp(job.rows, together)});
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
  const std::string name = NameOfType(job.type);
  if (job.type <= WeightType::kBF16) return RecordFloatProduct(kernels, commands, name, job);
  const ProductPush push{job.weights, job.activations, job.result,          kernels.grid(),
                         job.outputs, job.columns,     job.activation_rows, job.first_row,
                         job.rows,    job.out_stride};
  const char* const dot = kernels.arithmetic().dot_products ? "_dot" : "";
  if (job.rows <= kFewRows) {
    const auto panels = static_cast<uint32_t>(kernels::kPanelRows);
    return kernels.Record(commands, fmt::format("product_few_{}{}", name, dot),
                          {RowsTogether(job.rows)}, push,
                          {.x = DivideRoundingUp(job.outputs, panels)});
  }
  return kernels.Record(commands, fmt::format("product_many_{}{}", name, dot), {}, push,
                        {.x = DivideRoundingUp(job.outputs, kManyOutputs),
                         .y = DivideRoundingUp(job.rows, kManyRows)});
}

}  // namespace aster::vulkan
