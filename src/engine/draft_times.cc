// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/draft_times.h"

#include <algorithm>
#include <span>

namespace aster::engine {
namespace {

// Between two tries of what is not best: twice as many each time that nothing has changed, so that
// what trying costs is soon little, and what has changed is not missed for long.
constexpr uint32_t kShortestPause = 16;
constexpr uint32_t kLongestPause = 512;
// Steps without drafts take at least this many times as long as a try of drafting costs, so that
// trying stays a small part of the time.
constexpr double kTryShare = 64;
constexpr double kMostPause = 1 << 16;
// In the first step of a try the drafter reads the text that it has not seen; that step is not
// counted.
constexpr uint32_t kTrySteps = 2;

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

void DraftTimes::Learn(uint32_t drafts, int64_t duration_ns) {
  if (duration_ns > 0 && drafts <= kMostDrafts)
    steps_[drafts].Add(static_cast<double>(duration_ns));
}

void DraftTimes::LearnCatchUp(int64_t duration_ns) {
  if (duration_ns > 0) catch_up_ns_ = static_cast<double>(duration_ns);
}

// Interpolated between the nearest draft lengths that were timed; beyond the longest, on the line
// from no drafts to it.
double DraftTimes::Duration(uint32_t drafts) const {
  uint32_t below = drafts;
  while (!steps_[below].is_known()) --below;  // none is
  uint32_t above = drafts;
  while (above <= kMostDrafts && !steps_[above].is_known()) ++above;
  if (below == drafts) return steps_[drafts].value();
  if (above > kMostDrafts) {
    above = below;
    below = 0;
  }
  const double first = steps_[below].value();
  const double slope = (steps_[above].value() - first) / (above - below);
  return std::max(first + slope * (drafts - below), 1.0);
}

std::optional<uint32_t> DraftTimes::Best(uint32_t most, float rate) {
  const auto is_known = [](const Typical& step) { return step.is_known(); };
  if (std::none_of(steps_.begin() + 1, steps_.end(), is_known)) return std::nullopt;
  if (!steps_[0].is_known()) return 0;
  uint32_t best = 0;        // of all
  uint32_t best_draft = 0;  // of the lengths above 0
  double best_speed = 0;
  double best_draft_speed = 0;
  double tokens = 0;  // that such a step gives
  double right = 1;   // probability that all drafts so far are accepted
  for (uint32_t drafts = 0; drafts <= std::min(most, kMostDrafts); ++drafts) {
    tokens += right;
    right *= rate;
    const double speed = tokens / Duration(drafts);
    if (speed > best_speed) {
      best_speed = speed;
      best = drafts;
    }
    if (drafts > 0 && speed > best_draft_speed) {
      best_draft_speed = speed;
      best_draft = drafts;
    }
  }
  if (!IsTimeToTry(best > 0)) return best;
  return best > 0 ? 0 : best_draft;
}

// Decisions for what is best between two tries of the other way.
uint32_t DraftTimes::Pause(bool is_drafting) const {
  if (is_drafting || !steps_[0].is_known()) return pause_;
  const double steps = kTryShare * catch_up_ns_ / Duration(0);
  return std::max(pause_, static_cast<uint32_t>(std::min(steps, kMostPause)));
}

bool DraftTimes::IsTimeToTry(bool is_drafting) {
  if (tries_left_ > 0) {
    --tries_left_;
    return true;
  }
  if (is_drafting != was_drafting_ || pause_ == 0) {
    was_drafting_ = is_drafting;
    pause_ = kShortestPause;
    since_ = 0;
    return false;
  }
  if (++since_ < Pause(is_drafting)) return false;
  since_ = 0;
  pause_ = std::min(2 * pause_, kLongestPause);
  tries_left_ = kTrySteps - 1;
  return true;
}

}  // namespace aster::engine
