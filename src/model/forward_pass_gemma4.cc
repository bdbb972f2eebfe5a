// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Layers of Gemma 4: heads by the kind of the layer, experts beside the dense network, and what a
// layer adds of its own embedding.
#include "model/forward_pass.h"

namespace aster::model {

Status ForwardPass::RecordGemma4Layer(uint32_t layer, const LayerWeights& weights) {
  TRY(Normalise(rows_.tensor(), weights.attention_norm));
  TRY(RecordAttention(layer, weights));
  TRY(FinishHalf(weights.attended_norm));
  TRY(Normalise(rows_.tensor(), weights.feed_forward_norm));
  TRY(feed_forward_.RunDense(weights.dense, *operand_, more_.tensor()));
  if (!weights.experts.empty()) TRY(AddExperts(layer, weights));
  TRY(FinishHalf(weights.fed_norm));
  if (layer_input_) TRY(layer_input_->Run(layer, weights.input, rows_.tensor(), more_.tensor()));
  return commands_->Scale(rows_.tensor(), weights.output_scale);
}

// more_ = the dense network's output and the experts', each normed. The router sees the residual in
// a norm of its own.
Status ForwardPass::AddExperts(uint32_t layer, const LayerWeights& weights) {
  const auto normalise = [&](const compute::Array& rows, const compute::Array& weight,
                             const compute::Array& out) {
    return commands_->Normalise({.rows = rows.tensor(),
                                 .weight = weight.tensor(),
                                 .epsilon = shape_.norm_epsilon,
                                 .out = out.tensor()});
  };
  TRY(normalise(more_, weights.dense_norm, more_));
  TRY(normalise(rows_, weights.router_norm, routed_));
  router_operand_->Set(routed_.tensor());
  TRY(Normalise(rows_.tensor(), weights.expert_norm));
  TRY(feed_forward_.RunExperts(weights, *operand_, *router_operand_, tokens_, mixed_.tensor()));
  TRY(CountExperts(layer, weights));
  TRY(normalise(mixed_, weights.mixed_norm, mixed_));
  return commands_->Add(more_.tensor(), mixed_.tensor(), 1);
}

}  // namespace aster::model
