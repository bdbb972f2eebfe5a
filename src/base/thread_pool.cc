// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string>
#include <system_error>

#include "base/check.h"
#include "base/clock.h"
#include "base/float_mode.h"
#include "base/machine.h"

namespace aster {
namespace {

// Waking a thread that sleeps on an idle core takes about 30 µs, and falling asleep takes time,
// too. Spinning for as long as both would take is never worse than twice the best choice. Spinning
// threads do not yield: if another program wants the core, a yield gives it a whole slice (4 ms),
// and a thread that has slept is scheduled sooner.
constexpr int64_t kSpinNs = 60'000;
// One pause is 40 to 140 cycles; up to a microsecond between two checks of the clock.
constexpr int kPausesPerLook = 16;

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");  // a few dozen cycles; "yield" does nothing on most cores
#endif
}

// Waits until ready(), for at most spin_ns; false if it gave up.
template <typename Ready>
bool SpinUntil(int64_t spin_ns, SpinHistory& history, Ready ready) {
  if (ready()) return true;
  if (spin_ns == 0 || !history.Worthwhile()) return false;
  const SystemClock clock;
  const int64_t start_ns = clock.NowNs();
  do {
    for (int i = 0; i < kPausesPerLook; ++i) {
      Pause();
      if (ready()) {
        history.Succeeded();
        return true;
      }
    }
  } while (clock.NowNs() - start_ns < spin_ns);
  history.Failed();
  return false;
}

// The most cores that the pool can use.
size_t CoreCount(const std::vector<int>& pinned_cpus) {
  if (pinned_cpus.empty()) return UsableCpuCount();
  return std::set<int>(pinned_cpus.begin(), pinned_cpus.end()).size();
}

// The kernel's struct sched_attr, which most C libraries do not declare.
struct SchedulingAttributes {
  uint32_t size_bytes = sizeof(SchedulingAttributes);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime_ns = 0;
  uint64_t deadline_ns = 0;
  uint64_t period_ns = 0;
};

// Asks for short turns on the core. This does not change this thread's share of it, but a thread
// with short turns is scheduled soon after it wakes, also if others are busy. All threads of a call
// wait for the last one: beside two or six busy programs on two cores, calls were done 5 to 13
// times as often. Linux kernels before 6.12 ignore the request, and if it is forbidden nothing is
// lost.
void RequestShortTimeSlices() {
  constexpr uint64_t kShortestNs = 100'000;  // the kernel's minimum
  SchedulingAttributes attributes;
  // Reads the attributes first, so that all others (above all a nice value) stay as the user set
  // them.
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) != 0) return;
  if (attributes.policy != SCHED_OTHER && attributes.policy != SCHED_BATCH) return;
  attributes.runtime_ns = kShortestNs;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

void RequestShortTimeSlicesOnce() {
  thread_local bool asked = false;
  if (!asked) RequestShortTimeSlices();
  asked = true;
}

thread_local bool this_thread_is_working = false;

}  // namespace

bool PinThisThread(int cpu) {
  if (cpu < 0 || cpu >= CPU_SETSIZE) return false;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(cpu), &set);
  return pthread_setaffinity_np(pthread_self(), sizeof(set), &set) == 0;
}

ThreadPool::ThreadPool(size_t thread_count, const std::vector<int>& cpus)
    // If threads share cores, a spinning one keeps another from working.
    : spin_ns_(thread_count > CoreCount(cpus) ? 0 : kSpinNs) {
  CHECK(thread_count >= 1);
  const size_t wanted = std::min(thread_count, kMaxThreadCount);
  workers_.reserve(wanted - 1);
  for (size_t index = 1; index < wanted; ++index) {
    const int cpu = cpus.empty() ? -1 : cpus[index % cpus.size()];
    try {
      workers_.emplace_back(&ThreadPool::WorkerMain, this, index, cpu);
    } catch (const std::system_error&) {
      break;  // too many threads for this system: works with the started ones
    }
  }
}

ThreadPool::~ThreadPool() {
  Prepare({});
  Publish();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::ParallelFor(size_t count, Work work) {
  if (count == 0) return;
  Run({.work = &work, .count = count});
}

void ThreadPool::ParallelForDynamic(size_t count, size_t chunk, Work work) {
  CHECK(chunk >= 1);
  if (count == 0) return;
  Run({.work = &work, .count = count, .chunk = chunk});
}

void ThreadPool::Run(const Job& job) {
  CHECK_NOTE(!this_thread_is_working, "a parallel call from inside parallel work");
  const MutexLock lock(call_mu_);
  const ComputeFloatMode mode;
  this_thread_is_working = true;
  RequestShortTimeSlicesOnce();
  const bool alone = workers_.empty() || job.count <= std::max<size_t>(job.chunk, 1);
  Prepare(job);
  if (!alone) Publish();
  RunPart(0);
  if (!alone) AwaitWorkers();
  this_thread_is_working = false;
}

void ThreadPool::Prepare(const Job& job) {
  job_ = job;
  next_index_.store(0, std::memory_order_relaxed);
}

void ThreadPool::Publish() {
  unfinished_.store(static_cast<uint32_t>(workers_.size()), std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
}

void ThreadPool::RunPart(size_t thread_index) {
  const Job job = job_;
  if (job.chunk == 0) {
    const IndexRange part = PartOf(job.count, thread_index, thread_count());
    if (part.size() > 0) (*job.work)(part.begin, part.end, thread_index);
    return;
  }
  while (true) {
    // Compared before it is incremented, so that many late threads cannot make the counter
    // overflow.
    size_t begin = next_index_.load(std::memory_order_relaxed);
    do {
      if (begin >= job.count) return;
    } while (!next_index_.compare_exchange_weak(
        begin, begin + std::min(job.chunk, job.count - begin), std::memory_order_relaxed));
    (*job.work)(begin, begin + std::min(job.chunk, job.count - begin), thread_index);
  }
}

void ThreadPool::WorkerMain(size_t thread_index, int cpu) {
  if (cpu >= 0) PinThisThread(cpu);
  pthread_setname_np(pthread_self(), ("compute-" + std::to_string(thread_index)).c_str());
  const ComputeFloatMode mode;
  this_thread_is_working = true;
  RequestShortTimeSlicesOnce();
  uint32_t epoch = 0;
  SpinHistory spins;
  while (true) {
    epoch = AwaitJob(epoch, spins);
    if (job_.work == nullptr) return;
    RunPart(thread_index);
    if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished_.notify_one();
  }
}

uint32_t ThreadPool::AwaitJob(uint32_t seen_epoch, SpinHistory& spins) const {
  const auto posted = [&] { return epoch_.load(std::memory_order_acquire) != seen_epoch; };
  if (!SpinUntil(spin_ns_, spins, posted)) epoch_.wait(seen_epoch, std::memory_order_acquire);
  // A job is posted only after all workers have finished the one before, so none is missed.
  return seen_epoch + 1;
}

void ThreadPool::AwaitWorkers() {
  const auto finished = [&] { return unfinished_.load(std::memory_order_acquire) == 0; };
  if (SpinUntil(spin_ns_, caller_spins_, finished)) return;
  while (uint32_t left = unfinished_.load(std::memory_order_acquire)) {
    unfinished_.wait(left, std::memory_order_acquire);
  }
}

}  // namespace aster
