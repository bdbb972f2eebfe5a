// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How many draft tokens of an answer are checked in a frame, and how many frames of it are in
// flight at once: chosen together, from what frames take and from how often draft tokens are
// accepted. Must not know frames, nor who drafts.
#pragma once

#include <cstdint>
#include <limits>

#include "conduct/frame_times.h"

namespace aster::conduct {

// The share of draft tokens that are accepted behind accepted ones, of which the newest count most.
class AcceptanceRate {
 public:
  // As if a few draft tokens had been seen.
  explicit AcceptanceRate(double rate = 0.6, double weight = 4)
      : accepted_(rate * weight), checked_(weight) {}

  void Learn(bool is_accepted);
  double value() const { return accepted_ / checked_; }

 private:
  double accepted_;
  double checked_;
};

// The pace of one answer. A pure function of what it was told.
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
    double begin_ns = 0;       // what the next draft takes in addition, such as a prefill
    // The most that draft tokens may lose if all are wrong, in units of a token without drafts.
    double most_loss = std::numeric_limits<double>::infinity();
  };

  explicit DraftPace(double rate = 0.6) : rate_(rate) {}

  // The step with the highest throughput; now and then another one, so that changes are noticed.
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
  uint32_t pause_ = 16;   // decisions between two tries of the slower alternative
  uint32_t since_ = 0;    // decisions since the last try
  uint32_t settled_ = 0;  // decisions to come that stay at plain decode, unless Learn is called
};

// From the first frame behind a wrong draft token until it is back, with those behind it.
double FirstNs(const DraftPace::Step& step, const FrameTimes::Times& frame, double draft_ns);
// From a frame with draft tokens of which the first is wrong until the next frame.
double WrongNs(const DraftPace::Step& step, const FrameTimes::Times& frame, double draft_ns);
// From a frame with draft tokens that are right until the next one is back.
double NextNs(const DraftPace::Step& step, const FrameTimes::Times& frame, double draft_ns);
// Throughput in tokens per nanosecond. With n frames in flight, an answer comes each nth part of a
// round trip; a wrong draft token costs a whole round trip, and the time in which frames behind it
// are still computed.
double TokensPerNs(const DraftPace::Step& step, double rate, const FrameTimes::Times& frame,
                   double draft_ns);

}  // namespace aster::conduct
