// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The attention half of a layer whose heads share one row of low rank, as DeepSeek V2, V3 and Kimi
// K2 have it (MLA). A head's key would be made of that row by a matrix; the matrix is applied to
// its query instead, and that of values to what the head has attended to, so that the KV cache
// holds the row alone. Must not know the residual.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "compute/backend.h"
#include "compute/commands.h"
#include "kernels/latent.h"
#include "model/layers/row_choice.h"
#include "model/weights/weights.h"

namespace aster::model {

// Keeps its scratch memory from batch to batch. Not for concurrent use.
class MlaAttention {
 public:
  // `shape`: of the heads that are computed here, where a group computes the layer.
  MlaAttention(const Shape& shape, compute::Backend& backend, compute::Commands& commands);

  // Room for a batch of `row_count` rows.
  Status Plan(size_t row_count);

  // out [rows, embedding] = the half's output for `rows`, which stand where `angles` say.
  Status Run(uint32_t layer, const MlaWeights& weights, const compute::Angles& angles,
             std::span<const compute::PageSpan> spans, compute::Operand& rows,
             const compute::Tensor& out);

  // The same in two halves, where a group computes the layer. First the values that the heads here
  // have attended to: [rows, head_count * value_dim], valid until the next call.
  Result<compute::Tensor> Expand(uint32_t layer, const MlaWeights& weights,
                                 const compute::Angles& angles,
                                 std::span<const compute::PageSpan> spans, compute::Operand& rows);
  // out = what those of all heads, which the caller sets, become: of which the part has some
  // columns.
  compute::Operand& values() { return *output_operand_; }
  Status Contract(const MlaWeights& weights, const compute::Tensor& out);

 private:
  Status Project(uint32_t layer, const MlaWeights& weights, compute::Operand& rows);
  void AddQueries(const MlaWeights& weights, compute::Operand& rows);
  Status Absorb(const MlaWeights& weights);
  Status Attend(uint32_t layer, const MlaWeights& weights, const compute::Angles& angles,
                std::span<const compute::PageSpan> spans);
  Status MakeValues(const MlaWeights& weights);

  // Some columns of a head in rows of all heads.
  compute::Tensor OfHead(const compute::Array& rows, size_t head, size_t first, size_t count) const;

  const Shape shape_;
  const kernels::LatentFormat format_;
  compute::Backend& backend_;
  compute::Commands& commands_;

  compute::Array low_;       // [rows, query_rank]
  compute::Array still_;     // [rows, head_count * key_dim], queries but for what turns
  compute::Array row_;       // [rows, head_dim]
  compute::Array queries_;   // [rows, head_count * head_dim], as the row's parts want them
  compute::Array attended_;  // the same
  compute::Array values_;    // [rows, head_count * value_dim]
  const std::unique_ptr<compute::Operand> low_operand_;
  const std::unique_ptr<compute::Operand> output_operand_;
  std::vector<std::unique_ptr<compute::Operand>> head_operands_;
  std::vector<compute::Product> products_;
  std::optional<RowChoice> choice_;  // where an index chooses the rows that are seen
};

}  // namespace aster::model
