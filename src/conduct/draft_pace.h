// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Chooses how many draft tokens of an answer are checked in a frame, and how many of its frames are
// in flight at once, from the times of frames and the acceptance rate. Must not know frames, nor
// drafters.
#pragma once

#include <cstdint>
#include <limits>

#include "conduct/frame_times.h"

namespace aster::conduct {

// The share of draft tokens after accepted ones that are accepted, too. The newest count most.
class AcceptanceRate {
 public:
  // Begins as if `weight` draft tokens had been seen.
  explicit AcceptanceRate(double rate = 0.6, double weight = 4)
      : accepted_(rate * weight), checked_(weight) {}

  void Learn(bool is_accepted);
  double value() const { return accepted_ / checked_; }

 private:
  double accepted_;
  double checked_;
};

// The pace of one answer. Depends only on the calls of Next and Learn.
class DraftPace {
 public:
  struct Step {
    uint32_t rows = 1;    // of a frame
    uint32_t frames = 1;  // in flight; {1, 1}: no draft tokens
    bool operator==(const Step&) const = default;
  };
  struct Limits {
    uint32_t most_rows = 1;
    uint32_t most_frames = engine::kMostDrafts;
    uint32_t most_tokens = 1;  // in flight: rows of all frames
    double draft_ns = 0;       // time to draft a token on this machine
    double try_ns = 0;         // time of the first draft after a pause
    double begin_ns = 0;       // additional time of the next draft, such as a prefill
    // The longest time that wrong draft tokens may cost, in tokens without drafts.
    double most_loss = std::numeric_limits<double>::infinity();
  };

  explicit DraftPace(double rate = 0.6) : rate_(rate) {}

  // The step with the highest throughput; from time to time the alternative, to notice changes.
  Step Next(const FrameTimes& times, const Limits& limits);
  void Learn(bool is_accepted);
  double rate() const { return rate_.value(); }

 private:
  struct Choice {
    Step step;
    double gain = 0;  // beside plain decode
  };

  Choice BestDrafting(const FrameTimes& times, const Limits& limits) const;
  uint32_t Pause(const FrameTimes& times, const Limits& limits) const;

  AcceptanceRate rate_;
  bool was_drafting_ = true;
  uint32_t pause_ = 16;   // decisions between two trials of the slower alternative
  uint32_t since_ = 0;    // decisions since the last trial
  uint32_t settled_ = 0;  // decisions to come that stay at plain decode, unless Learn is called
};

// From sending the first frame after a wrong draft token until its result, including the time to
// draft.
double FirstNs(const DraftPace::Step& step, const FrameTimes::Times& frame, double draft_ns);
// From a frame whose first draft token is wrong until the next frame.
double WrongNs(const DraftPace::Step& step, const FrameTimes::Times& frame, double draft_ns);
// From the result of a frame whose draft tokens are all right until that of the next frame.
double NextNs(const DraftPace::Step& step, const FrameTimes::Times& frame, double draft_ns);
// Throughput in tokens per nanosecond. With n frames in flight, a result comes every nth part of a
// round trip. A wrong draft token costs a whole round trip, and the time of the frames after it
// that are still computed.
double TokensPerNs(const DraftPace::Step& step, double rate, const FrameTimes::Times& frame,
                   double draft_ns);

}  // namespace aster::conduct
