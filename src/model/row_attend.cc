// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/row_attend.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace aster::model {
namespace {

constexpr uint32_t kLanes = kernels::kLatentLanes;
constexpr size_t kBlock = kernels::kLatentBlock;
constexpr uint32_t kPage = kernels::kPagePositions;

// Heads of a token are shared out among threads where there are fewer tokens than this for each.
constexpr size_t kTasksPerThread = 2;

// From row to row of a decoded block: not a power of two, or the rows would all fall into the same
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

RowAttend::RowAttend(const Shape& shape, const MemoryOptions& memory, compute::Context& context)
    : shape_(shape),
      format_(RowFormat(shape, memory)),
      query_factor_(kernels::QueryFactor(1.0f / std::sqrt(static_cast<float>(shape.head_dim)))),
      context_(context),
      scratch_(context.pool.thread_count()) {}

Status RowAttend::Run(const RowQueries& queries, std::span<const AttendSpan> spans) {
  TRY(Plan(spans));
  context_.pool.ParallelForDynamic(tasks_.size(), 1, [&](size_t begin, size_t end, size_t thread) {
    for (size_t i = begin; i < end; ++i) Attend(queries, tasks_[i], scratch_[thread]);
  });
  return Ok();
}

Status RowAttend::Plan(std::span<const AttendSpan> spans) {
  size_t tokens = 0;
  for (const AttendSpan& span : spans) tokens += span.count;
  const size_t wanted = kTasksPerThread * context_.pool.thread_count();
  const uint32_t vectors = (shape_.head_count + kLanes - 1) / kLanes;
  const auto parts = context_.pool.thread_count() == 1
                         ? 1u
                         : static_cast<uint32_t>(std::clamp<size_t>(wanted / tokens, 1, vectors));
  const uint32_t heads = (vectors + parts - 1) / parts * kLanes;
  lanes_ = heads;
  tasks_.clear();
  for (const AttendSpan& span : spans) {
    for (uint32_t token = 0; token < span.count; ++token) {
      for (uint32_t head = 0; head < shape_.head_count; head += heads)
        tasks_.push_back({&span, token, head, std::min(heads, shape_.head_count - head)});
    }
  }
  for (Scratch& scratch : scratch_)
    TRY(scratch.floats.Grow(FloatCount(shape_.head_dim, lanes_) * sizeof(float)));
  return Ok();
}

void RowAttend::ListRows(const RowQueries& queries, const Task& task,
                         std::vector<const uint8_t*>& rows) const {
  const kv::PageTable& table = *task.span->table;
  const size_t row_bytes = kernels::LatentRowBytes(format_);
  const uint32_t end = task.span->position + task.token + 1;
  rows.clear();
  for (uint32_t p = end - std::min(end, shape_.sliding_window); p < end; ++p) {
    rows.push_back(table.Page(queries.layer, p / kPage, kWindowStream) + p % kPage * row_bytes);
  }
  if (queries.ratio == 0) return;
  const uint32_t rows_per_page = kPage / queries.ratio;
  const auto add = [&](uint32_t row) {
    rows.push_back(table.Page(queries.layer, row / rows_per_page, kFarStream) +
                   row % rows_per_page * row_bytes);
  };
  const size_t batch_row = size_t{task.span->first_row} + task.token;
  const std::span<const uint32_t> chosen =
      queries.index == nullptr ? std::span<const uint32_t>() : queries.index->Chosen(batch_row);
  for (const uint32_t row : chosen) add(row);
  if (!chosen.empty()) return;
  for (uint32_t row = 0; row < end / queries.ratio; ++row) add(row);
}

void RowAttend::Attend(const RowQueries& queries, const Task& task, Scratch& scratch) const {
  const kernels::LatentTable& table = kernels::Latent(context_.isa);
  const size_t dim = shape_.head_dim;
  const size_t lanes = lanes_;
  const Pieces at(scratch.floats.As<float>(), dim, lanes);
  ListRows(queries, task, scratch.rows);
  const size_t batch_row = size_t{task.span->first_row} + task.token;
  const size_t first = (batch_row * shape_.head_count + task.head_begin) * dim;
  std::fill_n(at.queries, dim * lanes, 0.0f);
  for (size_t head = 0; head < task.head_count; ++head) {
    const float* const query = queries.queries + first + head * dim;
    for (size_t d = 0; d < dim; ++d) at.queries[d * lanes + head] = query[d] * query_factor_;
  }
  std::fill_n(at.max, lanes, -std::numeric_limits<float>::infinity());
  std::fill_n(at.sum, lanes, 0.0f);
  std::fill_n(at.values, lanes * dim, 0.0f);
  const kernels::LatentState state{.max = at.max, .sum = at.sum, .values = at.values};
  const size_t stride = RowStride(dim);
  for (size_t begin = 0; begin < scratch.rows.size(); begin += kBlock) {
    const size_t count = std::min(kBlock, scratch.rows.size() - begin);
    table.decode(format_, scratch.rows.data() + begin, count, at.rows, stride);
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
  table.finish(state, queries.sinks + task.head_begin, task.head_count, dim, queries.out + first);
}

}  // namespace aster::model
