// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Chooses the compressed rows that a token sees if there are more than it may see: those that an
// index ranks highest, the earliest of equal ones. Must not know the content of the rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "compute/buffer.h"
#include "compute/commands.h"
#include "compute/context.h"

namespace aster::compute {

// Keeps its scratch memory from batch to batch. Not for concurrent use.
class CpuRowRanking {
 public:
  explicit CpuRowRanking(Context& context) : context_(context) {}

  Status Run(const RowRanking& ranking);

 private:
  // A token with more rows than it may see.
  struct Task {
    const PageSpan* span;
    size_t row;           // of the batch
    uint32_t row_count;   // compressed rows to choose from
    uint32_t all_rows;    // compressed rows of the token
    const float* blocks;  // only rows of these blocks may be chosen; null: all
    size_t first_score;

    // Always a valid row, as blocks may come from other machines and are not trusted.
    uint32_t RowAt(uint32_t i, uint32_t block_rows) const;
  };
  // What a thread needs to rank rows.
  struct Scratch {
    float* queries;   // [index_dim, lanes]
    float* weights;   // [lanes]
    float* rows;      // [kLatentBlock, index_dim]
    float* products;  // [kLatentBlock, lanes]
  };

  void AddTask(const PageSpan& span, uint32_t token);
  Status RunTasks();
  void ChooseRows(const Task& task);
  void ChooseBlocks(const Task& task);
  void RankBlock(const Task& task, uint32_t block, const Scratch& scratch);
  Scratch ScratchOf(size_t thread);
  size_t ScratchFloats() const { return dim_ * lanes_ + lanes_ + kBlock * (dim_ + lanes_); }

  static constexpr uint32_t kBlock = kernels::kLatentBlock;

  Context& context_;

  // During Run.
  const RowRanking* at_ = nullptr;
  size_t dim_ = 0;
  size_t lanes_ = 0;  // heads, rounded up
  std::vector<Task> tasks_;
  size_t score_count_ = 0;  // of all tasks

  Buffer scores_;   // of some tasks, at most kMaxScores
  Buffer orders_;   // the same size
  Buffer scratch_;  // [threads]
};

}  // namespace aster::compute
