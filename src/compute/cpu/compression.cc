// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "compute/cpu/compression.h"

#include <algorithm>
#include <array>

#include "compute/cpu/memory.h"
#include "kernels/rope.h"

namespace aster::compute {

void CpuCompression::Run(const Compression& compression) {
  at_ = &compression;
  const auto dim = static_cast<size_t>(compression.format.dim);
  inputs_ = {.spans = compression.pages.spans,
             .layer = compression.pages.layer,
             .stream = compression.input_stream,
             .ratio = compression.ratio,
             .overlaps = compression.overlaps,
             .columns = compression.overlaps ? 2 * dim : dim,
             .values = compression.values,
             .scores = compression.scores,
             .places = compression.places};
  WriteInputs();
  ListRows();
  if (rows_.empty()) return;
  context_.pool.ParallelFor(rows_.size(), [&](size_t begin, size_t end, size_t) {
    for (size_t i = begin; i < end; ++i) MakeRow(rows_[i]);
  });
}

void CpuCompression::Run(const RowPooling& pooling) {
  const Tensor& out = pooling.out;
  inputs_ = {.spans = pooling.pages.spans,
             .layer = pooling.pages.layer,
             .stream = pooling.pages.stream,
             .ratio = pooling.ratio,
             .overlaps = false,
             .columns = out.columns,
             .values = pooling.values,
             .scores = pooling.scores,
             .places = {}};
  WriteInputs();
  ListRows();
  std::fill_n(Floats(out), out.rows * out.stride, 0.0f);
  if (rows_.empty()) return;
  context_.pool.ParallelFor(rows_.size(), [&](size_t begin, size_t end, size_t) {
    for (size_t i = begin; i < end; ++i) {
      const PageSpan& span = *rows_[i].span;
      const uint32_t last = rows_[i].index * pooling.ratio + pooling.ratio - 1;
      const size_t row = size_t{span.first_row} + last - span.position;
      PoolRow(rows_[i], out.columns, Floats(out) + row * out.stride);
    }
  });
}

void CpuCompression::ListRows() {
  rows_.clear();
  for (const PageSpan& span : inputs_.spans) {
    const uint32_t end = (span.position + span.count) / inputs_.ratio;
    for (uint32_t row = span.position / inputs_.ratio; row < end; ++row)
      rows_.push_back({&span, row});
  }
}

void CpuCompression::WriteInputs() const {
  const size_t columns = inputs_.columns;
  const kernels::OpsTable& ops = context_.ops();
  const float* const from = Floats(inputs_.values);
  const float* const scores = Floats(inputs_.scores);
  for (const PageSpan& span : inputs_.spans) {
    context_.pool.ParallelFor(span.count, [&](size_t begin, size_t end, size_t) {
      for (size_t i = begin; i < end; ++i) {
        const uint32_t position = span.position + static_cast<uint32_t>(i);
        uint8_t* const page = HostPage(span.table->WritablePage(
            inputs_.layer, position / kernels::kPagePositions, inputs_.stream));
        float* const values =
            reinterpret_cast<float*>(page) + position % kernels::kPagePositions * 2 * columns;
        const size_t row = span.first_row + i;
        std::copy_n(from + row * inputs_.values.stride, columns, values);
        const float* const score = scores + row * inputs_.scores.stride;
        if (inputs_.places.empty()) {
          std::copy_n(score, columns, values + columns);
          continue;
        }
        const float* const place = Floats(inputs_.places) + position % inputs_.ratio * columns;
        ops.add(score, place, columns, values + columns);
      }
    });
  }
}

// If rows overlap, each is made of twice as many tokens: of the first half of the columns of the
// tokens before its own, and of the second half of its own. The first row has only its own.
void CpuCompression::PoolRow(const Row& row, size_t dim, float* out) const {
  constexpr size_t kMostInputs = kernels::kPagePositions;
  const size_t columns = inputs_.columns;
  const uint32_t ratio = inputs_.ratio;
  const uint32_t first = row.index * ratio;
  std::array<const float*, kMostInputs> values;
  std::array<const float*, kMostInputs> scores;
  size_t count = 0;
  for (uint32_t p = inputs_.overlaps && first > 0 ? first - ratio : first; p < first + ratio; ++p) {
    const uint8_t* const page =
        HostPage(row.span->table->Page(inputs_.layer, p / kernels::kPagePositions, inputs_.stream));
    const float* const input =
        reinterpret_cast<const float*>(page) + p % kernels::kPagePositions * 2 * columns;
    const size_t half = inputs_.overlaps && p >= first ? dim : 0;
    values[count] = input + half;
    scores[count++] = input + columns + half;
  }
  kernels::Latent(context_.isa).pool(values.data(), scores.data(), count, dim, out);
}

void CpuCompression::MakeRow(const Row& row) const {
  const auto dim = static_cast<size_t>(at_->format.dim);
  const uint32_t ratio = at_->ratio;
  const uint32_t first = row.index * ratio;
  // The weighted mean, normed, with RoPE for the position of the row's first own token.
  const kernels::OpsTable& ops = context_.ops();
  std::array<float, kernels::kMaxLatentDim> made;
  PoolRow(row, dim, made.data());
  ops.rms_norm(made.data(), dim, 1, dim, Floats(at_->norm), at_->epsilon, made.data(), dim);
  const size_t pairs = at_->frequencies.size();
  std::array<float, kernels::kMaxLatentDim> cosines, sines;
  kernels::RopeAngles(at_->frequencies.data(), pairs, 1.0, first, cosines.data(), sines.data());
  ops.rope(made.data() + dim - 2 * pairs, dim, 1, pairs, cosines.data(), sines.data(),
           kernels::RopeLayout::kAdjacent, /*inverse=*/false);
  if (at_->is_spread) ops.hadamard(made.data(), dim, 1, dim);
  const uint32_t rows_per_page = kernels::kPagePositions / ratio;
  uint8_t* const page = HostPage(row.span->table->WritablePage(
      at_->pages.layer, row.index / rows_per_page, at_->pages.stream));
  kernels::EncodeLatentRow(at_->format, made.data(),
                           page + row.index % rows_per_page * kernels::LatentRowBytes(at_->format));
}

}  // namespace aster::compute
