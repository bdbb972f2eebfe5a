// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "plan/turn_changes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/random.h"

namespace aster::plan {
namespace {

TEST(TurnChanges, ATurnThatGainsMoreThanTheChangeCostsIsMovedAtOnce) {
  TurnChanges changes;
  EXPECT_TRUE(changes.Observe({.current_s = 60, .best_s = 30, .change_s = 5}));
  // A short question after it keeps the plan: the change would cost more than it gains.
  EXPECT_FALSE(changes.Observe({.current_s = 3, .best_s = 2, .change_s = 5}));
  // A plan that cannot compute the turn is replaced in any case.
  constexpr double kNever = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(changes.Observe({.current_s = kNever, .best_s = 2, .change_s = 100}));
}

TEST(TurnChanges, SmallGainsCountOnlyTogether) {
  TurnChanges changes;
  int turns = 0;
  while (!changes.Observe({.current_s = 3, .best_s = 2, .change_s = 5})) ++turns;
  EXPECT_EQ(turns, 5);
  // A loss below the accuracy of predictions never changes the plan.
  for (int i = 0; i < 1000; ++i)
    EXPECT_FALSE(changes.Observe({.current_s = 3, .best_s = 2.6, .change_s = 0.01}));
}

// A pipeline prefills, one node decodes; texts and questions come in any order. Changes take less
// time than turns would have lost without them, and the total is at most twice that of the better
// plan for all turns, which is not known in advance.
TEST(TurnChanges, NothingOscillatesForLess) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    const double change_s = 0.1 + random.NextDouble() * 20;
    const double share = random.NextDouble();  // of long texts
    TurnChanges changes;
    size_t plan = 0;
    double taken_s = 0, gains_s = 0, moving_s = 0;
    double alone_s[2] = {};
    for (int turn = 0; turn < 200; ++turn) {
      const bool is_long = random.NextDouble() < share;
      const double of_plan_s[2] = {is_long ? 20.0 : 6.0, is_long ? 50.0 : 2.0};
      const size_t best = is_long ? 0 : 1;
      const TurnOffer offer{
          .current_s = of_plan_s[plan], .best_s = of_plan_s[best], .change_s = change_s};
      if (best != plan) gains_s += offer.current_s - offer.best_s;
      if (best != plan && changes.Observe(offer)) {
        plan = best;
        moving_s += change_s;
      }
      taken_s += of_plan_s[plan];
      for (size_t i = 0; i < 2; ++i) alone_s[i] += of_plan_s[i];
    }
    EXPECT_LE(moving_s, gains_s) << seed;
    EXPECT_LE(taken_s + moving_s, 2 * (std::min(alone_s[0], alone_s[1]) + change_s)) << seed;
  }
}

}  // namespace
}  // namespace aster::plan
