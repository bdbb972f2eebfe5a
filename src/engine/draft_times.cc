// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/draft_times.h"

#include <algorithm>
#include <span>
#include <utility>

namespace aster::engine {
namespace {

// Decisions between two tries of the other choice: doubled each time that nothing has changed, so
// that tries soon cost little, and a change is not missed for long.
constexpr uint32_t kShortestPause = 16;
constexpr uint32_t kLongestPause = 512;
// Drafting has to gain this much, as times are never exact.
constexpr double kLeastGain = 1.02;
// Savings are kept for beginning this number of answers.
constexpr double kMostBeginnings = 4;
// With more credit than this, the pause between tries does not grow.
constexpr double kEnough = 4;
// In the first step of a try the drafter reads the text that it has not seen; that step is not
// counted.
constexpr uint32_t kTrySteps = 2;
// After a prompt, and after steps with drafts, the first steps without drafts take up to twice as
// long as later ones. They are not counted, or drafts would seem to save time that they do not.
constexpr uint32_t kColdSteps = 5;
constexpr uint32_t kPlainTrySteps = kColdSteps + 3;
// The pause between tries is at least this many times the time that a try loses. If drafting is
// best, this holds from the third try on: the machine may have been slow for a moment when steps
// without drafts were timed first.
constexpr double kTryShare = 64;
constexpr uint32_t kEarlyTries = 2;
constexpr uint32_t kEarlyPause = 4;  // until the first of them
// The most that each draft token beyond the longest timed draft is assumed to take, as part of a
// step without drafts. In a mixture of experts the second row may take far more than later ones, as
// it chooses other experts, and later rows add fewer and fewer of them. So the times of short
// drafts must not rule out long ones; one of these is soon tried and timed.
constexpr double kFurtherRow = 0.3;
// The assumed cost of one draft token if it is not known: that of a step.
constexpr double kFirstLoss = 1;
// Numbers of consecutive steps without drafts: enough to time one, and long enough that the time
// between two runs hardly matters.
constexpr uint32_t kFewSteps = 4;
constexpr uint32_t kFirstSteps = 16;
constexpr uint32_t kManySteps = 128;

}  // namespace

void DraftTimes::Typical::Add(double value) {
  last_[next_] = value;
  next_ = (next_ + 1) % kLast;
  count_ = std::min(count_ + 1, kLast);
}

// Of two, the shorter one: nothing makes a step too short.
double DraftTimes::Typical::value() const {
  const std::span known = std::span(last_).first(count_);
  for (const double candidate : known) {
    const auto below =
        std::ranges::count_if(known, [=](double other) { return other < candidate; });
    const auto equal = std::ranges::count(known, candidate);
    const auto middle = static_cast<std::ptrdiff_t>(count_ - 1) / 2;
    if (below <= middle && middle < below + equal) return candidate;
  }
  return 0;  // nothing is known
}

void DraftTimes::Learn(uint32_t drafts, uint32_t tokens, int64_t duration_ns) {
  if (drafts > kMostDrafts) return;
  if (drafts == 0) return LearnPlain(1, duration_ns);
  BeginRun(/*is_behind_drafts=*/true);
  // If the clock does not advance, all steps take the same.
  steps_[drafts].Add(static_cast<double>(std::max<int64_t>(duration_ns, 1)));
  Settle(tokens, Duration(drafts));
}

// If another node decodes, drafts pay for the way there and back, as it is only asked for them:
// once the time of a step is known from a long run, a short run's excess is charged to drafts.
void DraftTimes::LearnPlain(uint32_t steps, int64_t duration_ns) {
  if (steps == 0) return;
  const double run_ns = static_cast<double>(std::max<int64_t>(duration_ns, 1));
  const double known_ns = steps * steps_[0].value();
  account_.AddPlain(steps);
  since_ += steps - 1;
  tries_left_ -= std::min(tries_left_, steps - 1);
  if (1 < steps && steps < kManySteps / 2 && steps_[0].is_sure() && run_ns > known_ns) {
    return Settle(0, std::min(run_ns - known_ns, known_ns));
  }
  plain_run_ = std::min(plain_run_ + steps, kColdSteps + 1);
  if (plain_run_ <= kColdSteps) {
    // If they follow drafts, their excess is charged to these.
    if (is_behind_drafts_) Settle(0, std::clamp(run_ns - known_ns, 0.0, known_ns));
    return;
  }
  const uint32_t times = steps < kFirstSteps ? 1 : 3;
  for (uint32_t i = 0; i < times; ++i) steps_[0].Add(run_ns / steps);
}

void DraftTimes::LearnEmptyProposal(int64_t duration_ns) {
  empty_proposal_.Add(static_cast<double>(std::max<int64_t>(duration_ns, 0)));
  Settle(0, empty_proposal_.value());
}

uint32_t DraftTimes::StepsWithoutDrafts() const {
  if (!steps_[0].is_sure()) return kFirstSteps;
  if (lacks_ > kFewSteps) return static_cast<uint32_t>(std::min<double>(lacks_, kManySteps));
  if (was_drafting_) return kFewSteps;
  return std::clamp(pause_ - std::min(since_, pause_), 1u, kManySteps);
}

void DraftTimes::LearnCatchUp(uint32_t tokens, int64_t duration_ns) {
  // The very first one also allocated the drafter's memory, which is not repeated.
  BeginRun(/*is_behind_drafts=*/true);
  if (!std::exchange(has_begun_, true)) return;
  catch_up_.Add(static_cast<double>(std::max<int64_t>(duration_ns, 1)));
  Settle(tokens, catch_up_.value());
}

void DraftTimes::Settle(double tokens, double duration_ns) {
  if (!steps_[0].is_known()) return;
  account_.AddDrafted(tokens, duration_ns / Duration(0), kMostBeginnings * BeginningCost());
}

// The unit is steps without drafts.
double DraftTimes::BeginningCost() const {
  if (!catch_up_.is_known() || !steps_[0].is_known()) return 0;
  return std::max(0.0, catch_up_.value() / Duration(0) - 1);
}

// Beyond the timed draft lengths, each draft token may cost as much as the timed ones did.
double DraftTimes::MostDuration(uint32_t drafts) const {
  uint32_t longest = kMostDrafts;
  while (longest > 0 && !steps_[longest].is_known()) --longest;
  if (drafts <= longest) return Duration(drafts);
  const double none = steps_[0].value();
  const double each = longest == 0 ? kFirstLoss * none : (Duration(longest) - none) / longest;
  return none + drafts * std::max(each, 0.0);
}

// The loss if all drafts are wrong.
double DraftTimes::MostLoss(uint32_t drafts, bool begins) const {
  const double loss = MostDuration(drafts) / Duration(0) - 1;
  return begins ? std::max(loss, BeginningCost()) : loss;
}

bool DraftTimes::CanPayFor(uint32_t drafts, bool begins) const {
  return account_.CanPay(MostLoss(drafts, begins));
}

// Interpolated between the nearest timed draft lengths; beyond the longest, on the line from no
// drafts to it, or less steep.
double DraftTimes::Duration(uint32_t drafts) const {
  uint32_t below = drafts;
  while (!steps_[below].is_known()) --below;  // there is a time for none
  uint32_t above = drafts;
  while (above <= kMostDrafts && !steps_[above].is_known()) ++above;
  if (below == drafts) return steps_[drafts].value();
  const double first = steps_[below].value();
  if (above > kMostDrafts) {
    const double none = steps_[0].value();
    const double slope = std::min((first - none) / below, kFurtherRow * none);
    return std::max(first + slope * (drafts - below), 1.0);
  }
  const double slope = (steps_[above].value() - first) / (above - below);
  return std::max(first + slope * (drafts - below), 1.0);
}

// The best number of drafts that the account can pay for.
DraftTimes::Choice DraftTimes::BestDrafting(uint32_t most, const AcceptanceRates& rates,
                                            bool begins) const {
  Choice best;
  double tokens = 1;  // of such a step
  double right = 1;   // probability that all drafts so far are accepted
  for (uint32_t drafts = 1; drafts <= most; ++drafts) {
    right *= rates.At(drafts - 1);
    tokens += right;
    const double gain = tokens * Duration(0) / Duration(drafts);
    if (gain <= best.gain || !CanPayFor(drafts, begins)) continue;
    best = {.drafts = drafts, .gain = gain};
  }
  return best;
}

uint32_t DraftTimes::Best(uint32_t most, const AcceptanceRates& rates, bool begins) {
  if (!steps_[0].is_sure()) return 0;
  most = std::min(most, kMostDrafts);
  lacks_ = account_.StepsUntil(MostLoss(1, begins));
  // Longer drafts are only tried once the cost of one draft token is known.
  if (!steps_[1].is_sure()) return CanPayFor(1, begins) ? std::min(most, 1u) : 0;
  const Choice best = BestDrafting(most, rates, begins);
  if (best.drafts == 0) {
    ++since_;
    return 0;
  }
  const bool is_drafting = best.gain > kLeastGain;
  if (is_drafting == was_drafting_) ScheduleTrials(best.gain);
  return is_drafting != IsTrialDue(is_drafting) ? best.drafts : 0;
}

// `gain`: that of the best number of drafts.
void DraftTimes::ScheduleTrials(double gain) {
  if (was_drafting_ && confirmed_ < kEarlyTries) return;
  const double loss = was_drafting_ ? kPlainTrySteps * (gain - 1)
                                    : BeginningCost() + kTrySteps * std::max(0.0, 1 / gain - 1);
  pause_ =
      std::max(pause_, static_cast<uint32_t>(std::min<double>(kTryShare * loss, kLongestPause)));
}

bool DraftTimes::IsTrialDue(bool is_drafting) {
  if (tries_left_ > 0) {
    --tries_left_;
    return true;
  }
  if (is_drafting != was_drafting_ || pause_ == 0) {
    was_drafting_ = is_drafting;
    pause_ = is_drafting ? kEarlyPause : kShortestPause;
    since_ = 0;
    confirmed_ = 0;
    return false;
  }
  if (++since_ < pause_) return false;
  since_ = 0;
  confirmed_ = std::min(confirmed_ + 1, kEarlyTries);
  // While there is enough credit to pay for them, tries stay frequent: few draft tokens say little.
  if (is_drafting || account_.credit() < kEnough) pause_ = std::min(2 * pause_, kLongestPause);
  tries_left_ = (is_drafting ? kPlainTrySteps : kTrySteps) - 1;
  return true;
}

}  // namespace aster::engine
