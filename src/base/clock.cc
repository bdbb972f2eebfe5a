// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/clock.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/check.h"

namespace aster {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

int64_t ToNs(auto time_point) {
  return std::chrono::duration_cast<nanoseconds>(time_point.time_since_epoch()).count();
}

// The C library takes deadlines as seconds and would overflow on the largest; a century is enough.
steady_clock::time_point ToTimePoint(int64_t deadline_ns) {
  constexpr int64_t kLatestNs = int64_t{100} * 365 * 24 * 3600 * kNsPerSecond;
  return steady_clock::time_point(nanoseconds(std::min(deadline_ns, kLatestNs)));
}

}  // namespace

int64_t SystemClock::NowNs() const { return ToNs(steady_clock::now()); }

int64_t SystemClock::WallNs() const { return ToNs(std::chrono::system_clock::now()); }

void SystemClock::SleepUntil(int64_t deadline_ns) {
  std::this_thread::sleep_until(ToTimePoint(deadline_ns));
}

bool SystemClock::WaitUntil(CondVar& condition, Mutex& mu, int64_t deadline_ns) {
  return condition.WaitUntil(mu, ToTimePoint(deadline_ns));
}

VirtualClock::VirtualClock(int64_t now_ns, int64_t wall_ns)
    : wall_offset_ns_(wall_ns - now_ns), now_ns_(now_ns) {}

VirtualClock::~VirtualClock() {
  const MutexLock lock(mu_);
  CHECK_NOTE(asleep_.empty() && left_count_ == woken_count_, "a thread still sleeps on this clock");
}

int64_t VirtualClock::NowNs() const {
  const MutexLock lock(mu_);
  return now_ns_;
}

int64_t VirtualClock::WallNs() const { return NowNs() + wall_offset_ns_; }

void VirtualClock::SleepUntil(int64_t deadline_ns) {
  Mutex mu;
  CondVar never;
  const MutexLock lock(mu);
  while (WaitUntil(never, mu, deadline_ns)) {
  }
}

bool VirtualClock::WaitUntil(CondVar& condition, Mutex& mu, int64_t deadline_ns) {
  Sleeper self{.deadline_ns = deadline_ns, .order = 0, .condition = condition, .mu = mu};
  {
    const MutexLock lock(mu_);
    if (deadline_ns <= now_ns_) return false;
    self.order = next_order_++;
    asleep_.insert(&self);
    changed_.NotifyAll();
  }
  // `mu` was held all the time, so AdvanceTo cannot notify before this waits.
  condition.Wait(mu);

  mu_.Lock();
  if (self.state == Sleeper::kAsleep) {  // notified by another thread, or spuriously
    asleep_.erase(&self);
    mu_.Unlock();
    return true;
  }
  // AdvanceTo may still be about to take `mu`, which must not be destroyed before that.
  mu.Unlock();
  while (self.state != Sleeper::kWoken) changed_.Wait(mu_);
  ++left_count_;
  changed_.NotifyAll();
  mu_.Unlock();
  mu.Lock();
  return false;
}

// Wakes the sleeper that is due first, if it is due by `latest_ns`.
bool VirtualClock::WakeNext(int64_t latest_ns) {
  Sleeper* next = nullptr;
  {
    const MutexLock lock(mu_);
    if (asleep_.empty() || (*asleep_.begin())->deadline_ns > latest_ns) return false;
    next = *asleep_.begin();
    asleep_.erase(asleep_.begin());
    now_ns_ = std::max(now_ns_, next->deadline_ns);
    next->state = Sleeper::kBeingWoken;
    ++woken_count_;
  }
  {
    const MutexLock lock(next->mu);
    next->condition.NotifyAll();
  }
  const MutexLock lock(mu_);
  next->state = Sleeper::kWoken;
  changed_.NotifyAll();
  while (left_count_ != woken_count_) changed_.Wait(mu_);
  return true;
}

void VirtualClock::AdvanceTo(int64_t time_ns) {
  while (WakeNext(time_ns)) {
  }
  const MutexLock lock(mu_);
  now_ns_ = std::max(now_ns_, time_ns);
}

std::optional<int64_t> VirtualClock::AdvanceToNextDeadline() {
  if (!WakeNext(kNeverNs - 1)) return std::nullopt;
  return NowNs();
}

void VirtualClock::AwaitSleepers(size_t count) {
  const MutexLock lock(mu_);
  while (asleep_.size() < count) changed_.Wait(mu_);
}

}  // namespace aster
