// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whether a group computes the next tokens of all answers in one frame, or in two that take turns:
// then one is computed while columns of the other travel, and weights are read twice. What is
// faster depends on links, weights and how many answers there are, so both are tried where the
// nodes wait for each other. Only numbers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace aster::stage {

// Of one stage. Belongs to the thread that computes.
class AnswerTurns {
 public:
  // How many of as many answers the next frame has at most, where a frame in flight has some of
  // them. 0: it is waited for.
  size_t MostInFrame(size_t answers, size_t in_flight) const;

  struct Frame {
    size_t answers = 0;     // that took part in its round, in this frame or another
    size_t own = 0;         // of them in this frame
    int64_t took_ns = 0;    // since the frame before it was done, or since it began
    int64_t waited_ns = 0;  // of that, if no other frame was in flight, for other nodes
  };
  void Learn(const Frame& frame);

  // Whether as many answers take turns now.
  bool AreInTurns(size_t answers) const { return answers > 1 && WaysOf(answers).in_two; }

 private:
  // More answers are as many as these.
  static constexpr size_t kMostAnswers = 64;
  // Of a way that is tried: the first round is what is in flight when it begins.
  static constexpr size_t kRounds = 7;
  // Until the other way is tried again; twice as many each time that it was no better.
  static constexpr uint32_t kFewestRounds = 256, kMostRounds = 8192;

  struct Ways {
    bool in_two = false;
    bool is_tried = false;  // the way that is tried is compared with `other_ns`
    int64_t other_ns = 0;   // of a round in the other way
    uint32_t rounds = 0;    // in this way
    uint32_t patience = kFewestRounds;
    // Of the round that is under way.
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
