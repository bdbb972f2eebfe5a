// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whether speculative decoding saves time: the duration of a step by its number of draft tokens,
// learnt from all answers of one scheduler. Must not know clocks, nor drafters.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "engine/proposer.h"

namespace aster::engine {

// A pure function of what it was told. Not for concurrent use.
class DraftTimes {
 public:
  // A step that checked `drafts` draft tokens took `duration_ns`, drafting and the other requests'
  // work included. Times that are not positive are ignored.
  void Learn(uint32_t drafts, int64_t duration_ns);
  // The duration of the first step with drafts after steps without: the drafter read the text in
  // between. It says what a try costs, not what steps with drafts take.
  void LearnCatchUp(int64_t duration_ns);

  // The number of drafts, up to `most`, with the highest throughput, where a draft behind accepted
  // ones is accepted with probability `rate`. Now and then it is the other choice, drafting or not,
  // so that times that have changed are noticed. Nothing where no step with drafts was timed.
  std::optional<uint32_t> Best(uint32_t most, float rate);

 private:
  // The median of the last few steps: one that was held up counts for nothing.
  class Typical {
   public:
    void Add(double value);
    bool is_known() const { return count_ > 0; }
    double value() const;

   private:
    static constexpr uint32_t kLast = 5;
    std::array<double, kLast> last_ = {};
    uint32_t count_ = 0;
    uint32_t next_ = 0;
  };

  double Duration(uint32_t drafts) const;
  bool IsTimeToTry(bool is_drafting);
  uint32_t Pause(bool is_drafting) const;

  std::array<Typical, kMostDrafts + 1> steps_;  // by number of drafts
  bool was_drafting_ = true;                    // what was best the last time
  uint32_t pause_ = 0;                          // decisions between two tries of the other way
  uint32_t since_ = 0;                          // decisions since the last
  uint32_t tries_left_ = 0;
  double catch_up_ns_ = 0;  // the last one; 0: none was seen
};

using DraftTimesByKind = std::array<DraftTimes, 4>;  // of DraftKind

}  // namespace aster::engine
