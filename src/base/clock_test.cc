// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace aster {
namespace {

using ::testing::ElementsAre;

// A flag that a thread waits for with a deadline.
struct Flag {
  Mutex mu;
  CondVar changed;
  bool set GUARDED_BY(mu) = false;

  void Set() EXCLUDES(mu) {
    const MutexLock lock(mu);
    set = true;
    changed.NotifyAll();
  }
  bool AwaitUntil(Clock& clock, int64_t deadline_ns) EXCLUDES(mu) {
    const MutexLock lock(mu);
    while (!set) {
      if (!clock.WaitUntil(changed, mu, deadline_ns)) break;
    }
    return set;
  }
};

TEST(SystemClock, MovesOnItsOwn) {
  SystemClock clock;
  const int64_t start = clock.NowNs();
  clock.SleepFor(2 * kNsPerMs);
  EXPECT_GE(clock.NowNs() - start, 2 * kNsPerMs);
  clock.SleepUntil(start);  // has passed
  constexpr int64_t kYear2020Ns = 1'577'836'800 * kNsPerSecond;
  EXPECT_GT(clock.WallNs(), kYear2020Ns);
}

TEST(SystemClock, WaitsUntilNotifiedOrTheDeadline) {
  SystemClock clock;
  Flag flag;
  EXPECT_FALSE(flag.AwaitUntil(clock, clock.NowNs() + kNsPerMs));
  std::thread setter([&] { flag.Set(); });
  EXPECT_TRUE(flag.AwaitUntil(clock, kNeverNs));
  setter.join();
}

TEST(VirtualClock, StandsStillUntilMoved) {
  VirtualClock clock(/*now_ns=*/100, /*wall_ns=*/5000);
  EXPECT_EQ(clock.NowNs(), 100);
  clock.AdvanceBy(11);
  EXPECT_EQ(clock.NowNs(), 111);
  EXPECT_EQ(clock.WallNs(), 5011);
  clock.AdvanceTo(50);  // never back
  EXPECT_EQ(clock.NowNs(), 111);
  clock.SleepUntil(111);  // has passed: returns at once
  EXPECT_EQ(clock.AdvanceToNextDeadline(), std::nullopt);
}

// Threads that sleep repeatedly for their own period, and record when they woke.
std::vector<std::string> RunTickers() {
  struct Ticker {
    char name;
    int64_t period_ns;
  };
  constexpr Ticker kTickers[] = {{'a', 30}, {'b', 20}, {'c', 70}};
  constexpr int64_t kEndNs = 140;
  constexpr int kTicks = 140 / 30 + 140 / 20 + 140 / 70;
  VirtualClock clock;
  Mutex mu;
  std::vector<std::string> events;
  std::vector<std::thread> threads;
  threads.reserve(std::size(kTickers));
  for (const Ticker& ticker : kTickers) {
    threads.emplace_back([&clock, &mu, &events, ticker] {
      for (int64_t next = ticker.period_ns; next <= kEndNs; next += ticker.period_ns) {
        clock.SleepUntil(next);
        const MutexLock lock(mu);
        events.push_back(ticker.name + std::to_string(clock.NowNs()));
      }
      clock.SleepUntil(kEndNs + 1);  // all of them sleep until the end
    });
    clock.AwaitSleepers(threads.size());
  }
  for (int tick = 0; tick < kTicks; ++tick) {
    clock.AdvanceToNextDeadline();
    clock.AwaitSleepers(threads.size());
  }
  clock.AdvanceTo(kEndNs + 1);
  for (std::thread& thread : threads) thread.join();
  return events;
}

TEST(VirtualClock, SleepersWakeInTheOrderOfTheirDeadlines) {
  const std::vector<std::string> events = RunTickers();
  EXPECT_THAT(events, ElementsAre("b20", "a30", "b40", "a60", "b60", "c70", "b80", "a90", "b100",
                                  "a120", "b120", "c140", "b140"));
  for (int round = 0; round < 20; ++round) EXPECT_EQ(RunTickers(), events);
}

TEST(VirtualClock, AWaitEndsByNotificationOrByDeadline) {
  VirtualClock clock;
  Flag flag;
  bool first = true;
  std::thread waiter([&] { first = flag.AwaitUntil(clock, 10); });
  clock.AwaitSleepers(1);
  clock.AdvanceTo(10);
  waiter.join();
  EXPECT_FALSE(first);

  bool second = false;
  std::thread other([&] { second = flag.AwaitUntil(clock, 20); });
  clock.AwaitSleepers(1);
  flag.Set();
  other.join();
  EXPECT_TRUE(second);
  EXPECT_EQ(clock.NowNs(), 10);
}

// The mutex and the condition of a wait are destroyed right after it, while the clock has just used
// them.
TEST(VirtualClock, WaitsMayEndWithWhatTheyWaitedFor) {
  VirtualClock clock;
  constexpr int kRounds = 500;
  std::thread sleeper([&] {
    for (int round = 1; round <= kRounds; ++round) {
      Flag short_lived;
      short_lived.AwaitUntil(clock, round);
    }
  });
  for (int round = 1; round <= kRounds; ++round) {
    clock.AwaitSleepers(1);
    clock.AdvanceTo(round);
  }
  sleeper.join();
}

// Notifications and deadlines at the same moment: no thread hangs, whichever comes first.
TEST(VirtualClock, NotificationsRaceWithDeadlines) {
  VirtualClock clock;
  for (int round = 1; round <= 300; ++round) {
    Flag flag;
    std::thread waiter([&] { flag.AwaitUntil(clock, round); });
    std::thread setter([&] { flag.Set(); });
    clock.AdvanceTo(round);
    setter.join();
    waiter.join();
  }
}

}  // namespace
}  // namespace aster
