// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The feed-forward half of a layer: one dense network, or a mixture of experts (MoE), of which a
// router picks some for each row. Must not know attention.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "compute/backend.h"
#include "compute/commands.h"
#include "model/weights.h"

namespace aster::model {

// Keeps its scratch memory from batch to batch. Not for concurrent use.
class FeedForward {
 public:
  // `shape`: of what is computed here, where that is a group's part.
  FeedForward(const Shape& shape, compute::Backend& backend, compute::Commands& commands)
      : shape_(shape), backend_(backend), commands_(commands), hidden_(commands.NewOperand()) {}

  // Room for a batch of `row_count` rows, and for its halves where those are asked for.
  Status Plan(size_t row_count, bool in_halves);

  // out = the layer's feed-forward of `rows`: [rows, embedding]. `tokens` [rows] are what the rows
  // stand for.
  Status Run(const LayerWeights& layer, compute::Operand& rows, std::span<const int32_t> tokens,
             const compute::Tensor& out);

  // The same in two halves, where a group computes the layer. A row's wide rows: one, or one for
  // each expert that it chooses and the shared one.
  size_t wide_rows() const;
  // The part's columns of the wide rows, gated; valid until the next call.
  Result<compute::Tensor> Expand(const LayerWeights& layer, compute::Operand& rows,
                                 std::span<const int32_t> tokens);
  // out = what all columns of those become, of which the part has some.
  Status Contract(const LayerWeights& layer, const compute::Tensor& wide,
                  const compute::Tensor& out);

 private:
  Result<compute::Tensor> ExpandDense(const compute::ExpertWeights& dense, compute::Operand& rows);
  Status ContractDense(const compute::ExpertWeights& dense, const compute::Tensor& wide,
                       const compute::Tensor& out);
  Status ChooseExperts(const LayerWeights& layer, compute::Operand& rows,
                       std::span<const int32_t> tokens);
  compute::ExpertSum SumOf(const LayerWeights& layer, compute::Operand* rows,
                           const compute::Tensor& out) const;

  const Shape shape_;
  compute::Backend& backend_;
  compute::Commands& commands_;
  const std::unique_ptr<compute::Operand> hidden_;  // of wide rows
  compute::Array gate_;                             // [rows, feed_forward]
  compute::Array up_;                               // [rows, feed_forward]
  compute::Array logits_;                           // [rows, experts]
  compute::Array ids_;                              // [rows, used], the chosen experts
  compute::Array shares_;                           // [rows, used], their weights
  compute::Array shared_scores_;                    // [rows, 1], of the shared expert; or none
  compute::Array wide_;                             // [rows * wide_rows(), feed_forward]
};

}  // namespace aster::model
