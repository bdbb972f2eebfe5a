// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "plan/turn_changes.h"

namespace aster::plan {

bool TurnChanges::Observe(const TurnOffer& offer) {
  const double gain_s = offer.current_s - offer.best_s;
  if (gain_s < kLeastGain * offer.current_s) return false;
  lost_s_ += gain_s;
  if (lost_s_ <= offer.change_s) return false;
  lost_s_ = 0;
  return true;
}

}  // namespace aster::plan
