// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How long a peer may be silent before it counts as failed: `least_ns` for one that was heard
// regularly, longer for one with long pauses lately, as on a busy machine or a slow link. The
// caller gives the time; must not know connections.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace aster::net {

// Not for concurrent use.
class Silence {
 public:
  // A peer's pauses count for this long, and at most twice that.
  static constexpr int64_t kWindowNs = 30 * kNsPerSecond;
  // A busy machine's next pause is seldom longer than this multiple of its longest recent one.
  static constexpr int64_t kTimesLongest = 3;
  // Whatever its pauses were, a peer that is silent for this many times `least_ns` has failed.
  static constexpr int64_t kMostTimes = 4;

  Silence(int64_t least_ns, int64_t now_ns);

  void OnReceived(int64_t now_ns);
  // This machine did not run for `pause_ns`: silence in this time says nothing about the peer.
  void IgnorePause(int64_t pause_ns) { received_ns_ += pause_ns; }

  int64_t limit_ns() const;
  // When the peer counts as failed, unless it is heard before.
  int64_t deadline_ns() const { return received_ns_ + limit_ns(); }

 private:
  int64_t least_ns_;
  int64_t received_ns_;
  int64_t window_begin_ns_;
  int64_t longest_ns_ = 0;         // of a pause in this window
  int64_t longest_before_ns_ = 0;  // in the window before
};

}  // namespace aster::net
