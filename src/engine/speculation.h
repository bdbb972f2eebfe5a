// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Speculative decoding of one answer: asks a drafter for as many draft tokens as are worth it, by
// the recent acceptance rate and by the time of steps with drafts, and counts the accepted ones.
// Must not know who computes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "engine/draft_times.h"
#include "engine/proposer.h"
#include "model/forward/segment.h"

namespace aster::engine {

struct DraftCounts {
  uint64_t drafted = 0;   // draft tokens that were checked
  uint64_t accepted = 0;  // of them
  uint64_t steps = 0;     // that computed tokens after the first, with drafts or without

  DraftCounts& operator+=(const DraftCounts& other) {
    drafted += other.drafted;
    accepted += other.accepted;
    steps += other.steps;
    return *this;
  }
  bool operator==(const DraftCounts&) const = default;
};

// How many drafts are worth checking, learnt from their acceptance rates and, if it is known, from
// the time of steps with drafts. Depends only on what it has learnt.
class DraftLength {
 public:
  // `times`, or null, outlives it.
  explicit DraftLength(uint32_t most, DraftTimes* times = nullptr)
      : most_(most),
        times_(times),
        rates_(times == nullptr ? AcceptanceRates(kAcceptanceAtFirst, kNewestWeight)
                                : AcceptanceRates(times->rates(), kNewestWeight)) {
    if (times_ != nullptr) times_->Begin();
  }

  // At most `most`; 0 if drafts were rejected for long or cost more than they save, except for a
  // try at times. `begins`: the step before had none.
  uint32_t Next(bool begins = false);
  void Learn(uint32_t drafted, uint32_t accepted);

 private:
  // The weight of the last draft in the acceptance rates of an answer.
  static constexpr float kNewestWeight = 0.12F;

  uint32_t NextByRate();

  const uint32_t most_;
  DraftTimes* const times_;
  AcceptanceRates rates_;
  uint32_t left_out_ = 0;  // steps since the last try
};

// A step's time is that from one call of Propose to the next. The generator keeps the times for all
// answers, as one answer is seldom long enough to learn from.
struct DraftTiming {
  const Clock* clock = nullptr;       // both outlive their users; null: times are not used
  DraftTimesByKind* times = nullptr;  // by DraftKind
};

class Speculation {
 public:
  // At most as many drafts as `draft` says.
  Speculation(std::unique_ptr<Proposer> proposer, const DraftOptions& draft, uint32_t vocab_size,
              const DraftTiming& watch = {});

  Follows follows() const { return proposer_->follows(); }
  void Follow(std::span<const int32_t> history, uint32_t begin, std::span<const float> rows) {
    proposer_->Follow(history, begin, rows);
  }
  // Up to `room` valid draft tokens. Valid until the next call.
  std::span<const int32_t> Propose(std::span<const int32_t> history, uint32_t room);
  // Up to `most` drafts after a text that may end with drafts; the caller decides if they are worth
  // it.
  std::span<const int32_t> Extend(std::span<const int32_t> text, uint32_t most);
  // If Propose had none: steps that may be taken before the next call.
  uint32_t StepsWithoutDrafts() const;
  // `accepted` of the `drafted` tokens that a step checked were accepted. May be called for several
  // consecutive steps without draft tokens.
  void Learn(uint32_t drafted, uint32_t accepted);

  const DraftCounts& counts() const { return counts_; }

 private:
  void NoteStep();
  void RequestDrafts(std::span<const int32_t> text, uint32_t most);

  const std::unique_ptr<Proposer> proposer_;
  const uint32_t vocab_size_;
  const Clock* const clock_;  // null: times are not measured
  DraftTimes* const times_;   // or null
  DraftLength length_;
  int64_t begin_ns_ = 0;             // of the current step
  int64_t asked_ns_ = 0;             // of it, spent by the drafter
  std::optional<uint32_t> drafted_;  // checked in the current step, once it is over
  uint32_t steps_ = 0;               // consecutive steps without drafts in the current one
  uint32_t empty_ = 0;               // times in a row that the drafter had none
  uint32_t accepted_ = 0;            // of drafted_
  bool was_asked_ = false;           // the drafter was asked in the current step
  bool was_asked_before_ = false;    // and in the step before
  std::vector<int32_t> drafts_;
  DraftCounts counts_;
};

// The rows of a segment that its drafter reads, if there is one.
inline model::Wanted RowsWanted(const Speculation* speculation, Follows which) {
  const bool follows = speculation != nullptr && speculation->follows() == which;
  return follows ? model::Wanted::kAll : model::Wanted::kNone;
}
inline model::Wanted HiddenWanted(const Speculation* speculation) {
  return RowsWanted(speculation, Follows::kHidden);
}
inline model::Wanted TappedWanted(const Speculation* speculation) {
  return RowsWanted(speculation, Follows::kTapped);
}

// Up to this many rows share one read of a weight, or nearly: a draft among them costs little.
inline constexpr uint32_t kCheapRows = 8;

// The most drafts of answer `index` of `answers` that share a step. If the answers fill the cheap
// rows, there are none: a draft then costs as much as a token and may be rejected. A single answer
// has no limit.
inline uint32_t DraftShare(size_t answers, size_t index) {
  if (answers <= 1) return kMostDrafts;
  if (answers >= kCheapRows) return 0;
  const size_t left = kCheapRows - answers;
  return static_cast<uint32_t>(left / answers + (index < left % answers ? 1 : 0));
}

// The drafts that an answer has room for: the model itself adds one token after them. `left`:
// tokens that may still come.
inline uint32_t DraftRoom(uint64_t left) {
  return static_cast<uint32_t>(left <= 1 ? 0 : left - 1 < kMostDrafts ? left - 1 : kMostDrafts);
}

}  // namespace aster::engine
