// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// When a machine sends to the group: at its start and after changes, then at growing intervals, and
// soon after a question, but never more than once a second. Must not know what it says.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/random.h"

namespace aster::discovery {

inline constexpr int64_t kFirstIntervalNs = 1 * kNsPerSecond;
inline constexpr int64_t kLongestIntervalNs = 64 * kNsPerSecond;
// Questions end some minutes after the last change: offers continue, so that none is needed.
inline constexpr int kMaxQuestions = 8;
// Between two offers of one machine.
inline constexpr int64_t kLeastIntervalNs = 1 * kNsPerSecond;

// Not for concurrent use.
class Schedule {
 public:
  Schedule(uint64_t seed, int64_t now_ns);

  // The machine's addresses have changed: as at the start.
  void Restart(int64_t now_ns);
  // The machine was asked.
  void Answer(int64_t now_ns);

  int64_t next_ns() const;

  struct Due {
    bool offer = false;
    bool ask = false;
  };
  // What to send now.
  Due Take(int64_t now_ns);

 private:
  // Random, so that machines that heard the same message do not send at the same moment.
  int64_t Jitter();

  Random random_;
  int64_t round_ns_ = 0;  // interval of offers and questions
  int64_t interval_ns_ = kFirstIntervalNs;
  int questions_ = 0;
  int64_t answer_ns_ = kNeverNs;
  int64_t offered_ns_;
};

}  // namespace aster::discovery
