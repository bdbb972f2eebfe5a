// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/draft_pace.h"

#include <algorithm>
#include <cmath>

namespace aster::conduct {
namespace {

// The weight of what was seen before, when a draft token is checked.
constexpr double kMemory = 0.97;
// What draft tokens must bring to be worth it: times are never known exactly.
constexpr double kLeastGain = 1.02;
constexpr double kSurest = 0.98;
// Between two tries of something else: twice as many decisions each time that nothing has changed.
constexpr uint32_t kShortestPause = 16;
constexpr uint32_t kLongestPause = 512;
// At least this many times as long passes as a try takes, or loses.
constexpr double kTryShare = 64;
constexpr double kMostPause = 1 << 16;

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
  return frame.round_trip_ns + draft_ns * (step.rows - 1) + held_up_ns;
}

double TokensPerNs(const DraftPace::Step& step, double rate, const FrameTimes::Times& frame,
                   double draft_ns) {
  rate = std::clamp(rate, 0.0, kSurest);
  // From one wrong draft token to the next: the first frame's way, and as many frames as are right
  // in full.
  const bool is_ahead = step.frames > 1;
  const double first_ns =
      FirstNs(step, frame, draft_ns) + (is_ahead ? frame.ahead_gap_ns : frame.gap_ns);
  double next_ns = first_ns;
  if (is_ahead) {
    next_ns = std::max({frame.slowest_ns, frame.round_trip_ns / step.frames, draft_ns * step.rows});
  }
  const double whole = std::pow(rate, step.rows);
  const double frames = whole / (1 - whole);
  return 1 / (1 - rate) / (first_ns + next_ns * frames);
}

// The step with draft tokens that gives the most, and what it gives beside plain decode.
DraftPace::Step DraftPace::BestDrafting(const FrameTimes& times, const Limits& limits,
                                        double& gain) const {
  Step best;
  double most = 0;
  const uint32_t most_frames = std::min(times.FramesInFlight(), limits.most_frames);
  for (uint32_t rows = 1; rows <= std::min(limits.most_rows, limits.most_tokens); ++rows) {
    const FrameTimes::Times frame = times.Of(rows);
    for (uint32_t frames = rows == 1 ? 2 : 1; frames <= most_frames; ++frames) {
      if (rows * frames > limits.most_tokens) break;
      const Step step{.rows = rows, .frames = frames};
      const double speed = TokensPerNs(step, rate(), frame, limits.draft_ns);
      if (speed <= most) continue;
      most = speed;
      best = step;
    }
  }
  gain = most / TokensPerNs({}, rate(), times.Of(1), 0);
  return best;
}

DraftPace::Step DraftPace::Next(const FrameTimes& times, const Limits& limits) {
  if (!times.is_known() || limits.most_tokens < 2) return {};
  double gain = 0;
  const Step best = BestDrafting(times, limits, gain);
  const bool is_drafting = gain > kLeastGain;
  if (is_drafting && was_drafting_) {
    const double least = std::min<double>(kTryShare * (gain - 1), kLongestPause);
    pause_ = std::max(pause_, static_cast<uint32_t>(least));
  }
  if (is_drafting != was_drafting_) {
    was_drafting_ = is_drafting;
    pause_ = kShortestPause;
    since_ = 0;
  } else if (++since_ >= Pause(times, limits)) {
    since_ = 0;
    pause_ = std::min(2 * pause_, kLongestPause);
    return is_drafting ? Step() : best;
  }
  return is_drafting ? best : Step();
}

// Trying stays a small part of the time.
uint32_t DraftPace::Pause(const FrameTimes& times, const Limits& limits) const {
  if (was_drafting_) return pause_;
  const double frames = kTryShare * limits.try_ns / times.Of(1).round_trip_ns;
  return std::max(pause_, static_cast<uint32_t>(std::min(frames, kMostPause)));
}

void DraftPace::Learn(bool is_accepted) {
  rate_.Learn(is_accepted);
  // A text that has become easier is looked at more closely.
  if (is_accepted && !was_drafting_) pause_ = kShortestPause;
}

}  // namespace aster::conduct
