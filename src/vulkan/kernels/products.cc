// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/kernels/products.h"

#include <fmt/format.h>

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

struct NormPush {
  Address rows_in;
  Address prepared;
  Address weight;
  Address normed;
  uint32_t rows;
  uint32_t columns;
  uint32_t stride;
  uint32_t normed_stride;
  float epsilon;
  uint32_t weighted;
};

struct GatePush {
  Address gates;
  Address prepared;
  Address ups;
  uint32_t rows;
  uint32_t columns;
  uint32_t stride;
  uint32_t operation;
  float limit;
};

template <typename Push>
Status RecordPrepareInt8(Kernels& kernels, Commands& commands, ActivationFormat format,
                         const char* source, const Push& push) {
  CHECK(push.rows <= kRowGroups && CanPrepareFrom(format));
  CHECK(format == ActivationFormat::kInt8Per32 || push.columns % 256 == 0);
  const char* const name =
      format == ActivationFormat::kInt8Per32 ? "prepare_per_32" : "prepare_per_256";
  return kernels.Record(commands, fmt::format("{}{}", name, source), {}, push,
                        {.x = DivideRoundingUp(push.columns, 1024), .y = push.rows});
}

}  // namespace

bool CanPrepareFrom(ActivationFormat format) {
  return format == ActivationFormat::kInt8Per32 || format == ActivationFormat::kInt8Per256;
}

bool CanAddProduct(WeightType type, uint32_t rows) {
  return type > WeightType::kBF16 && rows <= kFewRows;
}

Status RecordPrepareNormed(Kernels& kernels, Commands& commands, ActivationFormat format,
                           const RmsNormJob& norm, Address prepared) {
  const NormPush push{norm.x,
                      prepared,
                      Readable(norm.weight, norm.x),
                      norm.y,
                      norm.rows,
                      norm.count,
                      norm.x_stride,
                      norm.y_stride,
                      norm.epsilon,
                      norm.weight != 0 ? 1u : 0u};
  return RecordPrepareInt8(kernels, commands, format, "_norm", push);
}

Status RecordPrepareGated(Kernels& kernels, Commands& commands, ActivationFormat format,
                          const GateJob& gate, Address prepared) {
  const GatePush push{gate.gates,
                      prepared,
                      gate.ups,
                      gate.rows,
                      gate.columns,
                      gate.columns,
                      static_cast<uint32_t>(gate.operation),
                      gate.limit};
  return RecordPrepareInt8(kernels, commands, format, "_gate", push);
}

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
    case ActivationFormat::kInt8Per256:
      return RecordPrepareInt8(kernels, commands, job.format, "", push);
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
                         .sum = job.sum,
                         .outputs = job.outputs,
                         .columns = job.columns,
                         .activation_rows = job.activation_rows,
                         .first_row = job.first_row,
                         .rows = job.rows,
                         .out_stride = job.out_stride,
                         .sharing = 1,
                         .kind = ProductRows::kOneMatrix,
                         .sum_stride = job.sum == 0 ? 0 : job.sum_stride};
  const WorkgroupRows together = RowsOfWorkgroup(kernels, job.type, job.outputs, job.rows);
  CHECK(job.sum == 0 || CanAddProduct(job.type, job.rows));
  return RecordProductPush(kernels, commands, job.type, push, together,
                           DivideRoundingUp(job.rows, together.rows));
}

}  // namespace aster::vulkan
