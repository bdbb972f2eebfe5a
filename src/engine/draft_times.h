// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Decides whether speculative decoding saves time: learns the duration of a step by its number of
// draft tokens from all answers of one scheduler. Must not know clocks, nor drafters.
#pragma once

#include <array>
#include <cstdint>

#include "engine/acceptance_rates.h"
#include "engine/draft_account.h"
#include "engine/proposer.h"

namespace aster::engine {

// The acceptance rate before anything is learnt.
inline constexpr float kAcceptanceAtFirst = 0.8F;

// Depends only on what it has learnt. Not for concurrent use.
class DraftTimes {
 public:
  // Begins an answer, before its first step.
  void Begin() { BeginRun(/*is_behind_drafts=*/false); }

  // A step that checked `drafts` draft tokens gave `tokens` and took `duration_ns`, including
  // drafting and the work of other requests. A time that is not positive counts as the shortest.
  void Learn(uint32_t drafts, uint32_t tokens, int64_t duration_ns);
  // Consecutive steps without draft tokens.
  void LearnPlain(uint32_t steps, int64_t duration_ns);
  // The drafter took this time and proposed nothing, before a step without draft tokens.
  void LearnEmptyProposal(int64_t duration_ns);
  // The first step with drafts after steps without: the drafter also read the text in between. This
  // is the cost of beginning, not the time of steps with drafts.
  void LearnCatchUp(uint32_t tokens, int64_t duration_ns);

  // The number of drafts, up to `most`, with the highest throughput at these acceptance rates; 0 if
  // none save time, or if drafts could lose more than a small part of the time, including earlier
  // losses. `begins`: the drafter has text to read first. At times it returns the other choice,
  // drafting or not, to notice times that have changed.
  uint32_t Best(uint32_t most, const AcceptanceRates& rates, bool begins);

  // After Best said 0: for how many steps it would say 0 again, or nearly.
  uint32_t StepsWithoutDrafts() const;

  // The recent acceptance rates of all answers, with which a new answer begins.
  const AcceptanceRates& rates() const { return rates_; }
  void LearnRates(uint32_t drafted, uint32_t accepted) { rates_.Learn(drafted, accepted); }

 private:
  // The weight of the last draft in the acceptance rates of all answers.
  static constexpr float kNewestWeight = 0.03F;

  // The median of the last few steps, so that one that was held up does not matter.
  class Typical {
   public:
    void Add(double value);
    bool is_known() const { return count_ > 0; }
    // A single step may have been held up.
    bool is_sure() const { return count_ > 1; }
    double value() const;

   private:
    static constexpr uint32_t kLast = 5;
    std::array<double, kLast> last_ = {};
    uint32_t count_ = 0;
    uint32_t next_ = 0;
  };

  struct Choice {
    uint32_t drafts = 0;
    double gain = 0;  // tokens relative to steps without drafts in the same time
  };

  void BeginRun(bool is_behind_drafts) {
    plain_run_ = 0;
    is_behind_drafts_ = is_behind_drafts;
  }
  double Duration(uint32_t drafts) const;
  double MostDuration(uint32_t drafts) const;
  void Settle(double tokens, double duration_ns);
  double MostLoss(uint32_t drafts, bool begins) const;
  bool CanPayFor(uint32_t drafts, bool begins) const;
  Choice BestDrafting(uint32_t most, const AcceptanceRates& rates, bool begins) const;
  double BeginningCost() const;
  void ScheduleTrials(double gain);
  bool IsTrialDue(bool is_drafting);

  std::array<Typical, kMostDrafts + 1> steps_;  // by number of drafts
  uint32_t plain_run_ = 0;                      // consecutive steps without drafts
  bool is_behind_drafts_ = false;               // whether a step with drafts came before them
  bool was_drafting_ = true;                    // the best choice of the last time
  uint32_t pause_ = 0;                          // decisions between two tries of the other choice
  uint32_t since_ = 0;                          // decisions since the last try
  uint32_t tries_left_ = 0;
  uint32_t confirmed_ = 0;  // tries that confirmed the choice, up to kEarlyTries
  Typical catch_up_;
  bool has_begun_ = false;
  Typical empty_proposal_;
  DraftAccount account_;
  double lacks_ = 0;  // steps without drafts until the account can pay for drafts
  AcceptanceRates rates_{kAcceptanceAtFirst, kNewestWeight};
};

using DraftTimesByKind = std::array<DraftTimes, 4>;  // of DraftKind

}  // namespace aster::engine
