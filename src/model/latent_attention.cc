// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/latent_attention.h"

#include <algorithm>
#include <cmath>

#include "kernels/rope.h"
#include "model/rope_spec.h"

namespace aster::model {
namespace {

std::vector<double> FrequenciesOf(const Rope& rope) {
  const kernels::RopeSpec spec = RopeSpecOf(rope);
  std::vector<double> frequencies(spec.pairs);
  if (spec.pairs > 0) kernels::RopeFrequencies(spec, nullptr, frequencies.data());
  return frequencies;
}

}  // namespace

LatentAttention::LatentAttention(const Shape& shape, const MemoryOptions& memory,
                                 compute::Context& context)
    : shape_(shape),
      row_format_(RowFormat(shape, memory)),
      index_format_(IndexFormat(shape, memory)),
      context_(context),
      angles_{Angles(FrequenciesOf(shape.rope)), Angles(FrequenciesOf(shape.latent.rope))},
      compressor_(shape, angles_[1].frequencies, context),
      index_(shape, memory, context),
      attend_(shape, memory, context),
      prepared_groups_(shape.latent.output_groups) {}

Status LatentAttention::SetPositions(std::span<const int64_t> positions) {
  for (Angles& angles : angles_) {
    const size_t pairs = angles.frequencies.size();
    TRY(angles.cosines.Grow(positions.size() * pairs * sizeof(float)));
    TRY(angles.sines.Grow(positions.size() * pairs * sizeof(float)));
    context_.pool.ParallelFor(positions.size(), [&](size_t begin, size_t end, size_t) {
      for (size_t row = begin; row < end; ++row) {
        kernels::RopeAngles(angles.frequencies.data(), pairs, 1.0, positions[row],
                            angles.cosines.As<float>() + row * pairs,
                            angles.sines.As<float>() + row * pairs);
      }
    });
  }
  return Ok();
}

Status LatentAttention::Run(uint32_t layer, uint32_t ratio, const LatentWeights& weights,
                            std::span<const AttendSpan> spans, compute::PreparedRows& rows,
                            float* out) {
  TRY(Grow(rows.rows()));
  TRY(Project(ratio, weights, rows));
  WriteRows(layer, ratio, weights, spans);
  if (ratio != 0) Compress(layer, ratio, weights, spans);
  TRY(ProjectQueries(ratio, weights));
  FinishQueries(ratio);
  const bool has_index = ratio == kShortRatio;
  if (has_index) {
    FinishIndexQueries();
    TRY(index_.Run(layer, spans, {index_queries_.As<float>(), index_weights_.As<float>()}));
  }
  TRY(attend_.Run({.layer = layer,
                   .ratio = ratio,
                   .index = has_index ? &index_ : nullptr,
                   .queries = queries_.As<float>(),
                   .sinks = weights.sinks.data(),
                   .out = attended_.As<float>()},
                  spans));
  return ProjectOutput(ratio, weights, out);
}

Status LatentAttention::Grow(size_t row_count) {
  row_count_ = row_count;
  const Latent& latent = shape_.latent;
  const size_t heads = size_t{shape_.head_count} * shape_.head_dim;
  const auto grow = [&](compute::Buffer& buffer, size_t columns) {
    return buffer.Grow(row_count * columns * sizeof(float));
  };
  TRY(grow(low_, latent.query_rank));
  TRY(grow(queries_, heads));
  TRY(grow(rows_, shape_.head_dim));
  TRY(grow(values_, 2 * size_t{shape_.head_dim}));
  TRY(grow(scores_, 2 * size_t{shape_.head_dim}));
  TRY(grow(index_values_, 2 * size_t{latent.index_dim}));
  TRY(grow(index_scores_, 2 * size_t{latent.index_dim}));
  TRY(grow(index_queries_, size_t{latent.index_heads} * latent.index_dim));
  TRY(grow(index_weights_, latent.index_heads));
  TRY(grow(attended_, heads));
  return grow(output_low_, size_t{latent.output_groups} * latent.output_rank);
}

// Everything that is made of the half's input alone, together.
Status LatentAttention::Project(uint32_t ratio, const LatentWeights& weights,
                                compute::PreparedRows& rows) {
  std::vector<compute::Product> products;
  const auto add = [&](const compute::Matrix& matrix, compute::Buffer& out) {
    products.push_back({&matrix, &rows, out.As<float>(), matrix.rows()});
  };
  add(weights.query_low, low_);
  add(weights.row, rows_);
  if (ratio != 0) {
    add(weights.compressor.values, values_);
    add(weights.compressor.scores, scores_);
  }
  if (ratio == kShortRatio) {
    add(weights.index_compressor.values, index_values_);
    add(weights.index_compressor.scores, index_scores_);
    add(weights.index_heads, index_weights_);
  }
  return compute::MultiplyAll(products, context_);
}

// From the query's low rank to all heads, and to those of the index.
Status LatentAttention::ProjectQueries(uint32_t ratio, const LatentWeights& weights) {
  const size_t rank = shape_.latent.query_rank;
  context_.pool.ParallelFor(row_count_, [&](size_t begin, size_t end, size_t) {
    float* const low = low_.As<float>() + begin * rank;
    context_.ops().rms_norm(low, rank, end - begin, rank, weights.query_norm.data(),
                            shape_.norm_epsilon, low, rank);
  });
  prepared_low_.Set(low_.As<float>(), rank, row_count_, rank);
  std::vector<compute::Product> products = {
      {&weights.query_high, &prepared_low_, queries_.As<float>(), weights.query_high.rows()}};
  if (ratio == kShortRatio) {
    products.push_back({&weights.index_query, &prepared_low_, index_queries_.As<float>(),
                        weights.index_query.rows()});
  }
  return compute::MultiplyAll(products, context_);
}

// The last numbers of `count` heads, to the position of row `row`, or back from it.
void LatentAttention::Turn(uint32_t ratio, size_t row, float* heads, size_t count, size_t dim,
                           bool back) {
  Angles& angles = AnglesOf(ratio);
  const size_t pairs = angles.frequencies.size();
  context_.ops().rope(heads + dim - 2 * pairs, dim, count, pairs,
                      angles.cosines.As<float>() + row * pairs,
                      angles.sines.As<float>() + row * pairs, kernels::RopeLayout::kAdjacent, back);
}

void LatentAttention::FinishQueries(uint32_t ratio) {
  const size_t dim = shape_.head_dim;
  const size_t heads = shape_.head_count;
  context_.pool.ParallelFor(row_count_ * heads, [&](size_t begin, size_t end, size_t) {
    for (size_t i = begin; i < end; ++i) {
      float* const head = queries_.As<float>() + i * dim;
      context_.ops().rms_norm(head, dim, 1, dim, nullptr, shape_.norm_epsilon, head, dim);
      Turn(ratio, i / heads, head, 1, dim, /*back=*/false);
    }
  });
}

// As the rows of the index are: turned, spread, and of few bits if those are.
void LatentAttention::FinishIndexQueries() {
  const size_t dim = shape_.latent.index_dim;
  const size_t heads = shape_.latent.index_heads;
  const float scale = 1.0f / std::sqrt(static_cast<float>(heads * dim));
  const kernels::LatentTable& table = kernels::Latent(context_.isa);
  context_.pool.ParallelFor(row_count_, [&](size_t begin, size_t end, size_t) {
    std::array<uint8_t, 2 * kernels::kMaxLatentDim> bytes;
    const uint8_t* const packed = bytes.data();
    for (size_t row = begin; row < end; ++row) {
      float* const queries = index_queries_.As<float>() + row * heads * dim;
      Turn(kShortRatio, row, queries, heads, dim, /*back=*/false);
      context_.ops().hadamard(queries, dim, heads, dim);
      for (size_t head = 0; head < heads && index_format_.type == kernels::LatentRows::kF4;
           ++head) {
        kernels::EncodeLatentRow(index_format_, queries + head * dim, bytes.data());
        table.decode(index_format_, &packed, 1, queries + head * dim, dim);
      }
      float* const weights = index_weights_.As<float>() + row * heads;
      context_.ops().scale(weights, heads, scale, weights);
    }
  });
}

// The rows of the window.
void LatentAttention::WriteRows(uint32_t layer, uint32_t ratio, const LatentWeights& weights,
                                std::span<const AttendSpan> spans) {
  const size_t dim = shape_.head_dim;
  const size_t row_bytes = kernels::LatentRowBytes(row_format_);
  for (const AttendSpan& span : spans) {
    context_.pool.ParallelFor(span.count, [&](size_t begin, size_t end, size_t) {
      for (size_t i = begin; i < end; ++i) {
        float* const row = rows_.As<float>() + (span.first_row + i) * dim;
        context_.ops().rms_norm(row, dim, 1, dim, weights.row_norm.data(), shape_.norm_epsilon, row,
                                dim);
        Turn(ratio, span.first_row + i, row, 1, dim, /*back=*/false);
        const uint32_t position = span.position + static_cast<uint32_t>(i);
        uint8_t* const page =
            span.table->WritablePage(layer, position / kernels::kPagePositions, kWindowStream);
        kernels::EncodeLatentRow(row_format_, row,
                                 page + position % kernels::kPagePositions * row_bytes);
      }
    });
  }
}

void LatentAttention::Compress(uint32_t layer, uint32_t ratio, const LatentWeights& weights,
                               std::span<const AttendSpan> spans) {
  compressor_.Run({.layer = layer,
                   .ratio = ratio,
                   .input_stream = kFarInputStream,
                   .row_stream = kFarStream,
                   .format = row_format_,
                   .is_index = false,
                   .weights = &weights.compressor,
                   .values = values_.As<float>(),
                   .scores = scores_.As<float>()},
                  spans);
  if (ratio != kShortRatio) return;
  compressor_.Run({.layer = layer,
                   .ratio = ratio,
                   .input_stream = kIndexInputStream,
                   .row_stream = kIndexStream,
                   .format = index_format_,
                   .is_index = true,
                   .weights = &weights.index_compressor,
                   .values = index_values_.As<float>(),
                   .scores = index_scores_.As<float>()},
                  spans);
}

// Values were turned with their rows; the turn of the query's position is taken back, which leaves
// the difference.
Status LatentAttention::ProjectOutput(uint32_t ratio, const LatentWeights& weights, float* out) {
  const size_t dim = shape_.head_dim;
  const size_t heads = shape_.head_count;
  context_.pool.ParallelFor(row_count_ * heads, [&](size_t begin, size_t end, size_t) {
    for (size_t i = begin; i < end; ++i)
      Turn(ratio, i / heads, attended_.As<float>() + i * dim, 1, dim, /*back=*/true);
  });
  const size_t groups = weights.output_low.size();
  const size_t width = heads * dim / groups;
  const size_t rank = shape_.latent.output_rank;
  std::vector<compute::Product> products;
  for (size_t group = 0; group < groups; ++group) {
    prepared_groups_[group].Set(attended_.As<float>() + group * width, heads * dim, row_count_,
                                width);
    products.push_back({&weights.output_low[group], &prepared_groups_[group],
                        output_low_.As<float>() + group * rank, groups * rank});
  }
  TRY(compute::MultiplyAll(products, context_));
  prepared_output_.Set(output_low_.As<float>(), groups * rank, row_count_, groups * rank);
  const compute::Product output[] = {
      {&weights.output_high, &prepared_output_, out, shape_.embedding}};
  return compute::MultiplyAll(output, context_);
}

}  // namespace aster::model
