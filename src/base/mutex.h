// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A mutex whose use clang checks while compiling: a member marked GUARDED_BY(mu_) cannot be
// accessed, and a function marked REQUIRES(mu_) cannot be called, without holding it. Waiting with
// a deadline uses base/clock.h, so that tests control the time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#if defined(__clang__)
#define ASTER_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define ASTER_THREAD_ATTRIBUTE(x)
#endif

// On members.
#define GUARDED_BY(mutex) ASTER_THREAD_ATTRIBUTE(guarded_by(mutex))
#define PT_GUARDED_BY(mutex) ASTER_THREAD_ATTRIBUTE(pt_guarded_by(mutex))
// On functions: the caller holds it; the caller does not hold it.
#define REQUIRES(...) ASTER_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) ASTER_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
// On functions that acquire or release it.
#define ACQUIRE(...) ASTER_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define RELEASE(...) ASTER_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define TRY_ACQUIRE(...) ASTER_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
// On classes.
#define CAPABILITY(name) ASTER_THREAD_ATTRIBUTE(capability(name))
#define SCOPED_CAPABILITY ASTER_THREAD_ATTRIBUTE(scoped_lockable)
// If the analysis cannot follow; say why beside it.
#define NO_THREAD_SAFETY_ANALYSIS ASTER_THREAD_ATTRIBUTE(no_thread_safety_analysis)

namespace aster {

class CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() ACQUIRE() { mu_.lock(); }
  void Unlock() RELEASE() { mu_.unlock(); }
  bool TryLock() TRY_ACQUIRE(true) { return mu_.try_lock(); }

 private:
  friend class CondVar;
  std::mutex mu_;
};

// Holds a mutex for a scope.
class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mu) ACQUIRE(mu) : mu_(mu) { mu_.Lock(); }
  ~MutexLock() RELEASE() { mu_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mu_;
};

// Lets threads sleep until another one changes the guarded state. Wakes may be spurious, so check
// the condition again; every waiter of one CondVar uses the same Mutex.
class CondVar {
 public:
  void Wait(Mutex& mu) REQUIRES(mu) {
    std::unique_lock<std::mutex> lock(mu.mu_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }

  // False if `deadline` passed before a notification. For base/clock.h; other code waits with a
  // Clock.
  bool WaitUntil(Mutex& mu, std::chrono::steady_clock::time_point deadline) REQUIRES(mu) {
    std::unique_lock<std::mutex> lock(mu.mu_, std::adopt_lock);
    const std::cv_status status = condition_.wait_until(lock, deadline);
    lock.release();
    return status == std::cv_status::no_timeout;
  }

  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace aster
