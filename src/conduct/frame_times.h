// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The times of decode frames on a route, by their number of rows: at the slowest stage, and from
// sending until the result has arrived. Must not know requests, nor clocks.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/typical.h"
#include "engine/proposer.h"
#include "wire/messages.h"

namespace aster::conduct {

// Depends only on the times that it has learned. Not for concurrent use.
class FrameTimes {
 public:
  struct Times {
    double slowest_ns = 0;     // at the stage that computes longest
    double round_trip_ns = 0;  // of a frame that waits nowhere
    // At the slowest of the stages before the last one, which refuses wrong draft tokens at once.
    double before_last_ns = 0;
    // From the end of the round trip until the next frame is sent; `ahead_gap_ns` if that frame
    // follows a wrong draft token and frames that were sent ahead are still in flight.
    double gap_ns = 0;
    double ahead_gap_ns = 0;
    // For more rows than any frame had: how much longer the frame may take than estimated.
    double unseen_ns = 0;
  };
  static constexpr uint32_t kMostRows = engine::kMostDrafts + 1;

  // A frame came back. Its time in queues is not counted.
  void Learn(uint32_t rows, std::span<const wire::Hop> hops, int64_t round_trip_ns);
  // The next frame was sent `gap_ns` after the round trip of a frame that gave one token: the time
  // of messages and of everything else that no stage reports.
  void LearnGap(double gap_ns, bool was_ahead);
  bool is_known() const;
  // Interpolated between numbers of rows that were seen. Call it only if is_known().
  Times Of(uint32_t rows) const;
  // How many frames of one row may be in flight without waiting for each other.
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
