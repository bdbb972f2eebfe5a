// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "node/race.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <vector>

namespace aster::node {
namespace {

constexpr int64_t kHourNs = 3600 * kNsPerSecond;

TEST(Race, WhereTheFirstArrivesNoOtherIsTried) {
  SystemClock clock;
  std::atomic<size_t> tried = 0;
  const auto winner = RunRace({.count = 9,
                               .head_start_ns = kHourNs,
                               .attempt =
                                   [&](size_t) {
                                     ++tried;
                                     return Outcome::kArrived;
                                   },
                               .give_up = [](size_t) { FAIL(); }},
                              clock);
  EXPECT_EQ(winner, 0u);
  EXPECT_EQ(tried, 1u);
}

TEST(Race, AllOthersAreTriedAtOnceWhereTheFirstHasFailed) {
  SystemClock clock;
  std::latch all(8);
  const auto winner = RunRace({.count = 9,
                               .head_start_ns = kHourNs,
                               .attempt =
                                   [&](size_t way) {
                                     // No attempt ends before all have begun.
                                     if (way > 0) all.arrive_and_wait();
                                     return Outcome::kFailed;
                                   },
                               .give_up = [](size_t) {}},
                              clock);
  EXPECT_FALSE(winner);
}

TEST(Race, AWayThatHangsIsOvertakenAndGivenUp) {
  SystemClock clock;
  std::vector<std::atomic<bool>> given_up(3);
  const auto winner = RunRace({.count = 3,
                               .head_start_ns = kNsPerMs,
                               .attempt =
                                   [&](size_t way) {
                                     if (way == 2) return Outcome::kArrived;
                                     given_up[way].wait(false);
                                     return Outcome::kFailed;
                                   },
                               .give_up =
                                   [&](size_t way) {
                                     given_up[way] = true;
                                     given_up[way].notify_all();
                                   }},
                              clock);
  EXPECT_EQ(winner, 2u);
  EXPECT_FALSE(given_up[2]);
}

TEST(Race, ARefusalEndsTheRace) {
  SystemClock clock;
  std::atomic<size_t> tried = 0;
  const auto winner = RunRace({.count = 5,
                               .head_start_ns = kHourNs,
                               .attempt =
                                   [&](size_t) {
                                     ++tried;
                                     return Outcome::kRefused;
                                   },
                               .give_up = [](size_t) {}},
                              clock);
  EXPECT_EQ(winner, 0u);
  EXPECT_EQ(tried, 1u);
}

TEST(Race, WithoutWaysThereIsNoWinner) {
  SystemClock clock;
  const Race none{.count = 0, .head_start_ns = 0, .attempt = nullptr, .give_up = nullptr};
  EXPECT_FALSE(RunRace(none, clock));
}

}  // namespace
}  // namespace aster::node
