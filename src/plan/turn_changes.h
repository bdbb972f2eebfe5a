// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Decides before each turn of a conversation whether another plan computes it. The plan changes
// only once turns have lost as much time without the change as it costs. Must not know the contents
// of plans, nor nodes.
#pragma once

namespace aster::plan {

struct TurnOffer {
  double current_s = 0;  // time of the turn with the present plan; infinite: it cannot compute it
  double best_s = 0;     // time with the best plan
  double change_s = 0;   // until the best plan has its weights and the KV rows of earlier turns
};

// Belongs to one conversation. The same offers give the same decisions.
class TurnChanges {
 public:
  // The least gain, as a part of a turn's time: predictions are not exact.
  static constexpr double kLeastGain = 0.15;

  // Returns whether the best plan takes over for this turn; the caller must carry that out. Over
  // all turns, changes cost no more than was gained by them or lost without them.
  bool Observe(const TurnOffer& offer);

 private:
  double lost_s_ = 0;  // time that turns lost since the last change
};

}  // namespace aster::plan
