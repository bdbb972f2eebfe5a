// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/mutex.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace aster {
namespace {

struct Account {
  Mutex mu;
  CondVar changed;
  int balance GUARDED_BY(mu) = 0;

  void AddLocked(int amount) REQUIRES(mu) { balance += amount; }
  void Add(int amount) EXCLUDES(mu) {
    const MutexLock lock(mu);
    AddLocked(amount);
    changed.NotifyAll();
  }
  int AwaitAtLeast(int amount) EXCLUDES(mu) {
    const MutexLock lock(mu);
    while (balance < amount) changed.Wait(mu);
    return balance;
  }
};

TEST(Mutex, GuardsACounterOfManyThreads) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 1000;
  Account account;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) account.Add(1);
    });
  }
  EXPECT_EQ(account.AwaitAtLeast(kThreads * kRounds), kThreads * kRounds);
  for (std::thread& thread : threads) thread.join();
}

TEST(Mutex, TryLockFailsWhileAnotherThreadHoldsIt) {
  Mutex mu;
  const auto try_lock = [&mu] {
    if (!mu.TryLock()) return false;
    mu.Unlock();
    return true;
  };
  bool while_held = true;
  mu.Lock();
  std::thread([&] { while_held = try_lock(); }).join();
  mu.Unlock();
  EXPECT_FALSE(while_held);
  EXPECT_TRUE(try_lock());
}

}  // namespace
}  // namespace aster
