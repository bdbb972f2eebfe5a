// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whether speculative decoding saves time: the duration of a step by its number of draft tokens,
// learnt from all answers of one scheduler. Must not know clocks, nor drafters.
#pragma once

#include <array>
#include <cstdint>

#include "engine/acceptance_rates.h"
#include "engine/draft_account.h"
#include "engine/proposer.h"

namespace aster::engine {

// Before anything is known.
inline constexpr float kAcceptanceAtFirst = 0.8F;

// A pure function of what it was told. Not for concurrent use.
class DraftTimes {
 public:
  // Of an answer, before its first step.
  void Begin() { BeginRun(/*is_behind_drafts=*/false); }

  // A step that checked `drafts` draft tokens gave `tokens` and took `duration_ns`, drafting and
  // the other requests' work included. A time that is not positive counts as the shortest.
  void Learn(uint32_t drafts, uint32_t tokens, int64_t duration_ns);
  // Steps without draft tokens, one behind the other.
  void LearnPlain(uint32_t steps, int64_t duration_ns);
  // That the drafter was asked in vain, for so long, before a step without draft tokens.
  void LearnInVain(int64_t duration_ns);
  // The same for the first step with drafts after steps without: the drafter read the text in
  // between. It says what beginning costs, not what steps with drafts take.
  void LearnCatchUp(uint32_t tokens, int64_t duration_ns);

  // The number of drafts, up to `most`, with the highest throughput, where they are accepted with
  // these probabilities; 0 where none gain, or where drafts could lose more than a small part of
  // the time, what they have lost so far included. `begins`: the drafter has text to read first.
  // Now and then it is the other choice, drafting or not, so that times that have changed are
  // noticed.
  uint32_t Best(uint32_t most, const AcceptanceRates& rates, bool begins);

  // After Best said 0: steps without draft tokens that it would say 0 for as well, or nearly.
  uint32_t StepsWithoutDrafts() const;

  // The acceptance rates of all answers lately, with which a new one begins.
  const AcceptanceRates& rates() const { return rates_; }
  void LearnRates(uint32_t drafted, uint32_t accepted) { rates_.Learn(drafted, accepted); }

 private:
  // The weight of the last draft in the acceptance rates of all answers.
  static constexpr float kNews = 0.03F;

  // The median of the last few steps: one that was held up counts for nothing.
  class Typical {
   public:
    void Add(double value);
    bool is_known() const { return count_ > 0; }
    // Of a single step it is not known whether it was held up.
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
    double gain = 0;  // tokens beside those of steps without, in the same time
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
  void SpreadTries(double gain);
  bool IsTimeToTry(bool is_drafting);

  std::array<Typical, kMostDrafts + 1> steps_;  // by number of drafts
  uint32_t plain_run_ = 0;                      // steps without drafts, one behind the other
  bool is_behind_drafts_ = false;               // the first of them
  bool was_drafting_ = true;                    // what was best the last time
  uint32_t pause_ = 0;                          // decisions between two tries of the other way
  uint32_t since_ = 0;                          // decisions since the last
  uint32_t tries_left_ = 0;
  uint32_t confirmed_ = 0;  // tries that changed nothing, of the first few
  Typical catch_up_;
  bool has_begun_ = false;
  Typical in_vain_;
  DraftAccount account_;
  double lacks_ = 0;  // steps without drafts until the account can pay for any, as Best saw it
  AcceptanceRates rates_{kAcceptanceAtFirst, kNews};
};

using DraftTimesByKind = std::array<DraftTimes, 4>;  // of DraftKind

}  // namespace aster::engine
