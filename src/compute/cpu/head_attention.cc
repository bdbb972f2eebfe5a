// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "compute/cpu/head_attention.h"

#include <algorithm>

#include "base/checked.h"
#include "compute/cpu/memory.h"

namespace aster::compute {
namespace {

// Rows of a task: enough that a page is read for many of them, few enough that their states stay in
// the second-level cache (96 rows of 128 floats are 48 KiB).
constexpr uint32_t kTaskRows = 96;

// The pages of a task are divided among threads if there are fewer tasks than kTasksPerThread for
// each thread, and more pages than kFewPages in a task.
constexpr size_t kTasksPerThread = 2;
constexpr uint32_t kFewPages = 8;

uint32_t PageCountFor(uint32_t positions) {
  return (positions + kernels::kPagePositions - 1) / kernels::kPagePositions;
}

constexpr size_t RoundUp(size_t bytes) {
  return (bytes + Buffer::kAlignment - 1) / Buffer::kAlignment * Buffer::kAlignment;
}

// Takes typed arrays from a block of memory, one after the other.
class ArrayArena {
 public:
  explicit ArrayArena(uint8_t* memory) : memory_(memory) {}
  template <typename T>
  T* Take(size_t count) {
    T* piece = reinterpret_cast<T*>(memory_);
    memory_ += RoundUp(count * sizeof(T));
    return piece;
  }

