// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Attention of a batch over rows that are keys and values at once: those of its window, then the
// compressed ones, listed for each token and taken in blocks of kLatentBlock. Must not know how
// rows are made, nor weights but the sinks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "compute/buffer.h"
#include "compute/context.h"
#include "model/attend.h"
#include "model/memory.h"
#include "model/row_index.h"

namespace aster::model {

// What a layer attends with.
struct RowQueries {
  uint32_t layer;
  uint32_t ratio;         // of its compressed rows; 0: there are none
  const RowIndex* index;  // that has chosen among them, or null
  const float* queries;   // [rows, head_count * head_dim], turned to their positions
  const float* sinks;     // [head_count]
  float* out;             // [rows, head_count * head_dim], still turned
};

// Keeps its scratch memory from batch to batch. Not for concurrent use.
class RowAttend {
 public:
  RowAttend(const Shape& shape, const MemoryOptions& memory, compute::Context& context);

  Status Run(const RowQueries& queries, std::span<const AttendSpan> spans);

 private:
  // Some heads of one token.
  struct Task {
    const AttendSpan* span;
    uint32_t token;  // within the span
    uint32_t head_begin;
    uint32_t head_count;
  };
  struct Scratch {
    std::vector<const uint8_t*> rows;  // that the token sees
    compute::Buffer floats;
  };

  Status Plan(std::span<const AttendSpan> spans);
  void ListRows(const RowQueries& queries, const Task& task,
                std::vector<const uint8_t*>& rows) const;
  void Attend(const RowQueries& queries, const Task& task, Scratch& scratch) const;

  const Shape shape_;
  const kernels::LatentFormat format_;
  const float query_factor_;
  compute::Context& context_;
  std::vector<Task> tasks_;
  size_t lanes_ = 0;              // heads of a task, rounded up
  std::vector<Scratch> scratch_;  // [threads]
};

}  // namespace aster::model
