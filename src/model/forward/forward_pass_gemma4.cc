// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Layers of Gemma 4: heads by the kind of the layer, experts beside the dense network, and the
// layer's own embedding.
#include "model/forward/forward_pass.h"

namespace aster::model {

Status ForwardPass::RecordGemma4Layer(uint32_t layer, const LayerWeights& weights) {
  TRY(Normalise(rows_.tensor(), weights.attention_norm));
  if (AreAllLeftOut(layer)) return KeepRows(layer, weights);
  TRY(RecordAttention(layer, weights));
  TRY(FinishHalf(weights.attended_norm));
  TRY(LeaveOut(layer));
  const compute::Tensor more = more_.tensor().Rows(0, residual_.rows);
  TRY(Normalise(residual_, weights.feed_forward_norm));
  TRY(feed_forward_.RunDense(weights.dense, *operand_, more));
  if (!weights.experts.empty()) {
    TRY(BeginExpertsBesideDense(weights));
    TRY(feed_forward_.RunExperts(weights, *operand_, *router_operand_, TokensLeft(),
                                 mixed_.tensor().Rows(0, residual_.rows)));
    TRY(CountExperts(layer, weights));
  }
  return EndGemma4Layer(layer, weights);
}

// After both networks.
Status ForwardPass::EndGemma4Layer(uint32_t layer, const LayerWeights& weights) {
  const compute::Tensor more = more_.tensor().Rows(0, residual_.rows);
  if (!weights.experts.empty()) TRY(AddExperts(weights));
  TRY(FinishHalf(weights.fed_norm));
  if (layer_input_) {
    // If rows were dropped, sets the embeddings of the remaining ones again.
    if (residual_.rows < row_count_) TRY(layer_input_->SetTokens(TokensLeft()));
    TRY(layer_input_->Run(layer, weights.input, residual_, more));
  }
  return commands_->Scale(residual_, weights.output_scale);
}

// The dense network's output is normed. The router gets the residual with a norm of its own.
Status ForwardPass::BeginExpertsBesideDense(const LayerWeights& weights) {
  const compute::Tensor more = more_.tensor().Rows(0, residual_.rows);
  const compute::Tensor routed = routed_.tensor().Rows(0, residual_.rows);
  const auto normalise = [&](const compute::Tensor& rows, const compute::Array& weight,
                             const compute::Tensor& out) {
    return commands_->Normalise(
        {.rows = rows, .weight = weight.tensor(), .epsilon = shape_.norm_epsilon, .out = out});
  };
  TRY(normalise(more, weights.dense_norm, more));
  TRY(normalise(residual_, weights.router_norm, routed));
  router_operand_->Set(routed);
  return Normalise(residual_, weights.expert_norm);
}

// more_ = the dense network's output and the experts', each normed.
Status ForwardPass::AddExperts(const LayerWeights& weights) {
  const compute::Tensor mixed = mixed_.tensor().Rows(0, residual_.rows);
  TRY(commands_->Normalise({.rows = mixed,
                            .weight = weights.mixed_norm.tensor(),
                            .epsilon = shape_.norm_epsilon,
                            .out = mixed}));
  return commands_->Add(more_.tensor().Rows(0, residual_.rows), mixed, 1);
}

}  // namespace aster::model
