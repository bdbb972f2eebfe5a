// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "discovery/schedule.h"

#include <algorithm>

namespace aster::discovery {
namespace {

constexpr int64_t kLeastJitterNs = 20 * kNsPerMs;
constexpr int64_t kMostJitterNs = 120 * kNsPerMs;

}  // namespace

Schedule::Schedule(uint64_t seed, int64_t now_ns)
    : random_(seed), offered_ns_(now_ns - kLeastIntervalNs) {
  Restart(now_ns);
}

void Schedule::Restart(int64_t now_ns) {
  round_ns_ = now_ns + Jitter();
  interval_ns_ = kFirstIntervalNs;
  questions_ = 0;
}

void Schedule::Answer(int64_t now_ns) {
  const int64_t soon_ns = std::max(now_ns + Jitter(), offered_ns_ + kLeastIntervalNs);
  answer_ns_ = std::min(answer_ns_, soon_ns);
}

int64_t Schedule::next_ns() const {
  return std::min(answer_ns_, std::max(round_ns_, offered_ns_ + kLeastIntervalNs));
}

Schedule::Due Schedule::Take(int64_t now_ns) {
  Due due;
  if (now_ns < next_ns()) return due;
  due.offer = true;
  if (now_ns >= round_ns_) {
    due.ask = questions_ < kMaxQuestions;
    questions_ += due.ask ? 1 : 0;
    round_ns_ = now_ns + interval_ns_ + Jitter();
    interval_ns_ = std::min(2 * interval_ns_, kLongestIntervalNs);
  }
  answer_ns_ = kNeverNs;
  offered_ns_ = now_ns;
  return due;
}

int64_t Schedule::Jitter() {
  return kLeastJitterNs + static_cast<int64_t>(random_.NextBelow(kMostJitterNs - kLeastJitterNs));
}

}  // namespace aster::discovery
