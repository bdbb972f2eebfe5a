// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whether the thread that steps connections came when it should have. Where it came much later, its
// machine was busy or stood still: peers on the same machine, or on one that sleeps as long, could
// say nothing meanwhile. Told the time; must not know connections.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"

namespace aster::net {

// Not for concurrent use.
class Lateness {
 public:
  // Threads are later than they should be by less all the time.
  static constexpr int64_t kLeastNs = 100 * kNsPerMs;

  // A thread comes at `due_ns` at the latest. Before the first call none is late.
  void Expect(int64_t due_ns) { due_ns_ = due_ns; }
  // Another thread comes, too: none is late before both are.
  void ExpectAnother(int64_t due_ns) { due_ns_ = std::max(due_ns_, due_ns); }

  // A thread has come: how much too late, or 0. What is late is counted once.
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
