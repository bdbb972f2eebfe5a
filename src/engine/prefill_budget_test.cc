// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/prefill_budget.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/clock.h"

namespace aster::engine {
namespace {

constexpr int64_t kLongestNs = 750 * kNsPerMs;

// Runs steps that take `ms` for a number of tokens; returns the last step's milliseconds.
int64_t RunSteps(PrefillBudget& budget, int steps, const std::function<int64_t(uint32_t)>& ms) {
  int64_t last_ms = 0;
  for (int step = 0; step < steps; ++step) {
    const uint32_t tokens = budget.tokens();
    last_ms = ms(tokens);
    budget.Note(tokens, last_ms * kNsPerMs);
  }
  return last_ms;
}

TEST(PrefillBudget, AFastModelComputesAllItMayBehindItsFirstStep) {
  PrefillBudget budget(256, kLongestNs);
  EXPECT_EQ(budget.tokens(), 16u);
  RunSteps(budget, 1, [](uint32_t tokens) { return tokens * 2; });
  EXPECT_EQ(budget.tokens(), 256u);
  RunSteps(budget, 50, [](uint32_t tokens) { return tokens * 2; });
  EXPECT_EQ(budget.tokens(), 256u);
}

TEST(PrefillBudget, WithoutALongestTimeNothingChanges) {
  PrefillBudget budget(100, 0);
  RunSteps(budget, 50, [](uint32_t tokens) { return tokens * 1000; });
  EXPECT_EQ(budget.tokens(), 100u);
}

TEST(PrefillBudget, ASlowModelHasShortStepsSoon) {
  PrefillBudget budget(256, kLongestNs);
  // Ten seconds for a full step.
  const auto slow = [](uint32_t tokens) { return tokens * 40; };
  EXPECT_LE(RunSteps(budget, 1, slow), 750);
  EXPECT_LE(RunSteps(budget, 3, slow), 750);
  EXPECT_EQ(budget.tokens(), 16u);
  // The budget stays there.
  EXPECT_LE(RunSteps(budget, 500, slow), 750);
  EXPECT_EQ(budget.tokens(), 16u);
}

TEST(PrefillBudget, IsAsLargeAsItsTimeAllows) {
  PrefillBudget budget(256, kLongestNs);
  RunSteps(budget, 20, [](uint32_t tokens) { return tokens * 10; });
  EXPECT_EQ(budget.tokens(), 64u);
  // The slowdown has ended.
  RunSteps(budget, 20, [](uint32_t tokens) { return tokens; });
  EXPECT_EQ(budget.tokens(), 256u);
}

// If the time of a step hardly depends on its tokens, the second step shows it.
TEST(PrefillBudget, GrowsWhereFewTokensAreExpensive) {
  PrefillBudget budget(256, kLongestNs);
  RunSteps(budget, 2, [](uint32_t tokens) { return 900 + tokens; });
  EXPECT_EQ(budget.tokens(), 256u);
}

// When the budget changes, frames of a route with the earlier budget are in flight.
TEST(PrefillBudget, StepsOfAnEarlierBudgetSayNothing) {
  PrefillBudget budget(256, kLongestNs);
  budget.Note(16, 160 * kNsPerMs);
  EXPECT_EQ(budget.tokens(), 32u);
  budget.Note(16, 1 * kNsPerMs);
  budget.Note(64, 1 * kNsPerMs);
  EXPECT_EQ(budget.tokens(), 32u);
}

TEST(PrefillBudget, StepsThatReadAllWeightsStayLong) {
  PrefillBudget budget(256, kLongestNs);
  const auto from_disk = [](uint32_t tokens) { return 5000 + tokens * 5; };
  uint64_t tokens = 0;
  for (int step = 0; step < 400; ++step) {
    tokens += budget.tokens();
    RunSteps(budget, 1, from_disk);
  }
  // Only a try every now and then is short.
  EXPECT_GT(tokens, uint64_t{385} * 256);
  EXPECT_LT(tokens, uint64_t{400} * 256);
  // When weights come from memory, small steps pay.
  RunSteps(budget, 400, [](uint32_t count) { return count * 10; });
  EXPECT_EQ(budget.tokens(), 64u);
}

TEST(PrefillBudget, StepsThatAreNotFullSayNothing) {
  PrefillBudget budget(256, kLongestNs);
  RunSteps(budget, 3, [](uint32_t tokens) { return tokens; });
  for (int step = 0; step < 10; ++step) budget.Note(20, 10 * kNsPerSecond);
  budget.Note(0, 10 * kNsPerSecond);
  EXPECT_EQ(budget.tokens(), 256u);
}

TEST(PrefillBudget, SmallOnesStayAsTheyAre) {
  PrefillBudget budget(8, kLongestNs);
  RunSteps(budget, 20, [](uint32_t tokens) { return tokens * 1000; });
  EXPECT_EQ(budget.tokens(), 8u);
}

}  // namespace
}  // namespace aster::engine
