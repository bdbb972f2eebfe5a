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
    // At the slowest stage before the last one, which refuses wrong draft tokens uncomputed.
    double before_last_ns = 0;
    // And until the next one is sent; behind a wrong draft token, where frames were sent ahead.
    double gap_ns = 0;
    double ahead_gap_ns = 0;
    // That a frame of more rows than were seen may take beside that: as much for each further row
    // as those took.
    double unseen_ns = 0;
  };
  static constexpr uint32_t kMostRows = engine::kMostDrafts + 1;

  // A frame came back. Its time in queues is not counted.
  void Learn(uint32_t rows, std::span<const wire::Hop> hops, int64_t round_trip_ns);
  // From a frame that gave one token to the next one it took longer by so much than its way. That
  // is what messages cost, and what else no stage tells.
  void LearnGap(double gap_ns, bool was_ahead);
  bool is_known() const;
  // Interpolated between numbers of rows that were seen. Only where anything is known.
  Times Of(uint32_t rows) const;
  // Frames of one row that the route takes until the first of them is back: more would wait.
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
  // As if short ones had been seen: a few that were held up count for nothing here, too.
  static Typical NoGap();
  Typical gap_ns_ = NoGap();
  Typical ahead_gap_ns_ = NoGap();
  uint32_t since_ahead_ = 0;  // gaps, since the newest of these
};

}  // namespace aster::conduct
