// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What frames of decode take on a route, by their number of rows: at the slowest stage, and from
// when they are sent until the result is here. Must not know requests, nor clocks.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/typical.h"
#include "engine/proposer.h"
#include "wire/messages.h"

namespace aster::conduct {

// A pure function of what it was told. Not for concurrent use.
class FrameTimes {
 public:
  struct Times {
    double slowest_ns = 0;     // at the stage that computes longest
    double round_trip_ns = 0;  // of a frame that waits nowhere
  };
  static constexpr uint32_t kMostRows = engine::kMostDrafts + 1;

  // A frame came back. Its time in queues is not counted.
  void Learn(uint32_t rows, std::span<const wire::Hop> hops, int64_t round_trip_ns);
  bool is_known() const;
  // Interpolated between numbers of rows that were seen. Only where anything is known.
  Times Of(uint32_t rows) const;
  // Frames of one row that the route takes until the first of them is back: more would wait.
  uint32_t FramesInFlight() const;

 private:
  struct Frame {
    Typical slowest_ns;
    Typical all_ns;  // of all stages together
  };

  double Between(uint32_t rows, Typical Frame::* time) const;

  std::array<Frame, kMostRows + 1> frames_;  // by number of rows
  Typical on_the_way_ns_;                    // between stages
};

}  // namespace aster::conduct
