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
    // At the slowest of the stages before the last one, which refuses wrong draft tokens at once.
    double before_last_ns = 0;
    // From the end of the round trip until the next frame is sent; the latter behind a wrong draft
    // token with frames in flight behind it.
    double gap_ns = 0;
    double ahead_gap_ns = 0;
    // How much longer a frame of more rows than any had may take, if further rows cost as much.
    double unseen_ns = 0;
  };
  static constexpr uint32_t kMostRows = engine::kMostDrafts + 1;

  // A frame came back. Its time in queues is not counted.
  void Learn(uint32_t rows, std::span<const wire::Hop> hops, int64_t round_trip_ns);
  // After a frame that gave one token, the next one was sent `gap_ns` after the end of its round
  // trip: the cost of messages, and everything else that no stage reports.
  void LearnGap(double gap_ns, bool was_ahead);
  bool is_known() const;
  // Interpolated between numbers of rows that were seen. Call it only if is_known().
  Times Of(uint32_t rows) const;
  // How many frames of one row the route takes in until the first is back: more would wait.
  uint32_t FramesInFlight() const;

 private:
  struct Frame {
    Typical slowest_ns;
    Typical before_last_ns;
    Typical all_ns;  // of all stages together
  };

  double Between(uint32_t rows, Typical Frame::* time) const;
  double UnseenNs(uint32_t rows) const;

  std::array<Frame, kMostRows + 1> frames_;  // by number of rows
  Typical on_the_way_ns_;                    // between stages
  // Starts as if short gaps had been seen, so that a few long ones do not count.
  static Typical NoGap();
  Typical gap_ns_ = NoGap();
  Typical ahead_gap_ns_ = NoGap();
  uint32_t since_ahead_ = 0;  // gaps since the newest ahead_gap
};

}  // namespace aster::conduct
