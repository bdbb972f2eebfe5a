// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "compute/cpu/row_attention.h"

#include <algorithm>
#include <limits>

#include "compute/cpu/memory.h"

namespace aster::compute {
namespace {

constexpr uint32_t kLanes = kernels::kLatentLanes;
constexpr size_t kBlock = kernels::kLatentBlock;
constexpr uint32_t kPage = kernels::kPagePositions;

// With fewer tokens than this for each thread, the heads of a token are divided among threads.
constexpr size_t kRowTasksPerThread = 2;

// The stride of a decoded block: not a power of two, so that its rows do not all fall into the same
// few sets of the first-level cache.
size_t RowStride(size_t dim) { return dim + kLanes; }

// Pieces of a thread's scratch memory.
struct Pieces {
  Pieces(float* memory, size_t dim, size_t lanes)
      : queries(memory),
        rows(queries + dim * lanes),
        scores(rows + kBlock * RowStride(dim)),
        block_values(scores + kBlock * lanes),
        block_max(block_values + dim * lanes),
        block_sum(block_max + lanes),
        max(block_sum + lanes),
        sum(max + lanes),
        values(sum + lanes),
        end(values + dim * lanes) {}

  float* queries;       // [dim, lanes]
  float* rows;          // [kBlock, RowStride]
  float* scores;        // [kBlock, lanes]
  float* block_values;  // [lanes, dim]
  float* block_max;     // [lanes]
  float* block_sum;     // [lanes]
  float* max;           // [lanes], of all blocks so far
  float* sum;           // [lanes]
  float* values;        // [lanes, dim]
  float* end;
};

size_t FloatCount(size_t dim, size_t lanes) {
  return 3 * dim * lanes + kBlock * (RowStride(dim) + lanes) + 4 * lanes;
}

}  // namespace

Status CpuRowAttention::Run(const RowAttention& attention) {
  at_ = &attention;
  dim_ = static_cast<size_t>(attention.format.dim);
  query_factor_ = kernels::QueryFactor(attention.scale);
  TRY(Plan());
  context_.pool.ParallelForDynamic(tasks_.size(), 1, [&](size_t begin, size_t end, size_t thread) {
    for (size_t i = begin; i < end; ++i) Attend(tasks_[i], scratch_[thread]);
  });
  return Ok();
}

Status CpuRowAttention::Plan() {
  const std::span<const PageSpan> spans = at_->pages.spans;
  const auto head_count = static_cast<uint32_t>(at_->head_count);
  size_t tokens = 0;
  for (const PageSpan& span : spans) tokens += span.count;
  const size_t wanted = kRowTasksPerThread * context_.pool.thread_count();
  const uint32_t vectors = (head_count + kLanes - 1) / kLanes;
  const auto parts = context_.pool.thread_count() == 1
                         ? 1u
                         : static_cast<uint32_t>(std::clamp<size_t>(wanted / tokens, 1, vectors));
  const uint32_t heads = (vectors + parts - 1) / parts * kLanes;
  lanes_ = heads;
  tasks_.clear();
  for (const PageSpan& span : spans) {
    for (uint32_t token = 0; token < span.count; ++token) {
      for (uint32_t head = 0; head < head_count; head += heads)
        tasks_.push_back({&span, token, head, std::min(heads, head_count - head)});
    }
  }
  for (Scratch& scratch : scratch_)
    TRY(scratch.floats.Grow(FloatCount(dim_, lanes_) * sizeof(float)));
  return Ok();
}

void CpuRowAttention::ListRows(const Task& task, std::vector<const uint8_t*>& rows) const {
  const kv::PageTable& table = *task.span->table;
  const uint32_t layer = at_->pages.layer;
  const size_t row_bytes = kernels::LatentRowBytes(at_->format);
  const uint32_t end = task.span->LastVisibleOf(task.token) + 1;
  rows.clear();
  for (uint32_t p = end - std::min(end, at_->window); p < end; ++p) {
    rows.push_back(HostPage(table.Page(layer, p / kPage, at_->pages.stream)) +
                   p % kPage * row_bytes);
  }
  if (at_->ratio == 0) return;
  const uint32_t rows_per_page = kPage / at_->ratio;
  const size_t compressed_bytes = kernels::LatentRowBytes(at_->compressed_format);
  const auto add = [&](uint32_t row) {
    rows.push_back(
        HostPage(table.Page(at_->compressed_layer, row / rows_per_page, at_->compressed_stream)) +
        row % rows_per_page * compressed_bytes);
  };
  const uint32_t compressed_count = end / at_->ratio;
  if (!at_->chosen.empty() && compressed_count > at_->top) {
    const size_t batch_row = size_t{task.span->first_row} + task.token;
    const int32_t* const chosen = Integers(at_->chosen) + batch_row * at_->chosen.stride;
    for (uint32_t i = 0; i < at_->top; ++i) add(static_cast<uint32_t>(chosen[i]));
    return;
  }
  for (uint32_t row = 0; row < compressed_count; ++row) add(row);
}

void CpuRowAttention::Attend(const Task& task, Scratch& scratch) const {
  const kernels::LatentTable& table = kernels::Latent(context_.isa);
  const size_t dim = dim_;
  const size_t lanes = lanes_;
  const Pieces at(scratch.floats.As<float>(), dim, lanes);
  ListRows(task, scratch.rows);
  const size_t batch_row = size_t{task.span->first_row} + task.token;
  const size_t first = (batch_row * at_->head_count + task.head_begin) * dim;
  const float* const queries = Floats(at_->queries) + first;
  std::fill_n(at.queries, dim * lanes, 0.0f);
  for (size_t head = 0; head < task.head_count; ++head) {
    const float* const query = queries + head * dim;
    for (size_t d = 0; d < dim; ++d) at.queries[d * lanes + head] = query[d] * query_factor_;
  }
  std::fill_n(at.max, lanes, -std::numeric_limits<float>::infinity());
  std::fill_n(at.sum, lanes, 0.0f);
  std::fill_n(at.values, lanes * dim, 0.0f);
  const kernels::LatentState state{.max = at.max, .sum = at.sum, .values = at.values};
  const size_t stride = RowStride(dim);
  const size_t window = std::min(task.span->LastVisibleOf(task.token) + 1, at_->window);
  for (size_t begin = 0; begin < scratch.rows.size(); begin += kBlock) {
    const size_t count = std::min(kBlock, scratch.rows.size() - begin);
    // Rows of the window come first.
    const size_t near = std::min(count, window - std::min(window, begin));
    const uint8_t* const* const rows = scratch.rows.data() + begin;
    table.decode(at_->format, rows, near, at.rows, stride);
    table.decode(at_->compressed_format, rows + near, count - near, at.rows + near * stride,
                 stride);
    table.multiply({.a = at.rows,
                    .a_row = stride,
                    .a_step = 1,
                    .b = at.queries,
                    .b_row = lanes,
                    .c = at.scores,
                    .c_row = lanes,
                    .rows = count,
                    .depth = dim,
                    .columns = lanes});
    table.weigh(at.scores, count, lanes, at.block_max, at.block_sum);
    table.multiply({.a = at.scores,
                    .a_row = 1,
                    .a_step = lanes,
                    .b = at.rows,
                    .b_row = stride,
                    .c = at.block_values,
                    .c_row = dim,
                    .rows = task.head_count,
                    .depth = count,
                    .columns = dim});
    table.merge({.max = at.block_max,
                 .sum = at.block_sum,
                 .values = at.block_values,
                 .heads = task.head_count,
                 .dim = dim},
                state);
  }
  table.finish(state, Floats(at_->sinks) + task.head_begin, task.head_count, dim,
               Floats(at_->out) + first);
}

}  // namespace aster::compute
