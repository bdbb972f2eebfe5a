// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Which compressed rows a token sees where there are more than it may: those that an index ranks
// highest, of equal ones the earliest. Must not know what the rows themselves hold.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "compute/buffer.h"
#include "compute/context.h"
#include "model/attend.h"
#include "model/memory.h"

namespace aster::model {

// Queries and their weights, by row of the batch.
struct IndexQueries {
  const float* queries;  // [rows, index_heads * index_dim], turned and spread as the index's rows
  const float* weights;  // [rows, index_heads]
};

// Keeps its scratch memory from batch to batch. Not for concurrent use.
class RowIndex {
 public:
  RowIndex(const Shape& shape, const MemoryOptions& memory, compute::Context& context);

  // Chooses for every row of the spans.
  Status Run(uint32_t layer, std::span<const AttendSpan> spans, const IndexQueries& queries);

  // The rows that row `row` of the batch sees, ascending; empty where it sees all there are.
  std::span<const uint32_t> Chosen(size_t row) const {
    return {chosen_.data() + row * shape_.latent.index_top, counts_[row]};
  }

 private:
  // A token with more rows than it may see.
  struct Task {
    const AttendSpan* span;
    size_t row;          // of the batch
    uint32_t row_count;  // compressed rows to choose from
    size_t first_score;
  };
  // What a thread needs to rank rows.
  struct Scratch {
    float* queries;   // [index_dim, lanes]
    float* weights;   // [lanes]
    float* rows;      // [kLatentBlock, index_dim]
    float* products;  // [kLatentBlock, lanes]
  };

  Status RunTasks(uint32_t layer, std::span<const Task> tasks, size_t score_count,
                  const IndexQueries& queries);
  void RankBlock(uint32_t layer, const Task& task, uint32_t block, const IndexQueries& queries,
                 const Scratch& scratch);
  Scratch ScratchOf(size_t thread);

  const Shape shape_;
  const kernels::LatentFormat format_;
  const size_t lanes_;  // heads, rounded up
  compute::Context& context_;
  std::vector<Task> tasks_;
  std::vector<uint32_t> chosen_;  // [rows, index_top]
  std::vector<uint32_t> counts_;  // [rows]
  compute::Buffer scores_;        // of the tasks at hand
  compute::Buffer orders_;        // as many numbers
  compute::Buffer scratch_;       // [threads]
};

}  // namespace aster::model
