// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/row_index.h"

#include <algorithm>

namespace aster::model {
namespace {

// Scores that are held at a time: 16 MiB of them.
constexpr size_t kMaxScores = size_t{4} << 20;
constexpr uint32_t kIndexBlock = kernels::kLatentBlock;

size_t RoundUpToLanes(size_t count) {
  return (count + kernels::kLatentLanes - 1) / kernels::kLatentLanes * kernels::kLatentLanes;
}

}  // namespace

RowIndex::RowIndex(const Shape& shape, const MemoryOptions& memory, compute::Context& context)
    : shape_(shape),
      format_(IndexFormat(shape, memory)),
      lanes_(RoundUpToLanes(shape.latent.index_heads)),
      context_(context) {}

Status RowIndex::Run(uint32_t layer, std::span<const AttendSpan> spans,
                     const IndexQueries& queries) {
  const uint32_t top = shape_.latent.index_top;
  size_t batch_rows = 0;
  for (const AttendSpan& span : spans)
    batch_rows = std::max(batch_rows, size_t{span.first_row} + span.count);
  chosen_.resize(batch_rows * top);
  counts_.assign(batch_rows, 0);
  tasks_.clear();
  size_t score_count = 0;
  for (const AttendSpan& span : spans) {
    for (uint32_t token = 0; token < span.count; ++token) {
      const uint32_t row_count = (span.position + token + 1) / kShortRatio;
      if (row_count <= top) continue;
      if (!tasks_.empty() && score_count + row_count > kMaxScores) {
        TRY(RunTasks(layer, tasks_, score_count, queries));
        tasks_.clear();
        score_count = 0;
      }
      tasks_.push_back({&span, size_t{span.first_row} + token, row_count, score_count});
      score_count += row_count;
    }
  }
  return tasks_.empty() ? Ok() : RunTasks(layer, tasks_, score_count, queries);
}

Status RowIndex::RunTasks(uint32_t layer, std::span<const Task> tasks, size_t score_count,
                          const IndexQueries& queries) {
  const size_t dim = shape_.latent.index_dim;
  TRY(scores_.Grow(score_count * sizeof(float)));
  TRY(orders_.Grow(score_count * sizeof(uint32_t)));
  const size_t floats = dim * lanes_ + lanes_ + kIndexBlock * (dim + lanes_);
  TRY(scratch_.Grow(context_.pool.thread_count() * floats * sizeof(float)));
  uint32_t most_blocks = 0;
  for (const Task& task : tasks)
    most_blocks = std::max(most_blocks, (task.row_count + kIndexBlock - 1) / kIndexBlock);
  context_.pool.ParallelForDynamic(tasks.size() * most_blocks, 8,
                                   [&](size_t begin, size_t end, size_t thread) {
                                     const Scratch scratch = ScratchOf(thread);
                                     for (size_t i = begin; i < end; ++i) {
                                       const Task& task = tasks[i / most_blocks];
                                       const auto block = static_cast<uint32_t>(i % most_blocks);
                                       if (block * kIndexBlock < task.row_count)
                                         RankBlock(layer, task, block, queries, scratch);
                                     }
                                   });
  const uint32_t top = shape_.latent.index_top;
  context_.pool.ParallelForDynamic(tasks.size(), 1, [&](size_t begin, size_t end, size_t) {
    for (size_t i = begin; i < end; ++i) {
      const Task& task = tasks[i];
      kernels::SelectLargest(scores_.As<float>() + task.first_score, task.row_count, top,
                             orders_.As<uint32_t>() + task.first_score,
                             chosen_.data() + task.row * top);
      counts_[task.row] = top;
    }
  });
  return Ok();
}

RowIndex::Scratch RowIndex::ScratchOf(size_t thread) {
  const size_t dim = shape_.latent.index_dim;
  const size_t floats = dim * lanes_ + lanes_ + kIndexBlock * (dim + lanes_);
  float* at = scratch_.As<float>() + thread * floats;
  Scratch scratch{};
  scratch.queries = at;
  scratch.weights = scratch.queries + dim * lanes_;
  scratch.rows = scratch.weights + lanes_;
  scratch.products = scratch.rows + kIndexBlock * dim;
  return scratch;
}

void RowIndex::RankBlock(uint32_t layer, const Task& task, uint32_t block,
                         const IndexQueries& queries, const Scratch& scratch) {
  const size_t dim = shape_.latent.index_dim;
  const size_t heads = shape_.latent.index_heads;
  const float* const query = queries.queries + task.row * heads * dim;
  std::fill_n(scratch.queries, dim * lanes_ + lanes_, 0.0f);
  for (size_t head = 0; head < heads; ++head) {
    for (size_t d = 0; d < dim; ++d) scratch.queries[d * lanes_ + head] = query[head * dim + d];
  }
  std::copy_n(queries.weights + task.row * heads, heads, scratch.weights);
  const uint32_t first = block * kIndexBlock;
  const uint32_t count = std::min(kIndexBlock, task.row_count - first);
  const uint32_t rows_per_page = kernels::kPagePositions / kShortRatio;
  const size_t row_bytes = kernels::LatentRowBytes(format_);
  const uint8_t* rows[kIndexBlock];
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t row = first + i;
    rows[i] = task.span->table->Page(layer, row / rows_per_page, kIndexStream) +
              row % rows_per_page * row_bytes;
  }
  const kernels::LatentTable& table = kernels::Latent(context_.isa);
  table.decode(format_, rows, count, scratch.rows, dim);
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

}  // namespace aster::model
