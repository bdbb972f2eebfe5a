// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/compressor.h"

#include <algorithm>
#include <array>

#include "kernels/rope.h"

namespace aster::model {
namespace {

// Columns of values, and as many of scores.
size_t ColumnsOf(const Compression& compression) {
  const auto dim = static_cast<size_t>(compression.format.dim);
  return compression.ratio == kShortRatio ? 2 * dim : dim;
}

}  // namespace

void Compressor::Run(const Compression& compression, std::span<const AttendSpan> spans) {
  WriteInputs(compression, spans);
  rows_.clear();
  for (const AttendSpan& span : spans) {
    const uint32_t end = (span.position + span.count) / compression.ratio;
    for (uint32_t row = span.position / compression.ratio; row < end; ++row)
      rows_.push_back({&span, row});
  }
  if (rows_.empty()) return;
  context_.pool.ParallelFor(rows_.size(), [&](size_t begin, size_t end, size_t) {
    for (size_t i = begin; i < end; ++i) MakeRow(compression, rows_[i]);
  });
}

void Compressor::WriteInputs(const Compression& compression, std::span<const AttendSpan> spans) {
  const size_t columns = ColumnsOf(compression);
  const kernels::OpsTable& ops = context_.ops();
  for (const AttendSpan& span : spans) {
    context_.pool.ParallelFor(span.count, [&](size_t begin, size_t end, size_t) {
      for (size_t i = begin; i < end; ++i) {
        const uint32_t position = span.position + static_cast<uint32_t>(i);
        uint8_t* const page = span.table->WritablePage(
            compression.layer, position / kernels::kPagePositions, compression.input_stream);
        float* const values =
            reinterpret_cast<float*>(page) + position % kernels::kPagePositions * 2 * columns;
        const size_t row = span.first_row + i;
        std::copy_n(compression.values + row * columns, columns, values);
        const float* const place =
            compression.weights->places.data() + position % compression.ratio * columns;
        ops.add(compression.scores + row * columns, place, columns, values + columns);
      }
    });
  }
}

// With a ratio of 4 a row is made of eight tokens: of the four before its own the first half of the
// columns, of its own the second. The first row of all has only its own.
void Compressor::MakeRow(const Compression& compression, const Row& row) const {
  const size_t columns = ColumnsOf(compression);
  const auto dim = static_cast<size_t>(compression.format.dim);
  const uint32_t ratio = compression.ratio;
  const uint32_t first = row.index * ratio;
  const bool overlaps = ratio == kShortRatio;
  std::array<const float*, kLongRatio> values;
  std::array<const float*, kLongRatio> scores;
  size_t count = 0;
  for (uint32_t p = overlaps && first > 0 ? first - ratio : first; p < first + ratio; ++p) {
    const uint8_t* const page = row.span->table->Page(
        compression.layer, p / kernels::kPagePositions, compression.input_stream);
    const float* const input =
        reinterpret_cast<const float*>(page) + p % kernels::kPagePositions * 2 * columns;
    const size_t half = overlaps && p >= first ? dim : 0;
    values[count] = input + half;
    scores[count++] = input + columns + half;
  }
  const kernels::OpsTable& ops = context_.ops();
  std::array<float, kernels::kMaxLatentDim> made;
  kernels::Latent(context_.isa).pool(values.data(), scores.data(), count, dim, made.data());
  ops.rms_norm(made.data(), dim, 1, dim, compression.weights->norm.data(), shape_.norm_epsilon,
               made.data(), dim);
  const size_t pairs = frequencies_.size();
  std::array<float, kernels::kMaxLatentDim> cosines, sines;
  kernels::RopeAngles(frequencies_.data(), pairs, 1.0, first, cosines.data(), sines.data());
  ops.rope(made.data() + dim - 2 * pairs, dim, 1, pairs, cosines.data(), sines.data(),
           kernels::RopeLayout::kAdjacent, /*inverse=*/false);
  if (compression.is_index) ops.hadamard(made.data(), dim, 1, dim);
  const uint32_t rows_per_page = kernels::kPagePositions / ratio;
  uint8_t* const page = row.span->table->WritablePage(compression.layer, row.index / rows_per_page,
                                                      compression.row_stream);
  kernels::EncodeLatentRow(
      compression.format, made.data(),
      page + row.index % rows_per_page * kernels::LatentRowBytes(compression.format));
}

}  // namespace aster::model
