// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How long a peer may say nothing before it counts as lost: a stated time for one that was heard
// regularly, longer for one that lately made long pauses, as a busy machine or a slow link does.
// Told the time; must not know connections.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace aster::net {

// Not for concurrent use.
class Silence {
 public:
  // A peer's pauses count for this long, and at most twice that.
  static constexpr int64_t kWindowNs = 30 * kNsPerSecond;
  // The next pause of a busy machine is seldom thrice the longest one of the last half minute.
  static constexpr int64_t kTimesLongest = 3;
  // However long its pauses were, a peer that says nothing for this many times `least_ns` is lost.
  static constexpr int64_t kMostTimes = 4;

  Silence(int64_t least_ns, int64_t now_ns);

  void Heard(int64_t now_ns);
  // This machine did not run for `pause_ns`: silence in this time says nothing about the peer.
  void Forgive(int64_t pause_ns) { heard_ns_ += pause_ns; }

  int64_t limit_ns() const;
  // When the peer counts as lost, unless it is heard before.
  int64_t deadline_ns() const { return heard_ns_ + limit_ns(); }

 private:
  int64_t least_ns_;
  int64_t heard_ns_;
  int64_t window_begin_ns_;
  int64_t longest_ns_ = 0;         // pause in this window
  int64_t longest_before_ns_ = 0;  // in the window before
};

}  // namespace aster::net
