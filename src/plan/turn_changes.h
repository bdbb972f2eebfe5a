// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Decides before each turn of a conversation whether another plan computes it, so that plans follow
// what is asked, and a change is made only once turns have lost as much as it costs. Must not know
// plans' contents, nor nodes.
#pragma once

namespace aster::plan {

struct TurnOffer {
  double current_s = 0;  // that the turn takes with the plan that is there; infinite: it cannot
  double best_s = 0;     // and with the best one
  double change_s = 0;   // until that has its weights, and the KV rows of the turns before
};

// Of one conversation. The same offers give the same decisions.
class TurnChanges {
 public:
  // Less of a turn's time is no reason: predictions are not exact.
  static constexpr double kLeastGain = 0.15;

  // Whether the best plan takes over for this turn. It is taken that it does. Over all turns,
  // changes cost no more than was gained by them or lost without them.
  bool Observe(const TurnOffer& offer);

 private:
  double lost_s_ = 0;  // by turns since the last change
};

}  // namespace aster::plan
