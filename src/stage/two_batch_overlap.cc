// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "stage/two_batch_overlap.h"

#include <algorithm>

namespace aster::stage {
namespace {

// Turns are tried if more than this share of a round is waiting, which turns may hide.
constexpr double kWorthTrying = 0.125;
// Turns are kept if a round takes less than this share of its time in one frame (more than noise).
constexpr double kWorthwhile = 0.97;

template <size_t kCount>
int64_t MedianOf(std::array<int64_t, kCount> times) {
  std::ranges::nth_element(times, times.begin() + kCount / 2);
  return times[kCount / 2];
}

}  // namespace

size_t TwoBatchOverlap::MostInFrame(size_t answers, size_t in_flight) const {
  if (IsOverlapping(answers)) return (answers + 1) / 2;
  return in_flight > 0 ? 0 : answers;
}

void TwoBatchOverlap::Learn(const Frame& frame) {
  if (frame.answers < 2) return;
  // A round ends when all answers have had a frame.
  Ways& ways = WaysOf(frame.answers);
  ways.own += frame.own;
  ways.took_ns += frame.took_ns;
  ways.waited_ns += frame.waited_ns;
  if (ways.own < frame.answers) return;
  EndRound(ways);
}

void TwoBatchOverlap::EndRound(Ways& ways) {
  const size_t place = ways.rounds++ % kRounds;
  ways.took[place] = ways.took_ns;
  ways.waited[place] = ways.waited_ns;
  ways.own = 0;
  ways.took_ns = ways.waited_ns = 0;
  if (ways.is_tried) {
    if (ways.rounds <= kRounds) return;
    const int64_t took_ns = MedianOf(ways.took);
    // Turns have to be better, and one frame no worse.
    const bool is_better =
        ways.in_two
            ? static_cast<double>(took_ns) < kWorthwhile * static_cast<double>(ways.other_ns)
            : kWorthwhile * static_cast<double>(took_ns) <= static_cast<double>(ways.other_ns);
    if (!is_better) {
      ways.patience = std::min(2 * ways.patience, kMostRounds);
      return Switch(ways, /*is_tried=*/false, took_ns);
    }
    ways.patience = kFewestRounds;
    ways.is_tried = false;
    return;
  }
  // The first time it is tried as soon as this way is known.
  const bool is_due = ways.rounds > (ways.other_ns == 0 ? kRounds : ways.patience);
  if (!is_due) return;
  const int64_t took_ns = MedianOf(ways.took);
  const bool is_worth_trying = ways.in_two || static_cast<double>(MedianOf(ways.waited)) >
                                                  kWorthTrying * static_cast<double>(took_ns);
  if (is_worth_trying) Switch(ways, /*is_tried=*/true, took_ns);
}

void TwoBatchOverlap::Switch(Ways& ways, bool is_tried, int64_t other_ns) {
  ways.in_two = !ways.in_two;
  ways.is_tried = is_tried;
  ways.other_ns = other_ns;
  ways.rounds = 0;
}

}  // namespace aster::stage
