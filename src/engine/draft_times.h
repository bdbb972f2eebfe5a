// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whether guesses save time: what steps take by how many guesses are checked in them, learnt from
// all answers that one place gives. Must not know clocks, nor who guesses.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "engine/proposer.h"

namespace aster::engine {

// A pure function of what it was told. Not for concurrent use.
class DraftTimes {
 public:
  // A step in which so many guesses were checked took so long, the guessing and all that others had
  // computed beside it included. Times that are not positive say nothing.
  void Learn(uint32_t drafts, int64_t duration_ns);
  // The first step with guesses after some without took so long: whoever guesses caught up with the
  // text. It says what a try costs, and not what such steps take.
  void LearnCatchUp(int64_t duration_ns);

  // How many guesses, up to `most`, bring tokens fastest, where a guess behind right ones is right
  // `rate` times of one. Now and then it is the other way, without guesses or with some, lest
  // times that have changed are never seen. Nothing where no step with guesses was timed.
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

  std::array<Typical, kMostDrafts + 1> steps_;  // by guesses
  bool was_drafting_ = true;                    // what was best the last time
  uint32_t pause_ = 0;                          // decisions between two tries of the other way
  uint32_t since_ = 0;                          // decisions since the last
  uint32_t tries_left_ = 0;
  double catch_up_ns_ = 0;  // the last one; 0: none was seen
};

using DraftTimesByKind = std::array<DraftTimes, 4>;  // of DraftKind

}  // namespace aster::engine
