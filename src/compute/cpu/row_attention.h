// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Attention of a batch over rows that are both keys and values: those of the window, then
// compressed ones, listed for each token and computed in blocks of kLatentBlock. Must not know how
// rows are made.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "compute/buffer.h"
#include "compute/commands.h"
#include "compute/context.h"

namespace aster::compute {

// Keeps its scratch memory from batch to batch. Not for concurrent use.
class CpuRowAttention {
 public:
  explicit CpuRowAttention(Context& context)
      : context_(context), scratch_(context.pool.thread_count()) {}

  Status Run(const RowAttention& attention);

 private:
  // Some heads of one token.
  struct Task {
    const PageSpan* span;
    uint32_t token;  // within the span
    uint32_t head_begin;
    uint32_t head_count;
  };
  struct Scratch {
    std::vector<const uint8_t*> rows;  // visible to the token
    Buffer floats;
  };

  Status Plan();
  void ListRows(const Task& task, std::vector<const uint8_t*>& rows) const;
  void Attend(const Task& task, Scratch& scratch) const;

  Context& context_;

  // During Run.
  const RowAttention* at_ = nullptr;
  size_t dim_ = 0;
  float query_factor_ = 0;
  std::vector<Task> tasks_;
  size_t lanes_ = 0;  // heads of a task, rounded up

  std::vector<Scratch> scratch_;  // [threads]
};

}  // namespace aster::compute
