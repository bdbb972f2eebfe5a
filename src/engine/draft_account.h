// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What draft tokens have saved so far less what they have cost, in steps without draft tokens, so
// that what they may lose is bounded, whatever times and acceptance rates were taken to be. Must
// not know clocks, nor drafters.
#pragma once

#include <cstdint>

namespace aster::engine {

// A pure function of what it was told. Not for concurrent use.
class DraftAccount {
 public:
  // Of the time without draft tokens, what is lent for trying them: the most that they can lose in
  // the long run.
  static constexpr double kLent = 0.01;

  // Steps without draft tokens were taken.
  void Lend(uint32_t steps) { Add(kLent * steps, 0); }
  // So many tokens more came than steps without draft tokens would have given in that time, or
  // less. `beginning`: what it costs that a drafter reads a text that it has not seen.
  void Add(double gain, double beginning);
  // Whether so much may be lost.
  bool CanPay(double cost) const { return credit_ > cost; }
  // Steps without draft tokens until so much may be lost, at least.
  uint32_t StepsUntilItCanPay(double cost) const;
  // So much that tries need not become rarer.
  bool has_plenty() const { return credit_ > kPlenty; }

 private:
  static constexpr double kLentAtFirst = 4;
  static constexpr double kPlenty = 2;
  // What draft tokens have saved is not kept for ever: a text that has become harder may cost this
  // many steps, and the beginnings of a few answers.
  static constexpr double kMost = 16;
  static constexpr double kMostBeginnings = 4;

  double credit_ = kLentAtFirst;
};

}  // namespace aster::engine
