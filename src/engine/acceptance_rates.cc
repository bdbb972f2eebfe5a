// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/acceptance_rates.h"

#include <algorithm>

#include "base/check.h"

namespace aster::engine {
namespace {

// Longer drafts get another chance: with each draft, the rates of places after it move a little
// towards that of the place before.
constexpr float kForget = 0.005F;
// The initial rate counts as this many draft tokens.
constexpr float kExpectedFor = 4;

}  // namespace

float AcceptanceRates::At(uint32_t place) const { return rates_[std::min(place, seen_ - 1)]; }

void AcceptanceRates::Learn(uint32_t drafted, uint32_t accepted) {
  DCHECK(accepted <= drafted && drafted <= kMostDrafts);
  for (uint32_t place = 0; place < accepted; ++place) LearnAt(place, true);
  if (accepted < drafted) LearnAt(accepted, false);
  for (uint32_t place = std::max(drafted, 1u); place < seen_; ++place)
    rates_[place] += kForget * (rates_[place - 1] - rates_[place]);
}

void AcceptanceRates::LearnAt(uint32_t place, bool is_accepted) {
  if (place == seen_) {
    rates_[place] = At(place);
    ++seen_;
  }
  ++counts_[place];
  const float newest_weight =
      std::max(newest_weight_, 1 / (kExpectedFor + static_cast<float>(counts_[place])));
  rates_[place] += newest_weight * ((is_accepted ? 1.0F : 0.0F) - rates_[place]);
}

}  // namespace aster::engine
