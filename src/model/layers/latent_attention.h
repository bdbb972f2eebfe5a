// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The attention half of a layer whose rows are both keys and values, as in DeepSeek V4: queries and
// outputs through products of low rank, a window of rows, and compressed rows before it. Layers of
// DeepSeek V4.1 see compressed rows that one of them has made, and share the choice of one layer's
// index. docs/deepseek-v4.md follows a token through it. Must not know the residual.
// has chosen of these. docs/deepseek-v4.md follows a token through it. Must not know the residual.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "compute/backend.h"
#include "compute/commands.h"
#include "model/memory/memory.h"
#include "model/weights/weights.h"

namespace aster::model {

// Keeps its scratch memory from batch to batch. Not for concurrent use.
class LatentAttention {
 public:
  // `shape`: as this part of a group computes it.
  LatentAttention(const Shape& shape, const MemoryOptions& memory, compute::Backend& backend,
                  compute::Commands& commands);

  // Room for a batch of `row_count` rows.
  Status Plan(size_t row_count);
  // Sets the positions of the batch's rows; before the first layer.
  Status SetPositions(std::span<const int64_t> positions);
  // Sets the rows themselves [rows, hidden_width], which carry what layers share; for V4.1.
  void SetRows(const compute::Tensor& rows) { rows_of_batch_ = rows; }

  // out [rows, embedding] = the half's output for `rows`, of layer `layer`, whose compressed rows
  // stand for `ratio` tokens each (0: it has none).
  Status Run(uint32_t layer, uint32_t ratio, const LatentWeights& weights,
             std::span<const compute::PageSpan> spans, compute::Operand& rows,
             const compute::Tensor& out);
  // Only writes the KV rows of a layer without compressed rows; computes no attention.
  Status Keep(uint32_t layer, const LatentWeights& weights,
              std::span<const compute::PageSpan> spans, compute::Operand& rows);
  // The same in two halves, for a group that computes the layer. First the attention output of the
  // heads here, through their low ranks [rows, groups here * output_rank]; valid until the next
  // call. Then `out` from that of all groups of heads, which the caller sets; the part has some of
  // its columns.
  Result<compute::Tensor> Expand(uint32_t layer, uint32_t ratio, const LatentWeights& weights,
                                 std::span<const compute::PageSpan> spans, compute::Operand& rows);
  compute::Operand& low() { return *output_operand_; }
  Status Contract(const LatentWeights& weights, const compute::Tensor& out);

 private:
  // RoPE at the batch's positions, for layers without and with compressed rows.
  struct RopeAngles {
    explicit RopeAngles(std::vector<double> of_pairs) : frequencies(std::move(of_pairs)) {}

    std::vector<double> frequencies;  // [pairs]
    compute::Array cosines;           // [rows, pairs]
    compute::Array sines;             // the same

    compute::Angles angles() const { return {cosines.tensor(), sines.tensor()}; }
  };

  const RopeAngles& RopeOf(uint32_t ratio) const { return ropes_[ratio == 0 ? 0 : 1]; }
  // For rows that stand for several tokens: at the first token's position.
  const RopeAngles& RopeOfFirst(uint32_t ratio) const {
    return ropes_[ratio == kPairRatio ? 2 : 1];
  }
  bool is_shared() const { return shape_.shares_compressed_rows(); }
  // RoPE on heads of the layer, in place.
  compute::Heads RotatedHeads(const RopeAngles& rope, const compute::Array& rows,
                              size_t count) const;
  Status Project(uint32_t layer, uint32_t ratio, const LatentWeights& weights,
                 compute::Operand& rows);
  Status WriteRows(uint32_t layer, uint32_t ratio, const LatentWeights& weights,
                   std::span<const compute::PageSpan> spans);
  Status Compress(uint32_t layer, uint32_t ratio, const LatentWeights& weights,
                  std::span<const compute::PageSpan> spans);
  Status KeepSharedRows(uint32_t layer, uint32_t ratio, std::span<const compute::PageSpan> spans);
  Status MakeSharedRows(uint32_t layer, uint32_t ratio, const LatentWeights& weights,
                        std::span<const compute::PageSpan> spans);
  Status ProjectQueries(uint32_t layer, uint32_t ratio, const LatentWeights& weights);
  Status RankRows(uint32_t layer, uint32_t ratio, std::span<const compute::PageSpan> spans);
  compute::RowRanking::Blocks BlocksOf(uint32_t layer) const;
  Status Attend(uint32_t layer, uint32_t ratio, const LatentWeights& weights,
                std::span<const compute::PageSpan> spans);
  Status LowerOutput(uint32_t ratio, const LatentWeights& weights);

  const Shape shape_;
  const kernels::LatentFormat row_format_;
  const kernels::LatentFormat compressed_format_;
  const kernels::LatentFormat index_format_;
  compute::Backend& backend_;
  compute::Commands& commands_;
  std::array<RopeAngles, 3> ropes_;
  compute::Tensor rows_of_batch_;
  std::vector<int64_t> first_positions_;  // of the pairs that the batch's rows belong to

  compute::Array low_;            // [rows, query_rank]
  compute::Array queries_;        // [rows, head_count * head_dim]
  compute::Array rows_;           // [rows, head_dim]
  compute::Array values_;         // [rows, 2 * head_dim], before compression
  compute::Array scores_;         // the same
  compute::Array index_values_;   // [rows, 2 * index_dim]
  compute::Array index_scores_;   // the same
  compute::Array index_queries_;  // [rows, index_heads * index_dim]
  compute::Array index_weights_;  // [rows, index_heads]
  compute::Array chosen_;         // [rows, index_top] compressed rows
  compute::Array latents_;        // [rows, head_dim], the inputs of shared rows
  compute::Array index_keys_;     // [rows, index_dim]
  compute::Array attended_;       // [rows, head_count * head_dim]
  compute::Array output_low_;     // [rows, groups * output_rank]
  const std::unique_ptr<compute::Operand> low_operand_;
  const std::unique_ptr<compute::Operand> latent_operand_;
  std::vector<std::unique_ptr<compute::Operand>> group_operands_;
  const std::unique_ptr<compute::Operand> output_operand_;
  std::vector<compute::Product> products_;
};

}  // namespace aster::model
