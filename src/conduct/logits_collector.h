// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Passes on the logits of a text's rows, each row once and in order, however often the rows
// are computed. Must not know who computes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include "base/result.h"

namespace aster::conduct {

class LogitsCollector {
 public:
  // No logits are wanted.
  LogitsCollector() = default;
  using Sink = std::function<Status(std::span<const float>)>;
  // Those from row `begin` on, at most `chunk` rows a frame.
  LogitsCollector(Sink sink, uint32_t chunk, uint32_t begin)
      : sink_(std::move(sink)), chunk_(chunk), begin_(begin), next_(begin) {}

  bool is_wanted() const { return sink_ != nullptr; }
  uint32_t chunk() const { return chunk_; }
  uint32_t begin() const { return begin_; }
  // The first row that the sink does not have.
  uint32_t next() const { return next_; }
  // What the sink said; nothing follows an error.
  const Status& status() const { return status_; }

  // `logits`: [count of rows, width], of the rows from `begin` on. Rows that the sink has are
  // skipped: they were told before a route broke.
  void Take(uint32_t begin, std::span<const float> logits, size_t width) {
    for (uint32_t row = begin; !logits.empty() && status_.ok(); ++row) {
      if (row >= next_) {
        status_ = sink_(logits.first(width));
        next_ = row + 1;
      }
      logits = logits.subspan(width);
    }
  }

 private:
  Sink sink_;  // or null
  uint32_t chunk_ = 0;
  uint32_t begin_ = 0;
  uint32_t next_ = 0;
  Status status_;
};

}  // namespace aster::conduct
