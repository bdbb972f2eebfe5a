// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whether the thread that steps connections ran in time. If it ran much later, its machine was busy
// or suspended: peers on the same machine, or on one that was suspended as long, could not send
// meanwhile. The caller gives the time; must not know connections.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"

namespace aster::net {

// Not for concurrent use.
class Lateness {
 public:
  // Delays up to this are normal.
  static constexpr int64_t kLeastNs = 100 * kNsPerMs;

  // A thread must run until `due_ns`. Before the first call none is late.
  void Expect(int64_t due_ns) { due_ns_ = due_ns; }
  // Another thread runs, too: they are late only when both are.
  void ExpectAnother(int64_t due_ns) { due_ns_ = std::max(due_ns_, due_ns); }

  // A thread runs: returns its delay, or 0 if that is normal. Each delay is returned once.
  int64_t Arrive(int64_t now_ns) {
    const int64_t late_ns = now_ns - due_ns_;
    if (late_ns <= kLeastNs) return 0;
    due_ns_ = now_ns;
    return late_ns;
  }

 private:
  int64_t due_ns_ = kNeverNs;
};

}  // namespace aster::net
