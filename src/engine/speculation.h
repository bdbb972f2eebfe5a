// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Speculative decoding of one answer: asks a drafter for as many draft tokens as have been worth it
// lately, by the acceptance rate and by the time that steps with them take, and counts the accepted
// ones. Must not know who computes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "engine/draft_times.h"
#include "engine/proposer.h"

namespace aster::engine {

struct DraftCounts {
  uint64_t drafted = 0;   // guesses that were checked
  uint64_t accepted = 0;  // of them
  uint64_t steps = 0;     // in which tokens behind the first were computed, with guesses or without

  DraftCounts& operator+=(const DraftCounts& other) {
    drafted += other.drafted;
    accepted += other.accepted;
    steps += other.steps;
    return *this;
  }
  bool operator==(const DraftCounts&) const = default;
};

// How many guesses are worth checking, learnt from how often they were right and, where that is
// known, from what steps with them take. A pure function of what it was told.
class DraftLength {
 public:
  // `times`, or null, outlives it.
  explicit DraftLength(uint32_t most, DraftTimes* times = nullptr) : most_(most), times_(times) {}

  // At most `most`; 0 where guesses have been wrong for long or cost more than they give, but for a
  // try now and then.
  uint32_t Next();
  void Learn(uint32_t drafted, uint32_t accepted);

 private:
  uint32_t NextByRate();

  const uint32_t most_;
  DraftTimes* const times_;
  float rate_ = 0.8F;      // of guesses that are right where those before them were
  uint32_t left_out_ = 0;  // steps since the last try
};

// What steps take is the time from one call of Guess to the next. Whoever answers keeps the times
// for all answers: a question seldom is long enough to learn from.
struct DraftWatch {
  const Clock* clock = nullptr;       // both outlive who has them; null: times are not looked at
  DraftTimesByKind* times = nullptr;  // by DraftKind
};

class Speculation {
 public:
  // As many guesses as `draft` says at most.
  Speculation(std::unique_ptr<Proposer> proposer, const DraftOptions& draft, uint32_t vocab_size,
              const DraftWatch& watch = {});

  void Follow(std::span<const int32_t> history, uint32_t begin, std::span<const float> hidden) {
    proposer_->Follow(history, begin, hidden);
  }
  // Up to `room` guesses, all of them tokens. Valid until the next call.
  std::span<const int32_t> Propose(std::span<const int32_t> history, uint32_t room);
  // So many of the guesses that were checked in a step have proved right.
  void Learn(uint32_t drafted, uint32_t accepted);

  const DraftCounts& counts() const { return counts_; }

 private:
  void NoteStep();

  const std::unique_ptr<Proposer> proposer_;
  const uint32_t vocab_size_;
  const Clock* const clock_;  // null: nobody learns from time
  DraftTimes* const times_;   // or null
  DraftLength length_;
  int64_t begin_ns_ = 0;             // of the step that is under way
  std::optional<uint32_t> drafted_;  // what was checked in it, when it is over
  bool was_asked_ = false;           // whether guesses were made for it
  bool was_asked_before_ = false;    // and for the step before it
  std::vector<int32_t> drafts_;
  DraftCounts counts_;
};

// So many rows pass by a weight that is read once, or nearly: a guess among them costs little.
inline constexpr uint32_t kCheapRows = 8;

// The most guesses of answer `index` of `answers` that take a step together. Where these fill the
// step already a guess costs what a token costs, and may be wrong: nobody guesses. One that is
// alone guesses as far as it likes.
inline uint32_t DraftShare(size_t answers, size_t index) {
  if (answers <= 1) return kMostDrafts;
  if (answers >= kCheapRows) return 0;
  const size_t left = kCheapRows - answers;
  return static_cast<uint32_t>(left / answers + (index < left % answers ? 1 : 0));
}

// The guesses that an answer of so many tokens has room for: behind the next one there is the one
// that the model itself adds to them. `left`: tokens that may still come.
inline uint32_t DraftRoom(uint64_t left) {
  return static_cast<uint32_t>(left <= 1 ? 0 : left - 1 < kMostDrafts ? left - 1 : kMostDrafts);
}

}  // namespace aster::engine
