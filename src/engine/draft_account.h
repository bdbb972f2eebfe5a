// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What draft tokens may lose: what they have saved less what they have cost, with a little lent.
// Nothing is drafted that could cost more than there is, if all of it were wrong: so drafts lose
// what was lent at most, whatever is drafted. Must not know what steps are, nor who drafts.
#pragma once

#include <algorithm>

namespace aster::engine {

// In durations of a step without draft tokens. Not for concurrent use.
class DraftAccount {
 public:
  // Steps without draft tokens: of their time, a little is lent for trying drafts.
  void AddPlain(double steps) { Add(kLent * steps); }
  // One with draft tokens gave so many tokens in the time of `steps` without. What was saved is not
  // kept for ever; `most` of it at least.
  void AddDrafted(double tokens, double steps, double most = 0) { Add(tokens - steps, most); }

  double credit() const { return credit_; }
  // Whether a step may take so much longer than one without draft tokens, and give no more.
  bool CanPay(double loss) const { return credit_ >= std::max(loss, 0.0); }
  // Steps without draft tokens until it can.
  double StepsUntil(double loss) const { return std::max(0.0, (loss - credit_) / kLent); }

 private:
  // In the long run drafts lose this part of the time, at the most; and this many steps at first.
  static constexpr double kLent = 0.01;
  static constexpr double kLentAtFirst = 8;
  // A text that has become harder may cost this many steps.
  static constexpr double kMost = 16;

  void Add(double gain, double most = 0) {
    credit_ = std::min(credit_ + gain, std::max({kMost, most, credit_}));
  }

  double credit_ = kLentAtFirst;
};

}  // namespace aster::engine
