// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The attention half of a layer whose rows are keys and values at once, as DeepSeek V4 has it:
// queries and outputs through products of low rank, a window of rows and compressed ones behind it.
// docs/deepseek-v4.md follows a token through it. Must not know the residual.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "compute/buffer.h"
#include "compute/context.h"
#include "compute/product.h"
#include "model/compressor.h"
#include "model/row_attend.h"
#include "model/row_index.h"
#include "model/weights.h"

namespace aster::model {

// Keeps its scratch memory from batch to batch. Not for concurrent use.
class LatentAttention {
 public:
  LatentAttention(const Shape& shape, const MemoryOptions& memory, compute::Context& context);

  // Where the rows of the batch stand; before the first layer.
  Status SetPositions(std::span<const int64_t> positions);

  // out [rows, embedding] = the half's output for `rows`, of layer `layer` whose compressed rows
  // stand for `ratio` tokens each (0: it has none).
  Status Run(uint32_t layer, uint32_t ratio, const LatentWeights& weights,
             std::span<const AttendSpan> spans, compute::PreparedRows& rows, float* out);

 private:
  // Cosines and sines of the batch's positions, for layers without and with compressed rows.
  struct Angles {
    explicit Angles(std::vector<double> of_pairs) : frequencies(std::move(of_pairs)) {}

    std::vector<double> frequencies;  // [pairs]
    compute::Buffer cosines;          // [rows, pairs]
    compute::Buffer sines;            // the same
  };

  Angles& AnglesOf(uint32_t ratio) { return angles_[ratio == 0 ? 0 : 1]; }
  Status Grow(size_t row_count);
  Status Project(uint32_t ratio, const LatentWeights& weights, compute::PreparedRows& rows);
  Status ProjectQueries(uint32_t ratio, const LatentWeights& weights);
  void FinishQueries(uint32_t ratio);
  void FinishIndexQueries();
  void Turn(uint32_t ratio, size_t row, float* heads, size_t count, size_t dim, bool back);
  void WriteRows(uint32_t layer, uint32_t ratio, const LatentWeights& weights,
                 std::span<const AttendSpan> spans);
  void Compress(uint32_t layer, uint32_t ratio, const LatentWeights& weights,
                std::span<const AttendSpan> spans);
  Status ProjectOutput(uint32_t ratio, const LatentWeights& weights, float* out);

  const Shape shape_;
  const kernels::LatentFormat row_format_;
  const kernels::LatentFormat index_format_;
  compute::Context& context_;
  std::array<Angles, 2> angles_;
  Compressor compressor_;
  RowIndex index_;
  RowAttend attend_;

  size_t row_count_ = 0;
  compute::Buffer low_;            // [rows, query_rank]
  compute::Buffer queries_;        // [rows, head_count * head_dim]
  compute::Buffer rows_;           // [rows, head_dim]
  compute::Buffer values_;         // [rows, 2 * head_dim], to be compressed
  compute::Buffer scores_;         // the same
  compute::Buffer index_values_;   // [rows, 2 * index_dim]
  compute::Buffer index_scores_;   // the same
  compute::Buffer index_queries_;  // [rows, index_heads * index_dim]
  compute::Buffer index_weights_;  // [rows, index_heads]
  compute::Buffer attended_;       // [rows, head_count * head_dim]
  compute::Buffer output_low_;     // [rows, groups * output_rank]
  compute::PreparedRows prepared_low_;
  std::vector<compute::PreparedRows> prepared_groups_;
  compute::PreparedRows prepared_output_;
};

}  // namespace aster::model
