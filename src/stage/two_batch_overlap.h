// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Decides whether a group computes the next tokens of all answers in one frame, or in two that take
// turns (two-batch overlap): then one is computed while columns of the other travel, but weights
// are read twice. Which is faster depends on links, weights and the number of answers, so both ways
// are tried if the nodes wait for each other. Must not know frames' contents, nor a clock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace aster::stage {

// For one stage. Belongs to the thread that computes.
class TwoBatchOverlap {
 public:
  // How many of `answers` answers the next frame may have at most, while a frame in flight has
  // `in_flight` of them. 0: wait for that frame.
  size_t MostInFrame(size_t answers, size_t in_flight) const;

  struct Frame {
    size_t answers = 0;   // answers of its round, in this frame or another
    size_t own = 0;       // answers in this frame
    int64_t took_ns = 0;  // since the frame before it was done, or since it began
    int64_t waited_ns =
        0;  // part of took_ns: waiting for other nodes with no other frame in flight
  };
  void Learn(const Frame& frame);

  // Whether frames of this number of answers take turns now.
  bool IsOverlapping(size_t answers) const { return answers > 1 && WaysOf(answers).in_two; }

 private:
  // Larger numbers of answers count as this one.
  static constexpr size_t kMostAnswers = 64;
  // Rounds of a trial. The first one does not count: its frames were in flight when it began.
  static constexpr size_t kRounds = 7;
  // Rounds until the other way is tried again; doubled each time that it was no better.
  static constexpr uint32_t kFewestRounds = 256, kMostRounds = 8192;

  struct Ways {
    bool in_two = false;
    bool is_tried = false;  // this way is being tried, and compared with `other_ns`
    int64_t other_ns = 0;   // time of a round in the other way
    uint32_t rounds = 0;    // rounds in this way
    uint32_t patience = kFewestRounds;
    // Of the current round.
    size_t own = 0;
    int64_t took_ns = 0, waited_ns = 0;
    // Of the newest rounds.
    std::array<int64_t, kRounds> took = {};
    std::array<int64_t, kRounds> waited = {};
  };

  Ways& WaysOf(size_t answers) { return ways_[answers < kMostAnswers ? answers : kMostAnswers]; }
  const Ways& WaysOf(size_t answers) const {
    return ways_[answers < kMostAnswers ? answers : kMostAnswers];
  }
  static void EndRound(Ways& ways);
  static void Switch(Ways& ways, bool is_tried, int64_t other_ns);

  std::array<Ways, kMostAnswers + 1> ways_ = {};
};

}  // namespace aster::stage
