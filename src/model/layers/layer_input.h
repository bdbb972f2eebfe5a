// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Embeddings that tokens have for each layer, which every layer adds after its two halves. Must not
// know attention.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/result.h"
#include "compute/backend.h"
#include "compute/commands.h"
#include "model/weights/weights.h"

namespace aster::model {

// Keeps its scratch memory from batch to batch. Not for concurrent use.
class LayerInput {
 public:
  LayerInput(const Weights& weights, compute::Backend& backend, compute::Commands& commands);

  // Room for a batch of `row_count` rows.
  Status Plan(size_t row_count);

  // Sets the rows' tokens, before the first layer; and again when rows are dropped.
  Status SetTokens(std::span<const int32_t> tokens);

  // rows [rows, embedding] += the layer's output from its embedding of the tokens; overwrites
  // `more` [the same].
  Status Run(uint32_t layer, const LayerInputWeights& weights, const compute::Tensor& rows,
             const compute::Tensor& more);

 private:
  const Weights& weights_;
  const Shape& shape_;
  compute::Backend& backend_;
  compute::Commands& commands_;
  const std::unique_ptr<compute::Operand> embedded_operand_;  // of embedded_
  const std::unique_ptr<compute::Operand> operand_;           // the operand of the last product
  compute::Array embedded_;  // [rows, embedding], the first layer's input
  compute::Array by_layer_;  // [rows, layer_count * input]
  compute::Array input_;     // [rows, input], of one layer
  compute::Array gate_;      // the same
};

}  // namespace aster::model