 private:
  uint8_t* memory_;
};

}  // namespace

Status CpuHeadAttention::Run(const HeadAttention& attention) {
  at_ = &attention;
  head_page_ = *attention.head_page;
  group_ = static_cast<uint32_t>(attention.head_count / attention.kv_head_count);
  block_tokens_ = std::max(1u, kTaskRows / group_);
  query_factor_ = kernels::QueryFactor(attention.scale);
  cap_ = attention.cap > 0.0f ? kernels::QueryFactor(attention.cap) : 0.0f;
  WriteRows();
  if (attention.queries.empty()) return Ok();
  PlanTasks();
  TRY(PlanParts());
  TRY(PlanScratch());
  if (parts_.empty()) {
    AttendTasks();
  } else {
    AttendParts();
  }
  return Ok();
}

// Tasks late in the text see more pages, so threads take one task at a time.
void CpuHeadAttention::AttendTasks() {
  const kernels::AttentionTable& attention = context_.attention();
  context_.pool.ParallelForDynamic(tasks_.size(), 1, [&](size_t begin, size_t end, size_t thread) {
    const Scratch scratch = ScratchOf(thread);
    for (size_t i = begin; i < end; ++i) {
      const Task& task = tasks_[i];
      const auto job = Prepare({&task, 0, task.page_count}, scratch);
      kernels::ResetAttention(head_page_, job.rows, scratch.state);
      attention.attend(job, scratch.state);
      Finish(task, scratch);
    }
  });
}

// First computes each page by itself, then merges the pages of each task.
void CpuHeadAttention::AttendParts() {
  const kernels::AttentionTable& attention = context_.attention();
  context_.pool.ParallelForDynamic(parts_.size(), 1, [&](size_t begin, size_t end, size_t thread) {
    const Scratch scratch = ScratchOf(thread);
    for (size_t i = begin; i < end; ++i) {
      const auto job = Prepare(parts_[i], scratch);
      attention.attend_pages(job, PageResults(*parts_[i].task, parts_[i].page_begin));
    }
  });
  context_.pool.ParallelFor(tasks_.size(), [&](size_t begin, size_t end, size_t thread) {
    const Scratch scratch = ScratchOf(thread);
    for (size_t i = begin; i < end; ++i) {
      const Task& task = tasks_[i];
      kernels::ResetAttention(head_page_, RowCount(task), scratch.state);
      attention.merge_pages(head_page_, PageResults(task, 0), task.page_count, RowCount(task),
                            scratch.state);
      Finish(task, scratch);
    }
  });
}

void CpuHeadAttention::WriteRows() {
  if (at_->keys.empty()) return;
  const PagesOf& of = at_->pages;
  const float* const keys = Floats(at_->keys);
  const float* const values = Floats(at_->values);
  const size_t kv_heads = at_->keys.columns / static_cast<size_t>(head_page_.key_dim);
  context_.pool.ParallelFor(of.spans.size() * kv_heads, [&](size_t begin, size_t end, size_t) {
    for (size_t i = begin; i < end; ++i) {
      const PageSpan& span = of.spans[i / kv_heads];
      const size_t kv_head = i % kv_heads;
      for (uint32_t done = 0; done < span.count;) {
        const uint32_t position = span.position + done;
        const uint32_t in_page = position % kernels::kPagePositions;
        const uint32_t count = std::min(span.count - done, kernels::kPagePositions - in_page);
        uint8_t* const page = HostPage(
            span.table->WritablePage(of.layer, position / kernels::kPagePositions, of.stream));
        const size_t row = span.first_row + done;
        context_.attention().write_rows(
            head_page_, static_cast<int>(in_page), static_cast<int>(count),
            keys + row * at_->keys.stride + kv_head * head_page_.key_dim, at_->keys.stride,
            values + row * at_->values.stride + kv_head * head_page_.value_dim, at_->values.stride,
            page + kv_head * head_page_.bytes);
        done += count;
      }
    }
  });
}

void CpuHeadAttention::PlanTasks() {
  tasks_.clear();
  max_rows_ = 0;
  max_pages_ = 0;
  for (const PageSpan& span : at_->pages.spans) {
    for (uint32_t token = 0; token < span.count; token += block_tokens_) {
      const uint32_t count = std::min(block_tokens_, span.count - token);
      const uint32_t pages = PageCountFor(span.LastVisibleOf(token + count - 1) + 1);
      max_rows_ = std::max(max_rows_, size_t{count} * group_);
      max_pages_ = std::max(max_pages_, pages);
      for (uint32_t kv_head = 0; kv_head < at_->kv_head_count; ++kv_head) {
        tasks_.push_back({&span, kv_head, token, count, pages});
      }
    }
  }
}

Status CpuHeadAttention::PlanParts() {
  parts_.clear();
  const size_t wanted = kTasksPerThread * context_.pool.thread_count();
  if (context_.pool.thread_count() == 1 || tasks_.size() >= wanted || max_pages_ <= kFewPages)
    return Ok();
  const auto parts_per_task = static_cast<uint32_t>(DivideUp(wanted, tasks_.size()));
  size_t floats = 0;
  for (const Task& task : tasks_)
    floats += task.page_count * RowCount(task) * (2 + head_page_.value_stride);
  TRY(results_.Grow(floats * sizeof(float)));
  float* results = results_.As<float>();
  for (Task& task : tasks_) {
    task.page_results = results;
    results += task.page_count * RowCount(task) * (2 + head_page_.value_stride);
    for (uint32_t part = 0; part < parts_per_task; ++part) {
      const IndexRange pages = PartOf(task.page_count, part, parts_per_task);
      if (pages.size() == 0) continue;
      parts_.push_back(
          {&task, static_cast<uint32_t>(pages.begin), static_cast<uint32_t>(pages.end)});
    }
  }
  return Ok();
}

Status CpuHeadAttention::PlanScratch() {
  scratch_bytes_ = RoundUp(max_rows_ * sizeof(kernels::VisibleRows)) +
                   RoundUp(max_pages_ * sizeof(uint8_t*)) +
                   RoundUp(kernels::QueryFloats(head_page_, max_rows_) * sizeof(float)) +
                   2 * RoundUp(max_rows_ * sizeof(float)) +
                   RoundUp(max_rows_ * head_page_.value_stride * sizeof(float));
  return scratch_.Grow(scratch_bytes_ * context_.pool.thread_count());
}

CpuHeadAttention::Scratch CpuHeadAttention::ScratchOf(size_t thread) {
  ArrayArena carver(scratch_.data() + thread * scratch_bytes_);
  Scratch scratch{};
  scratch.visible = carver.Take<kernels::VisibleRows>(max_rows_);
  scratch.pages = carver.Take<const uint8_t*>(max_pages_);
  scratch.queries = carver.Take<float>(kernels::QueryFloats(head_page_, max_rows_));
  scratch.state.max = carver.Take<float>(max_rows_);
  scratch.state.sum = carver.Take<float>(max_rows_);
  scratch.state.values = carver.Take<float>(max_rows_ * head_page_.value_stride);
  return scratch;
}

kernels::AttentionState CpuHeadAttention::PageResults(const Task& task, uint32_t page) const {
  const size_t states = task.page_count * RowCount(task);
  const size_t before = page * RowCount(task);
  return {.max = task.page_results + before,
          .sum = task.page_results + states + before,
          .values = task.page_results + 2 * states + before * head_page_.value_stride};
}

kernels::RowGrid CpuHeadAttention::Grid(const Task& task, const Tensor& rows, size_t dim) const {
  return {.rows = RowCount(task), .heads = group_, .token_stride = rows.stride, .head_stride = dim};
}

float* CpuHeadAttention::FirstHead(const Task& task, const Tensor& rows, size_t dim) const {
  const size_t row = task.span->first_row + task.token_begin;
  return Floats(rows) + row * rows.stride + size_t{task.kv_head} * group_ * dim;
}

kernels::AttentionJob CpuHeadAttention::Prepare(const Part& part, const Scratch& scratch) {
  const Task& task = *part.task;
  const auto dim = static_cast<size_t>(head_page_.key_dim);
  context_.attention().prepare_queries(head_page_, FirstHead(task, at_->queries, dim),
                                       Grid(task, at_->queries, dim), query_factor_,
                                       scratch.queries);
  for (uint32_t token = 0; token < task.token_count; ++token) {
    const auto visible = kernels::VisibleTo(task.span->LastVisibleOf(task.token_begin + token),
                                            at_->window, at_->sinks);
    std::fill_n(scratch.visible + size_t{token} * group_, group_, visible);
  }
  for (uint32_t page = part.page_begin; page < part.page_end; ++page) {
    const uint8_t* const heads =
        HostPage(task.span->table->Page(at_->pages.layer, page, at_->pages.stream));
    scratch.pages[page - part.page_begin] =
        heads == nullptr ? nullptr : heads + (at_->first_kv_head + task.kv_head) * head_page_.bytes;
  }
  return {.layout = &head_page_,
          .pages = scratch.pages,
          .page_count = part.page_end - part.page_begin,
          .first_page = part.page_begin,
          .queries = scratch.queries,
          .visible = scratch.visible,
          .rows = RowCount(task),
          .cap = cap_};
}

void CpuHeadAttention::Finish(const Task& task, const Scratch& scratch) {
  const auto dim = static_cast<size_t>(head_page_.value_dim);
  const float* const sinks =
      at_->sink_logits.empty() ? nullptr : Floats(at_->sink_logits) + size_t{task.kv_head} * group_;
  context_.attention().finish(head_page_, scratch.state, sinks, Grid(task, at_->out, dim),
                              FirstHead(task, at_->out, dim));
}

}  // namespace aster::compute
