// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How often draft tokens are accepted, by their place in the draft: a block that was trained to
// draft one token drafts the next ones worse. A pure function of what it was told.
#pragma once

#include <array>
#include <cstdint>

#include "engine/proposer.h"

namespace aster::engine {

class AcceptanceRates {
 public:
  // `news` is the weight of the last draft token, once there were many: of the first ones, and of
  // what was expected before them, it is an average.
  AcceptanceRates(float rate, float news) : news_(news) { rates_.fill(rate); }
  // What others have learnt, to go on from with another weight.
  AcceptanceRates(const AcceptanceRates& others, float news)
      : news_(news), rates_(others.rates_), counts_(others.counts_), seen_(others.seen_) {}

  // Of the draft token at `place`, 0 for the first, where all before it are accepted. Behind those
  // that were ever checked it is that of the last one.
  float At(uint32_t place) const;

  // Of a draft, the first `accepted` tokens were accepted, and the next one was not, if there was
  // one. Those behind say nothing.
  void Learn(uint32_t drafted, uint32_t accepted);

 private:
  void LearnAt(uint32_t place, bool is_accepted);

  float news_;
  std::array<float, kMostDrafts> rates_;
  std::array<uint32_t, kMostDrafts> counts_ = {};  // of draft tokens that were checked
  uint32_t seen_ = 1;  // places that were checked; of the first one a rate is known at once
};

}  // namespace aster::engine
