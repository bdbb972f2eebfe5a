// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/draft_pace.h"

#include <algorithm>
#include <cmath>

namespace aster::conduct {
namespace {

// The factor by which earlier observations count less with each checked draft token.
constexpr double kMemory = 0.97;
// The least gain for which tokens are drafted: times are never known exactly.
constexpr double kLeastGain = 1.02;
constexpr double kHighestRate = 0.98;
// Decisions between two trials of the alternative; doubled each time that nothing has changed.
constexpr uint32_t kShortestPause = 16;
constexpr uint32_t kLongestPause = 512;
// The time between two trials is at least this many times what a trial takes or loses.
constexpr double kTryShare = 64;
constexpr double kMostPause = 1 << 16;
// Plain frames for which a decision holds while no draft token is checked: comparing all steps
// takes microseconds, which matter for small models.
constexpr uint32_t kSettled = 7;

}  // namespace

void AcceptanceRate::Learn(bool is_accepted) {
  accepted_ = kMemory * accepted_ + (is_accepted ? 1 : 0);
  checked_ = kMemory * checked_ + 1;
}

double FirstNs(const DraftPace::Step& step, const FrameTimes::Times& frame, double draft_ns) {
  const double held_up_ns =
      step.frames > 1 ? std::clamp(step.frames * frame.before_last_ns - frame.round_trip_ns, 0.0,
                                   frame.before_last_ns)
                      : 0;
  // While this thread drafts for the next frames, it cannot handle the first one's result.
  const double ahead_ns = draft_ns * step.rows * (step.frames - 1);
  return draft_ns * (step.rows - 1) + std::max(frame.round_trip_ns + held_up_ns, ahead_ns);
}

double WrongNs(const DraftPace::Step& step, const FrameTimes::Times& frame, double draft_ns) {
  return FirstNs(step, frame, draft_ns) + (step.frames > 1 ? frame.ahead_gap_ns : frame.gap_ns);
}

double NextNs(const DraftPace::Step& step, const FrameTimes::Times& frame, double draft_ns) {
  if (step.frames <= 1) return WrongNs(step, frame, draft_ns);
  return std::max({frame.slowest_ns, frame.round_trip_ns / step.frames, draft_ns * step.rows});
}

double TokensPerNs(const DraftPace::Step& step, double rate, const FrameTimes::Times& frame,
                   double draft_ns) {
  rate = std::clamp(rate, 0.0, kHighestRate);
  // A run lasts from one wrong draft token to the next: its first frame, then the expected number
  // of frames whose draft tokens are all right.
  const double whole = std::pow(rate, step.rows);
  const double frames = whole / (1 - whole);
  const double run_ns = WrongNs(step, frame, draft_ns) + NextNs(step, frame, draft_ns) * frames;
  return 1 / (1 - rate) / run_ns;
}

// The step with draft tokens and the highest gain, among those that lose at most `most_loss` if the
// draft tokens are wrong.
DraftPace::Choice DraftPace::BestDrafting(const FrameTimes& times, const Limits& limits) const {
  Choice best;
  const FrameTimes::Times one = times.Of(1);
  const double plain_ns = WrongNs({}, one, 0);
  const double most_ns = plain_ns * (1 + limits.most_loss);
  const uint32_t most_frames = std::min(times.FramesInFlight(), limits.most_frames);
  for (uint32_t rows = 1; rows <= std::min(limits.most_rows, limits.most_tokens); ++rows) {
    const FrameTimes::Times frame = times.Of(rows);
    for (uint32_t frames = rows == 1 ? 2 : 1; frames <= most_frames; ++frames) {
      if (rows * frames > limits.most_tokens) break;
      const Step step{.rows = rows, .frames = frames};
      const double gain = TokensPerNs(step, rate(), frame, limits.draft_ns) * plain_ns;
      const double wrong_ns =
          limits.begin_ns + WrongNs(step, frame, limits.draft_ns) + frame.unseen_ns;
      if (gain <= best.gain || wrong_ns > most_ns) continue;
      best = {.step = step, .gain = gain};
    }
  }
  return best;
}

DraftPace::Step DraftPace::Next(const FrameTimes& times, const Limits& limits) {
  if (!times.is_known() || limits.most_tokens < 2) return {};
  if (settled_ > 0) {
    --settled_;
    ++since_;
    return {};
  }
  const Choice best = BestDrafting(times, limits);
  const bool is_drafting = best.gain > kLeastGain;
  // The more drafting gains, the more rarely plain decode is tried.
  if (is_drafting && was_drafting_) {
    const double least = std::min<double>(kTryShare * (best.gain - 1), kLongestPause);
    pause_ = std::max(pause_, static_cast<uint32_t>(least));
  }
  // After a pause, tries the alternative once, so that its times and the acceptance rate are known.
  const uint32_t pause = Pause(times, limits);
  if (is_drafting != was_drafting_) {
    was_drafting_ = is_drafting;
    pause_ = kShortestPause;
    since_ = 0;
  } else if (++since_ >= pause && best.step != Step()) {
    since_ = 0;
    pause_ = std::min(2 * pause_, kLongestPause);
    return is_drafting ? Step() : best.step;
  }
  if (is_drafting) return best.step;
  settled_ = std::min(kSettled, pause - std::min(pause, since_ + 1));
  return {};
}

// Decisions until the next trial, so that trials take a small part of the time.
uint32_t DraftPace::Pause(const FrameTimes& times, const Limits& limits) const {
  if (was_drafting_) return pause_;
  const double frames = kTryShare * limits.try_ns / times.Of(1).round_trip_ns;
  return std::max(pause_, static_cast<uint32_t>(std::min(frames, kMostPause)));
}

void DraftPace::Learn(bool is_accepted) {
  rate_.Learn(is_accepted);
  settled_ = 0;
  // Draft tokens are right again: tries sooner.
  if (is_accepted && !was_drafting_) pause_ = kShortestPause;
}

}  // namespace aster::conduct
