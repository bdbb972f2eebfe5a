// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "compute/cpu/streams.h"

#include <algorithm>

#include "compute/cpu/memory.h"
#include "kernels/stream_mix.h"

namespace aster::compute {
namespace {

// Columns mixed at a time: few enough that threads can divide a single row, and that a piece of
// every stream stays in the first-level cache.
constexpr size_t kPiece = 512;

// Calls work(row, first column, columns) for pieces of rows, on all threads.
template <typename Work>
void ForPieces(Context& context, size_t row_count, size_t width, const Work& work) {
  const size_t pieces = (width + kPiece - 1) / kPiece;
  context.pool.ParallelFor(row_count * pieces, [&](size_t begin, size_t end, size_t) {
    for (size_t i = begin; i < end; ++i) {
      const size_t first = i % pieces * kPiece;
      work(i / pieces, first, std::min(kPiece, width - first));
    }
  });
}

}  // namespace

void CpuStreamWeights(Context& context, const StreamWeights& weights) {
  const kernels::StreamMix mix{.streams = weights.streams,
                               .iterations = weights.iterations,
                               .epsilon = weights.epsilon,
                               .scale = Floats(weights.scale),
                               .base = Floats(weights.base)};
  const auto make = weights.is_merge ? kernels::MergeStreams : kernels::MixStreams;
  context.pool.ParallelFor(weights.numbers.rows, [&](size_t begin, size_t end, size_t) {
    for (size_t row = begin; row < end; ++row)
      make(context.ops(), mix, Floats(weights.numbers) + row * weights.numbers.stride);
  });
}

void CpuSumStreams(Context& context, const Tensor& streams, const Tensor& numbers,
                   const Tensor& out) {
  const size_t width = out.columns;
  const size_t count = streams.columns / width;
  const kernels::OpsTable& ops = context.ops();
  ForPieces(context, out.rows, width, [&](size_t row, size_t first, size_t columns) {
    const float* const weights = Floats(numbers) + row * numbers.stride;
    const float* const stream = Floats(streams) + row * streams.stride + first;
    float* const sum = Floats(out) + row * out.stride + first;
    ops.scale(stream, columns, weights[0], sum);
    for (size_t i = 1; i < count; ++i) ops.add_scaled(stream + i * width, columns, weights[i], sum);
  });
}

void CpuSpreadStreams(Context& context, const Tensor& from, const Tensor& numbers,
                      const Tensor& streams) {
  const size_t width = from.columns;
  const size_t count = streams.columns / width;
  const kernels::OpsTable& ops = context.ops();
  ForPieces(context, from.rows, width, [&](size_t row, size_t first, size_t columns) {
    const float* const back = Floats(numbers) + row * numbers.stride + count;
    const float* const square = back + count;
    const float* const out = Floats(from) + row * from.stride + first;
    float* const stream = Floats(streams) + row * streams.stride + first;
    float before[kernels::kMaxStreams][kPiece];
    for (size_t a = 0; a < count; ++a) std::copy_n(stream + a * width, columns, before[a]);
    for (size_t b = 0; b < count; ++b) {
      float* const to = stream + b * width;
      ops.scale(out, columns, back[b], to);
      for (size_t a = 0; a < count; ++a)
        ops.add_scaled(before[a], columns, square[a * count + b], to);
    }
  });
}

}  // namespace aster::compute
