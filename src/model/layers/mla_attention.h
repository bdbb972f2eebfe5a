// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Multi-head latent attention (MLA): the attention half of a layer whose heads share one row of low
// rank, as in DeepSeek V2, V3 and Kimi K2. A matrix would make a head's key of that row. It is
// applied to the head's query instead, and that of values to the head's output, so that the KV
// cache holds only the row. Must not know the residual.
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
  // `shape`: as this part of a group computes it.
  MlaAttention(const Shape& shape, compute::Backend& backend, compute::Commands& commands);

  // Room for a batch of `row_count` rows.
  Status Plan(size_t row_count);

  // out [rows, embedding] = the half's output for `rows`, which are at the positions of `angles`.
  Status Run(uint32_t layer, const MlaWeights& weights, const compute::Angles& angles,
             std::span<const compute::PageSpan> spans, compute::Operand& rows,
             const compute::Tensor& out);

  // The same in two halves, for a group that computes the layer. First the output of the heads
  // here: [rows, head_count * value_dim], valid until the next call.
  Result<compute::Tensor> Expand(uint32_t layer, const MlaWeights& weights,
                                 const compute::Angles& angles,
                                 std::span<const compute::PageSpan> spans, compute::Operand& rows);
  // Then `out` from that of all heads, which the caller sets; the part has some of its columns.
  compute::Operand& values() { return *output_operand_; }
  Status Contract(const MlaWeights& weights, const compute::Tensor& out);

 private:
  Status Project(uint32_t layer, const MlaWeights& weights, compute::Operand& rows);
  void AddQueries(const MlaWeights& weights, compute::Operand& rows);
  Status Absorb(const MlaWeights& weights);
  Status Attend(uint32_t layer, const MlaWeights& weights, const compute::Angles& angles,
                std::span<const compute::PageSpan> spans);
  Status MakeValues(const MlaWeights& weights);

  // Some columns of one head, in rows of all heads.
  compute::Tensor OfHead(const compute::Array& rows, size_t head, size_t first, size_t count) const;

  const Shape shape_;
  const kernels::LatentFormat format_;
  compute::Backend& backend_;
  compute::Commands& commands_;

  compute::Array low_;       // [rows, query_rank]
  compute::Array nope_;      // [rows, head_count * key_dim], the part of queries without RoPE
  compute::Array row_;       // [rows, head_dim]
  compute::Array queries_;   // [rows, head_count * head_dim], for the shared row
  compute::Array attended_;  // the same
  compute::Array values_;    // [rows, head_count * value_dim]
  const std::unique_ptr<compute::Operand> low_operand_;
  const std::unique_ptr<compute::Operand> output_operand_;
  std::vector<std::unique_ptr<compute::Operand>> head_operands_;
  std::vector<compute::Product> products_;
  std::optional<RowChoice> choice_;  // if an index chooses the rows that are seen
};

}  // namespace aster::model
