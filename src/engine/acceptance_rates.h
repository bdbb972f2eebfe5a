// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Acceptance rates by place in the draft: a block that was trained to draft one token drafts the
// next ones worse. Depends only on what it has learnt.
#pragma once

#include <array>
#include <cstdint>

#include "engine/proposer.h"

namespace aster::engine {

class AcceptanceRates {
 public:
  // `newest_weight` is the weight of the last draft token once there were many; the first ones and
  // the initial rate are averaged.
  AcceptanceRates(float rate, float newest_weight) : newest_weight_(newest_weight) {
    rates_.fill(rate);
  }
  // Continues with the rates of another object, with another weight.
  AcceptanceRates(const AcceptanceRates& others, float newest_weight)
      : newest_weight_(newest_weight),
        rates_(others.rates_),
        counts_(others.counts_),
        seen_(others.seen_) {}

  // The rate of the draft token at `place` (0 for the first), if all before it are accepted. For
  // places that were never checked: that of the last checked one.
  float At(uint32_t place) const;

  // The first `accepted` tokens of a draft were accepted, and the next one was rejected, if there
  // was one. Tokens after that teach nothing.
  void Learn(uint32_t drafted, uint32_t accepted);

 private:
  void LearnAt(uint32_t place, bool is_accepted);

  float newest_weight_;
  std::array<float, kMostDrafts> rates_;
  std::array<uint32_t, kMostDrafts> counts_ = {};  // draft tokens that were checked
  uint32_t seen_ = 1;  // places that were checked; the first one has a rate from the start
};

}  // namespace aster::engine
