// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/stream_mixer.h"

#include <algorithm>

#include "kernels/stream_mix.h"

namespace aster::model {
namespace {

// Columns mixed at a time: threads share out single rows too, and a piece of every stream stays in
// the first-level cache.
constexpr size_t kPiece = 512;

// Calls work(row, first column, columns) for pieces of rows, on all threads.
template <typename Work>
void ForPieces(compute::Context& context, size_t row_count, size_t width, const Work& work) {
  const size_t pieces = (width + kPiece - 1) / kPiece;
  context.pool.ParallelFor(row_count * pieces, [&](size_t begin, size_t end, size_t) {
    for (size_t i = begin; i < end; ++i) {
      const size_t first = i % pieces * kPiece;
      work(i / pieces, first, std::min(kPiece, width - first));
    }
  });
}

kernels::StreamMix SpecOf(const Shape& shape, const std::vector<float>& scale,
                          const std::vector<float>& base) {
  return {.streams = shape.streams.count,
          .iterations = shape.streams.sinkhorn,
          .epsilon = shape.streams.epsilon,
          .scale = scale.data(),
          .base = base.data()};
}

}  // namespace

Status StreamMixer::Multiply(const compute::Matrix& mix, const float* streams, size_t row_count) {
  const size_t width = shape_.hidden_width();
  weight_stride_ = mix.rows();
  TRY(normed_.Grow(row_count * width * sizeof(float)));
  TRY(weights_.Grow(row_count * weight_stride_ * sizeof(float)));
  context_.pool.ParallelFor(row_count, [&](size_t begin, size_t end, size_t) {
    context_.ops().rms_norm(streams + begin * width, width, end - begin, width, nullptr,
                            shape_.norm_epsilon, normed_.As<float>() + begin * width, width);
  });
  prepared_.Set(normed_.As<float>(), width, row_count, width);
  const compute::Product product[] = {{&mix, &prepared_, weights_.As<float>(), weight_stride_}};
  return compute::MultiplyAll(product, context_);
}

void StreamMixer::SumUp(const float* streams, size_t row_count, float* out) {
  const size_t width = shape_.embedding;
  const size_t count = shape_.streams.count;
  const kernels::OpsTable& ops = context_.ops();
  ForPieces(context_, row_count, width, [&](size_t row, size_t first, size_t columns) {
    const float* const weights = weights_.As<float>() + row * weight_stride_;
    const float* const stream = streams + row * count * width + first;
    float* const sum = out + row * width + first;
    ops.scale(stream, columns, weights[0], sum);
    for (size_t i = 1; i < count; ++i) ops.add_scaled(stream + i * width, columns, weights[i], sum);
  });
}

Status StreamMixer::Before(const MixWeights& weights, const float* streams, size_t row_count,
                           float* in) {
  TRY(Multiply(weights.mix, streams, row_count));
  const kernels::StreamMix spec = SpecOf(shape_, weights.scale, weights.base);
  context_.pool.ParallelFor(row_count, [&](size_t begin, size_t end, size_t) {
    for (size_t row = begin; row < end; ++row)
      kernels::MixStreams(context_.ops(), spec, weights_.As<float>() + row * weight_stride_);
  });
  SumUp(streams, row_count, in);
  return Ok();
}

void StreamMixer::After(const float* out, size_t row_count, float* streams) {
  const size_t width = shape_.embedding;
  const size_t count = shape_.streams.count;
  const kernels::OpsTable& ops = context_.ops();
  ForPieces(context_, row_count, width, [&](size_t row, size_t first, size_t columns) {
    const float* const back = weights_.As<float>() + row * weight_stride_ + count;
    const float* const square = back + count;
    float* const stream = streams + row * count * width + first;
    float before[kernels::kMaxStreams][kPiece];
    for (size_t a = 0; a < count; ++a) std::copy_n(stream + a * width, columns, before[a]);
    for (size_t b = 0; b < count; ++b) {
      float* const to = stream + b * width;
      ops.scale(out + row * width + first, columns, back[b], to);
      for (size_t a = 0; a < count; ++a)
        ops.add_scaled(before[a], columns, square[a * count + b], to);
    }
  });
}

Status StreamMixer::Merge(const MergeWeights& weights, const float* streams, size_t row_count,
                          float* out) {
  TRY(Multiply(weights.mix, streams, row_count));
  const kernels::StreamMix spec = SpecOf(shape_, weights.scale, weights.base);
  context_.pool.ParallelFor(row_count, [&](size_t begin, size_t end, size_t) {
    for (size_t row = begin; row < end; ++row)
      kernels::MergeStreams(context_.ops(), spec, weights_.As<float>() + row * weight_stride_);
  });
  SumUp(streams, row_count, out);
  return Ok();
}

}  // namespace aster::model
