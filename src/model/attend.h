// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Attention of a batch over the KV caches of its sequences: writes the new keys and values into
// their pages and lets every row see its past, on all threads. Must not know weights or norms.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "compute/buffer.h"
#include "compute/context.h"
#include "kernels/attention.h"
#include "kernels/pages.h"
#include "kv/page_table.h"
#include "model/memory.h"
#include "model/shape.h"

namespace aster::model {

// A run of new tokens of one sequence: rows [first_row, first_row + count) of the batch stand for
// positions from `position` on. Room for them has been reserved in the table.
struct AttendSpan {
  kv::PageTable* table;
  uint32_t position;
  uint32_t first_row;
  uint32_t count;
};

// Rows of the batch, by token: heads one after the other.
struct AttendRows {
  const float* queries;  // [rows, head_count * head_dim], turned to their positions
  const float* keys;     // [rows, kv_head_count * head_dim], turned to their positions
  const float* values;   // [rows, kv_head_count * head_dim]
  float* out;            // [rows, head_count * head_dim]
};

// Keeps its scratch memory from batch to batch. Not for concurrent use.
class Attend {
 public:
  Attend(const Shape& shape, const MemoryOptions& memory, compute::Context& context);

  Status Run(uint32_t layer, std::span<const AttendSpan> spans, const AttendRows& rows);

 private:
  // The rows of some tokens of a span, for one key-value head.
  struct Task {
    const AttendSpan* span;
    uint32_t kv_head;
    uint32_t token_begin;  // within the span
    uint32_t token_count;
    uint32_t page_count;  // from page 0 on
    float* page_results =
        nullptr;  // [page_count] results of all the task's rows, where threads share its pages
  };
  // Some pages of a task.
  struct Part {
    const Task* task;
    uint32_t page_begin;
    uint32_t page_end;
  };
  // What a thread needs beside its rows.
  struct Scratch {
    kernels::VisibleRows* visible;  // [rows]
    const uint8_t** pages;          // [page_count]
    float* queries;                 // [QueryFloats]
    kernels::AttentionState state;
  };

  void WriteRows(uint32_t layer, std::span<const AttendSpan> spans, const AttendRows& rows);
  void PlanTasks(std::span<const AttendSpan> spans);
  Status PlanParts();
  Status PlanScratch();
  Scratch ScratchOf(size_t thread);
  kernels::AttentionState PageResults(const Task& task, uint32_t page) const;
  size_t RowCount(const Task& task) const { return size_t{task.token_count} * group_; }
  kernels::RowGrid Grid(const Task& task) const;
  size_t FirstFloat(const Task& task) const;  // of the task's rows among queries and outputs
  kernels::AttentionJob Prepare(uint32_t layer, const Part& part, const AttendRows& rows,
                                const Scratch& scratch);
  void Finish(const Task& task, const AttendRows& rows, const Scratch& scratch);

  const Shape shape_;
  const MemoryOptions memory_;
  const kernels::PageLayout head_page_;
  const uint32_t group_;         // query heads that share a key-value head
  const uint32_t block_tokens_;  // tokens of a task at most
  const float query_factor_;
  compute::Context& context_;

  std::vector<Task> tasks_;
  std::vector<Part> parts_;  // empty where each task is one thread's
  compute::Buffer scratch_;  // [threads, scratch_bytes_]
  compute::Buffer results_;  // page results of tasks
  size_t scratch_bytes_ = 0;
  size_t max_rows_ = 0;     // of a task
  uint32_t max_pages_ = 0;  // of a task
};

}  // namespace aster::model
