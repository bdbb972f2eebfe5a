// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "discovery/schedule.h"

#include <gtest/gtest.h>

namespace aster::discovery {
namespace {

// Advances the time to its next message.
Schedule::Due Next(Schedule& schedule, int64_t& now_ns) {
  now_ns = std::max(now_ns, schedule.next_ns());
  return schedule.Take(now_ns);
}

TEST(Schedule, SpeaksSoonAndThenLessAndLess) {
  int64_t now_ns = 0;
  Schedule schedule(1, now_ns);
  EXPECT_FALSE(schedule.Take(now_ns).offer);
  Next(schedule, now_ns);
  EXPECT_LE(now_ns, 120 * kNsPerMs);
  int64_t earlier_ns = now_ns;
  for (int64_t interval_s = 1; interval_s <= 64; interval_s *= 2) {
    const Schedule::Due due = Next(schedule, now_ns);
    EXPECT_TRUE(due.offer && due.ask);
    EXPECT_NEAR(static_cast<double>(now_ns - earlier_ns) / kNsPerSecond,
                static_cast<double>(interval_s), 0.13);
    earlier_ns = now_ns;
  }
  // Offers continue, questions do not.
  const Schedule::Due due = Next(schedule, now_ns);
  EXPECT_TRUE(due.offer && !due.ask);
  EXPECT_LT(now_ns - earlier_ns, 65 * kNsPerSecond);
}

TEST(Schedule, AnswersSoonButOnceASecond) {
  int64_t now_ns = 0;
  Schedule schedule(2, now_ns);
  for (int i = 0; i < 8; ++i) Next(schedule, now_ns);
  now_ns += 10 * kNsPerSecond;
  const int64_t asked_ns = now_ns;
  schedule.Answer(now_ns);
  EXPECT_TRUE(Next(schedule, now_ns).offer);
  EXPECT_LE(now_ns - asked_ns, 120 * kNsPerMs);
  // However often it is asked.
  int offers = 0;
  const int64_t begin_ns = now_ns;
  while (now_ns < begin_ns + 10 * kNsPerSecond) {
    now_ns += kNsPerMs;
    schedule.Answer(now_ns);
    offers += schedule.Take(now_ns).offer ? 1 : 0;
  }
  EXPECT_LE(offers, 10);
  EXPECT_GE(offers, 9);
}

TEST(Schedule, RestartsAfterAChange) {
  int64_t now_ns = 0;
  Schedule schedule(3, now_ns);
  for (int i = 0; i < 12; ++i) Next(schedule, now_ns);
  now_ns += 5 * kNsPerSecond;
  const int64_t changed_ns = now_ns;
  schedule.Restart(now_ns);
  const Schedule::Due due = Next(schedule, now_ns);
  EXPECT_TRUE(due.offer && due.ask);
  EXPECT_LE(now_ns - changed_ns, 120 * kNsPerMs);
}

}  // namespace
}  // namespace aster::discovery
