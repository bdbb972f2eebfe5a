// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "compute/cpu/row_ranking.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "compute/cpu/memory.h"

namespace aster::compute {
namespace {

// The most scores in memory: 16 MiB.
constexpr size_t kMaxScores = size_t{4} << 20;

size_t RoundUpToLanes(size_t count) {
  return (count + kernels::kLatentLanes - 1) / kernels::kLatentLanes * kernels::kLatentLanes;
}

}  // namespace

Status CpuRowRanking::Run(const RowRanking& ranking) {
  at_ = &ranking;
  dim_ = static_cast<size_t>(ranking.format.dim);
  lanes_ = RoundUpToLanes(ranking.heads);
  tasks_.clear();
  score_count_ = 0;
  for (const PageSpan& span : ranking.pages.spans) {
    for (uint32_t token = 0; token < span.count; ++token) {
      const uint32_t row_count = (span.position + token + 1) / ranking.ratio;
      if (row_count <= ranking.top) continue;
      if (!tasks_.empty() && score_count_ + row_count > kMaxScores) {
        TRY(RunTasks());
        tasks_.clear();
        score_count_ = 0;
      }
      AddTask(span, token);
    }
  }
  return tasks_.empty() ? Ok() : RunTasks();
}

void CpuRowRanking::AddTask(const PageSpan& span, uint32_t token) {
  Task task{.span = &span,
            .row = size_t{span.first_row} + token,
            .row_count = (span.position + token + 1) / at_->ratio,
            .all_rows = (span.position + token + 1) / at_->ratio,
            .blocks = nullptr,
            .first_score = score_count_};
  const RowRanking::Blocks& blocks = at_->blocks;
  // Only the newest block may not be full; it is always the last one chosen.
  if (blocks.top > 0 && !blocks.is_made) {
    const uint32_t last = (task.row_count - 1) / blocks.rows;
    if (last >= blocks.top) {
      task.blocks = Floats(blocks.chosen) + task.row * blocks.chosen.stride;
      task.row_count = (blocks.top - 1) * blocks.rows + task.row_count - last * blocks.rows;
    }
  }
  tasks_.push_back(task);
  score_count_ += task.row_count;
}

Status CpuRowRanking::RunTasks() {
  TRY(scores_.Grow(score_count_ * sizeof(float)));
  TRY(orders_.Grow(score_count_ * sizeof(uint32_t)));
  TRY(scratch_.Grow(context_.pool.thread_count() * ScratchFloats() * sizeof(float)));
  uint32_t most_blocks = 0;
  for (const Task& task : tasks_)
    most_blocks = std::max(most_blocks, (task.row_count + kBlock - 1) / kBlock);
  context_.pool.ParallelForDynamic(tasks_.size() * most_blocks, 8,
                                   [&](size_t begin, size_t end, size_t thread) {
                                     const Scratch scratch = ScratchOf(thread);
                                     for (size_t i = begin; i < end; ++i) {
                                       const Task& task = tasks_[i / most_blocks];
                                       const auto block = static_cast<uint32_t>(i % most_blocks);
                                       if (block * kBlock < task.row_count)
                                         RankBlock(task, block, scratch);
                                     }
                                   });
  context_.pool.ParallelForDynamic(tasks_.size(), 1, [&](size_t begin, size_t end, size_t) {
    for (size_t i = begin; i < end; ++i) {
      ChooseRows(tasks_[i]);
      if (at_->blocks.is_made) ChooseBlocks(tasks_[i]);
    }
  });
  return Ok();
}

uint32_t CpuRowRanking::Task::RowAt(uint32_t i, uint32_t block_rows) const {
  if (blocks == nullptr) return i;
  const uint32_t last = (all_rows - 1) / block_rows;
  const float block = blocks[i / block_rows];
  const bool is_there = block >= 0.0f && block <= static_cast<float>(last);
  const uint32_t first = (is_there ? static_cast<uint32_t>(block) : last) * block_rows;
  return std::min(first + i % block_rows, all_rows - 1);
}

void CpuRowRanking::ChooseRows(const Task& task) {
  // Row numbers are below 2^31, so they have the same bits as signed and unsigned integers.
  int32_t* const chosen = Integers(at_->chosen) + task.row * at_->chosen.stride;
  kernels::SelectLargest(scores_.As<float>() + task.first_score, task.row_count, at_->top,
                         orders_.As<uint32_t>() + task.first_score,
                         reinterpret_cast<uint32_t*>(chosen));
  for (uint32_t i = 0; i < at_->top && task.blocks != nullptr; ++i) {
    chosen[i] =
        static_cast<int32_t>(task.RowAt(static_cast<uint32_t>(chosen[i]), at_->blocks.rows));
  }
}

// Ranks blocks by their best row. The newest block is always chosen.
void CpuRowRanking::ChooseBlocks(const Task& task) {
  const RowRanking::Blocks& blocks = at_->blocks;
  const uint32_t count = (task.row_count + blocks.rows - 1) / blocks.rows;
  if (count <= blocks.top) return;
  const float* const scores = scores_.As<float>() + task.first_score;
  std::vector<float> best(count, -std::numeric_limits<float>::infinity());
  for (uint32_t row = 0; row < task.row_count; ++row)
    best[row / blocks.rows] = std::max(best[row / blocks.rows], scores[row]);
  std::vector<uint32_t> order(count);
  std::vector<uint32_t> chosen(blocks.top, count - 1);
  kernels::SelectLargest(best.data(), count - 1, blocks.top - 1, order.data(), chosen.data());
  std::ranges::copy(chosen, Floats(blocks.chosen) + task.row * blocks.chosen.stride);
}

CpuRowRanking::Scratch CpuRowRanking::ScratchOf(size_t thread) {
  float* const at = scratch_.As<float>() + thread * ScratchFloats();
  Scratch scratch{};
  scratch.queries = at;
  scratch.weights = scratch.queries + dim_ * lanes_;
  scratch.rows = scratch.weights + lanes_;
  scratch.products = scratch.rows + kBlock * dim_;
  return scratch;
}

// Computes the scores of a block of rows: decodes them, multiplies them with all heads' queries,
// and sums the products by the heads' weights.
void CpuRowRanking::RankBlock(const Task& task, uint32_t block, const Scratch& scratch) {
  const size_t dim = dim_;
  const size_t heads = at_->heads;
  const float* const query = Floats(at_->queries) + task.row * at_->queries.stride;
  std::fill_n(scratch.queries, dim * lanes_ + lanes_, 0.0f);
  for (size_t head = 0; head < heads; ++head) {
    for (size_t d = 0; d < dim; ++d) scratch.queries[d * lanes_ + head] = query[head * dim + d];
  }
  std::copy_n(Floats(at_->weights) + task.row * at_->weights.stride, heads, scratch.weights);
  const uint32_t first = block * kBlock;
  const uint32_t count = std::min(kBlock, task.row_count - first);
  const uint32_t rows_per_page = kernels::kPagePositions / at_->ratio;
  const size_t row_bytes = kernels::LatentRowBytes(at_->format);
  const uint8_t* rows[kBlock];
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t row = task.RowAt(first + i, at_->blocks.rows);
    rows[i] =
        HostPage(task.span->table->Page(at_->pages.layer, row / rows_per_page, at_->pages.stream)) +
        row % rows_per_page * row_bytes;
  }
  const kernels::LatentTable& table = kernels::Latent(context_.isa);
  table.decode(at_->format, rows, count, scratch.rows, dim);
  table.multiply({.a = scratch.rows,
                  .a_row = dim,
                  .a_step = 1,
                  .b = scratch.queries,
                  .b_row = lanes_,
                  .c = scratch.products,
                  .c_row = lanes_,
                  .rows = count,
                  .depth = dim,
                  .columns = lanes_});
  table.rank(scratch.products, count, lanes_, scratch.weights,
             scores_.As<float>() + task.first_score + first);
}

}  // namespace aster::compute
