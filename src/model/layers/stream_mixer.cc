// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/layers/stream_mixer.h"

#include "kernels/stream_mix.h"
#include "model/shape/carried.h"

namespace aster::model {

Status StreamMixer::Plan(size_t row_count) {
  TRY(normed_.Shape(backend_, row_count, shape_.residual_width()));
  return weights_.Shape(backend_, row_count, kernels::StreamMixSize(shape_.streams.count));
}

// numbers_ = the weights of the mix, computed from a norm of all streams together.
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

Status StreamMixer::BeginAhead(const compute::Tensor& streams) {
  const size_t width = shape_.carried_width();
  first_.assign(streams.rows * width, 0.0f);
  for (size_t row = 0; row < streams.rows; ++row) first_[row * width] = 1.0f;
  return commands_.Upload(first_, CarriedOf(shape_, streams));
}

Status StreamMixer::Before(const MixWeights& weights, const compute::Tensor& streams,
                           const compute::Tensor& in) {
  TRY(FindWeights(weights, /*is_merge=*/false, ResidualOf(shape_, streams)));
  if (!shape_.mixes_ahead()) return commands_.SumStreams(ResidualOf(shape_, streams), numbers_, in);
  // Mixes with the weights from the half before, and keeps the new ones for the next half.
  TRY(commands_.SumStreams(ResidualOf(shape_, streams), AheadOf(shape_, streams), in));
  const compute::RowRange all[] = {{0, streams.rows}};
  return commands_.Gather(numbers_.Columns(0, shape_.streams.count), all, AheadOf(shape_, streams));
}

Status StreamMixer::After(const compute::Tensor& out, const compute::Tensor& streams) {
  return commands_.SpreadStreams(out, numbers_, ResidualOf(shape_, streams));
}

Status StreamMixer::Merge(const MixWeights& weights, const compute::Tensor& streams,
                          const compute::Tensor& out) {
  if (shape_.mixes_ahead())
    return commands_.SumStreams(ResidualOf(shape_, streams), AheadOf(shape_, streams), out);
  TRY(FindWeights(weights, /*is_merge=*/true, streams));
  return commands_.SumStreams(streams, numbers_, out);
}

}  // namespace aster::model
