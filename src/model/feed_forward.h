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
  FeedForward(const Shape& shape, compute::Backend& backend, compute::Commands& commands)
      : shape_(shape), backend_(backend), commands_(commands), hidden_(commands.NewOperand()) {}

  // Room for a batch of `row_count` rows.
  Status Plan(size_t row_count);

  // out = the layer's feed-forward of `rows`: [rows, embedding]. `tokens` [rows] are what the rows
  // stand for.
  Status Run(const LayerWeights& layer, compute::Operand& rows, std::span<const int32_t> tokens,
             const compute::Tensor& out);
  // The two halves of a dense network: the wide row, gated [rows, feed_forward], valid until the
  // next call; and out = what that becomes.
  Result<compute::Tensor> Expand(const compute::ExpertWeights& dense, compute::Operand& rows);
  Status Contract(const compute::ExpertWeights& dense, const compute::Tensor& wide,
                  const compute::Tensor& out);

 private:
  Status RunDense(const compute::ExpertWeights& dense, compute::Operand& rows,
                  const compute::Tensor& out);
  Status RunExperts(const LayerWeights& layer, compute::Operand& rows,
                    std::span<const int32_t> tokens, const compute::Tensor& out);

  const Shape shape_;
  compute::Backend& backend_;
  compute::Commands& commands_;
  const std::unique_ptr<compute::Operand> hidden_;  // of the dense network
  compute::Array gate_;                             // [rows, feed_forward]
  compute::Array up_;                               // [rows, feed_forward]
  compute::Array logits_;                           // [rows, experts]
  compute::Array ids_;                              // [rows, used], the chosen experts
  compute::Array shares_;                           // [rows, used], their weights
};

}  // namespace aster::model
