// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Time behind an interface, so that tests and simulations control it. Code that reads the time,
// sleeps or waits with a deadline is given a Clock; only clocks ask the system.
//
// Times are nanoseconds. All but WallNs count from a moment of the clock's own choice and never go
// back, so only differences are meaningful.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>

#include "base/mutex.h"

namespace aster {

constexpr int64_t kNsPerUs = 1'000;
constexpr int64_t kNsPerMs = 1'000'000;
constexpr int64_t kNsPerSecond = 1'000'000'000;
// A deadline that never comes.
constexpr int64_t kNeverNs = std::numeric_limits<int64_t>::max();

// Safe for concurrent use.
class Clock {
 public:
  virtual ~Clock() = default;

  virtual int64_t NowNs() const = 0;
  // Since 1970 in UTC, as far as the machine knows: for users and logs. May jump.
  virtual int64_t WallNs() const = 0;

  virtual void SleepUntil(int64_t deadline_ns) = 0;
  // Like CondVar::Wait, until the deadline at most; false if that has passed. Wakes may be
  // spurious, so call it in a loop that checks its condition.
  virtual bool WaitUntil(CondVar& condition, Mutex& mu, int64_t deadline_ns) REQUIRES(mu) = 0;

  void SleepFor(int64_t duration_ns) { SleepUntil(NowNs() + duration_ns); }
};

// The machine's own time.
class SystemClock : public Clock {
 public:
  int64_t NowNs() const override;
  int64_t WallNs() const override;
  void SleepUntil(int64_t deadline_ns) override;
  bool WaitUntil(CondVar& condition, Mutex& mu, int64_t deadline_ns) REQUIRES(mu) override;
};

// Time that only a test advances. Threads that sleep on it wake one after another, in the order of
// their deadlines (equal ones in the order of falling asleep), and each sees exactly its deadline
// as the time.
//
// A deterministic test alternates AwaitSleepers, which lets the threads run until they all sleep
// again, and AdvanceToNextDeadline, which wakes one.
class VirtualClock : public Clock {
 public:
  explicit VirtualClock(int64_t now_ns = 0, int64_t wall_ns = 0);
  // No thread may be sleeping any more.
  ~VirtualClock() override;

  int64_t NowNs() const override EXCLUDES(mu_);
  int64_t WallNs() const override EXCLUDES(mu_);
  void SleepUntil(int64_t deadline_ns) override EXCLUDES(mu_);
  bool WaitUntil(CondVar& condition, Mutex& mu, int64_t deadline_ns) REQUIRES(mu)
      EXCLUDES(mu_) override;

  // Wakes all sleepers that are due on the way, and returns when they have left their waits. The
  // caller must not hold a mutex that a sleeper waits with; one thread at a time advances the
  // clock.
  void AdvanceTo(int64_t time_ns) EXCLUDES(mu_);
  void AdvanceBy(int64_t duration_ns) EXCLUDES(mu_) { AdvanceTo(NowNs() + duration_ns); }
  // Wakes the sleeper that is due first, and returns its deadline; nullopt if no thread sleeps with
  // one.
  std::optional<int64_t> AdvanceToNextDeadline() EXCLUDES(mu_);

  // Waits, in real time, until `count` threads sleep on this clock.
  void AwaitSleepers(size_t count) EXCLUDES(mu_);

 private:
  // A thread inside WaitUntil; lives on its stack.
  struct Sleeper {
    int64_t deadline_ns;
    uint64_t order;  // of going to sleep
    CondVar& condition;
    Mutex& mu;
    enum { kAsleep, kBeingWoken, kWoken } state = kAsleep;
  };
  struct DueFirst {
    bool operator()(const Sleeper* a, const Sleeper* b) const {
      return a->deadline_ns != b->deadline_ns ? a->deadline_ns < b->deadline_ns
                                              : a->order < b->order;
    }
  };

  bool WakeNext(int64_t latest_ns) EXCLUDES(mu_);

  mutable Mutex mu_;
  CondVar changed_;  // a sleeper came, was woken or left
  const int64_t wall_offset_ns_;
  int64_t now_ns_ GUARDED_BY(mu_);
  uint64_t next_order_ GUARDED_BY(mu_) = 0;
  uint64_t woken_count_ GUARDED_BY(mu_) = 0;
  uint64_t left_count_ GUARDED_BY(mu_) = 0;  // of those woken
  std::set<Sleeper*, DueFirst> asleep_ GUARDED_BY(mu_);
};

}  // namespace aster
