// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Passes on the logits of a text's rows, or its states (the head's input), each row once and in
// order, also if rows are computed several times. Must not know who computes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include "base/result.h"
#include "wire/messages.h"

namespace aster::conduct {

class LogitsCollector {
 public:
  // A collector that wants no rows.
  LogitsCollector() = default;
  using Sink = std::function<Status(std::span<const float>)>;
  // Wants rows from `begin` on, at most `chunk` in a frame. kLastState: `begin` is the last row.
  LogitsCollector(Sink sink, uint32_t chunk, uint32_t begin,
                  wire::Wanted wanted = wire::Wanted::kAllLogits)
      : sink_(std::move(sink)), chunk_(chunk), begin_(begin), next_(begin), wanted_(wanted) {}

  bool is_wanted() const { return sink_ != nullptr; }
  bool wants_states() const { return is_wanted() && wire::IsStates(wanted_); }
  // What a segment asks for. `is_end`: it ends where the text does.
  wire::Wanted WantedOf(bool is_end) const {
    return wanted_ == wire::Wanted::kLastState && !is_end ? wire::Wanted::kNothing : wanted_;
  }
  uint32_t chunk() const { return chunk_; }
  uint32_t begin() const { return begin_; }
  // The first row that the sink does not have.
  uint32_t next() const { return next_; }
  // The status that the sink returned last; after an error it gets no more rows.
  const Status& status() const { return status_; }

  // `rows`: [count of rows, width], from row `begin` on. Rows that the sink got before a route
  // broke are skipped.
  void Take(uint32_t begin, std::span<const float> rows, size_t width) {
    for (uint32_t row = begin; !rows.empty() && status_.ok(); ++row) {
      if (row >= next_) {
        status_ = sink_(rows.first(width));
        next_ = row + 1;
      }
      rows = rows.subspan(width);
    }
  }

 private:
  Sink sink_;  // or null
  uint32_t chunk_ = 0;
  uint32_t begin_ = 0;
  uint32_t next_ = 0;
  wire::Wanted wanted_ = wire::Wanted::kAllLogits;
  Status status_;
};

}  // namespace aster::conduct
