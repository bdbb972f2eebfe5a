// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/layers/layer_input.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace aster::model {

LayerInput::LayerInput(const Weights& weights, compute::Backend& backend,
                       compute::Commands& commands)
    : weights_(weights),
      shape_(weights.shape),
      backend_(backend),
      commands_(commands),
      embedded_operand_(commands.NewOperand()),
      operand_(commands.NewOperand()) {}

Status LayerInput::Plan(size_t row_count) {
  const size_t input = shape_.kinds.input;
  TRY(embedded_.Shape(backend_, row_count, shape_.embedding));
  TRY(by_layer_.Shape(backend_, row_count, input * shape_.layer_count));
  TRY(input_.Shape(backend_, row_count, input));
  return gate_.Shape(backend_, row_count, input);
}

Status LayerInput::SetTokens(std::span<const int32_t> tokens) {
  const compute::Tensor embedded = embedded_.tensor().Rows(0, tokens.size());
  const compute::Tensor by_layer = by_layer_.tensor().Rows(0, tokens.size());
  TRY(commands_.Embed(*weights_.embedding, tokens, 1, embedded));
  TRY(commands_.Scale(embedded, EmbeddingScaleOf(shape_)));
  embedded_operand_->Set(embedded);
  TRY(commands_.Embed(*weights_.layer_embedding, tokens, 1, by_layer));
  return commands_.Scale(by_layer, TrainedRootOf(shape_.kinds.input));
}

Status LayerInput::Run(uint32_t layer, const LayerInputWeights& weights,
                       const compute::Tensor& rows, const compute::Tensor& more) {
  const compute::Tensor input = input_.tensor().Rows(0, rows.rows);
  const compute::Tensor gate = gate_.tensor().Rows(0, rows.rows);
  const size_t columns = shape_.kinds.input;
  // One input is made from the token's embedding. The model scales it by 1 / sqrt(width) before the
  // norm; here the norm's epsilon is larger instead.
  operand_->Set(rows);
  const compute::Product products[] = {{&weights.projection, embedded_operand_.get(), input},
                                       {&weights.gate, operand_.get(), gate}};
  TRY(commands_.Multiply(products));
  TRY(commands_.Normalise({.rows = input,
                           .weight = weights.projection_norm.tensor(),
                           .epsilon = shape_.norm_epsilon * static_cast<float>(shape_.embedding),
                           .out = input}));
  const compute::Tensor own = by_layer_.tensor().Rows(0, rows.rows);
  TRY(commands_.Add(input, own.Columns(layer * columns, columns), 1));
  TRY(commands_.Scale(input, static_cast<float>(1.0 / std::numbers::sqrt2)));
  // The rows gate the input.
  TRY(commands_.Gate(gate, input, compute::GateKind::kGeglu,
                     std::numeric_limits<float>::infinity()));
  operand_->Set(gate);
  const compute::Product back[] = {{&weights.back, operand_.get(), more}};
  TRY(commands_.Multiply(back));
  TRY(commands_.Normalise({.rows = more,
                           .weight = weights.norm.tensor(),
                           .epsilon = shape_.norm_epsilon,
                           .out = more}));
  return commands_.Add(rows, more, 1);
}

}  // namespace aster::model
