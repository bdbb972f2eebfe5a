// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/stream_mixer.h"

#include "kernels/stream_mix.h"

namespace aster::model {

Status StreamMixer::Plan(size_t row_count) {
  TRY(normed_.Shape(backend_, row_count, shape_.hidden_width()));
  return weights_.Shape(backend_, row_count, kernels::StreamMixSize(shape_.streams.count));
}

// numbers_ = what the streams are mixed with, of a norm of all of them together.
Status StreamMixer::FindWeights(const MixWeights& weights, bool is_merge,
                                const compute::Tensor& streams) {
  const compute::Tensor normed = normed_.tensor().Rows(0, streams.rows);
  numbers_ = weights_.tensor().Rows(0, streams.rows).Columns(0, weights.mix.rows());
  TRY(commands_.Normalise(
      {.rows = streams, .weight = {}, .epsilon = shape_.norm_epsilon, .out = normed}));
  operand_->Set(normed);
  const compute::Product product[] = {{&weights.mix, operand_.get(), numbers_}};
  TRY(commands_.Multiply(product));
  return commands_.MakeStreamWeights({.streams = shape_.streams.count,
                                      .iterations = shape_.streams.sinkhorn,
                                      .epsilon = shape_.streams.epsilon,
                                      .scale = weights.scale.tensor(),
                                      .base = weights.base.tensor(),
                                      .is_merge = is_merge,
                                      .numbers = numbers_});
}

Status StreamMixer::Before(const MixWeights& weights, const compute::Tensor& streams,
                           const compute::Tensor& in) {
  TRY(FindWeights(weights, /*is_merge=*/false, streams));
  return commands_.SumStreams(streams, numbers_, in);
}

Status StreamMixer::After(const compute::Tensor& out, const compute::Tensor& streams) {
  return commands_.SpreadStreams(out, numbers_, streams);
}

Status StreamMixer::Merge(const MixWeights& weights, const compute::Tensor& streams,
                          const compute::Tensor& out) {
  TRY(FindWeights(weights, /*is_merge=*/true, streams));
  return commands_.SumStreams(streams, numbers_, out);
}

}  // namespace aster::model
