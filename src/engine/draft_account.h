// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How much time draft tokens may lose: what they have saved minus what they have cost, plus a small
// loan. Nothing is drafted that could cost more than the balance if all drafts were wrong, so
// drafts lose at most the loan. Must not know what steps are, nor who drafts.
#pragma once

#include <algorithm>

namespace aster::engine {

// The unit is the duration of a step without draft tokens. Not for concurrent use.
class DraftAccount {
 public:
  // After steps without draft tokens: a small part of their time is lent for trying drafts.
  void AddPlain(double steps) { Add(kLossShare * steps); }
  // After a step with draft tokens, which gave `tokens` tokens in the time of `steps` steps
  // without. Savings are capped, but not below `most`.
  void AddDrafted(double tokens, double steps, double most = 0) { Add(tokens - steps, most); }

  double credit() const { return credit_; }
  // Whether a step may take this much longer than one without draft tokens and give no more.
  bool CanPay(double loss) const { return credit_ >= std::max(loss, 0.0); }
  // Steps without draft tokens until it can.
  double StepsUntil(double loss) const { return std::max(0.0, (loss - credit_) / kLossShare); }

 private:
  // Drafts lose at most this part of the time in the long run, plus this number of steps at first.
  static constexpr double kLossShare = 0.01;
  static constexpr double kInitialCredit = 8;
  // The savings to keep for a text that becomes harder to draft.
  static constexpr double kMost = 16;

  void Add(double gain, double most = 0) {
    credit_ = std::min(credit_ + gain, std::max({kMost, most, credit_}));
  }

  double credit_ = kInitialCredit;
};

}  // namespace aster::engine
