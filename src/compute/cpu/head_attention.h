// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Attention of a batch over pages of keys and values: writes the new rows into their pages, then
// computes attention for every row, on all threads. Must not know weights or norms.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "compute/buffer.h"
#include "compute/commands.h"
#include "compute/context.h"
#include "kernels/attention.h"

namespace aster::compute {

// Keeps its scratch memory from batch to batch. Not for concurrent use.
class CpuHeadAttention {
 public:
  explicit CpuHeadAttention(Context& context) : context_(context) {}

  Status Run(const HeadAttention& attention);

 private:
  // The rows of some tokens of a span, for one key-value head.
  struct Task {
    const PageSpan* span;
    uint32_t kv_head;
    uint32_t token_begin;  // within the span
    uint32_t token_count;
    uint32_t page_count;  // from page 0 on
    float* page_results =
        nullptr;  // [page_count] results of all the task's rows, if threads divide its pages
  };
  // Some pages of a task.
  struct Part {
    const Task* task;
    uint32_t page_begin;
    uint32_t page_end;
  };
  // Scratch memory of a thread, in addition to its rows.
  struct Scratch {
    kernels::VisibleRows* visible;  // [rows]
    const uint8_t** pages;          // [page_count]
    float* queries;                 // [QueryFloats]
    kernels::AttentionState state;
  };

  void WriteRows();
  void AttendTasks();
  void AttendParts();
  void PlanTasks();
  Status PlanParts();
  Status PlanScratch();
  Scratch ScratchOf(size_t thread);
  kernels::AttentionState PageResults(const Task& task, uint32_t page) const;
  size_t RowCount(const Task& task) const { return size_t{task.token_count} * group_; }
  // The task's rows among queries or outputs, and the first of their heads.
  kernels::RowGrid Grid(const Task& task, const Tensor& rows, size_t dim) const;
  float* FirstHead(const Task& task, const Tensor& rows, size_t dim) const;
  kernels::AttentionJob Prepare(const Part& part, const Scratch& scratch);
  void Finish(const Task& task, const Scratch& scratch);

  Context& context_;

  // During Run.
  const HeadAttention* at_ = nullptr;
  kernels::PageLayout head_page_{};
  uint32_t group_ = 0;         // query heads that share a key-value head
  uint32_t block_tokens_ = 0;  // tokens of a task at most
  float query_factor_ = 0;
  float cap_ = 0;  // of scores, in units of log 2
  std::vector<Task> tasks_;
  std::vector<Part> parts_;  // empty if each task is computed by one thread
  Buffer scratch_;           // [threads, scratch_bytes_]
  Buffer results_;           // page results of tasks
  size_t scratch_bytes_ = 0;
  size_t max_rows_ = 0;     // of a task
  uint32_t max_pages_ = 0;  // of a task
};

}  // namespace aster::compute
