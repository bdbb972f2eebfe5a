// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A pool of threads for arithmetic: a fixed number of them, short waits, no queue, no allocation
// per call. It does not know what it computes; work that waits for files or peers belongs
// elsewhere.
//
// Thread 0 is the caller. The others spin for a short, bounded time between calls, because waking a
// sleeping core takes longer than most operations on one token, and then sleep.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/function_ref.h"
#include "base/mutex.h"

namespace aster {

struct IndexRange {
  size_t begin = 0;
  size_t end = 0;

  size_t size() const { return end - begin; }
  bool operator==(const IndexRange&) const = default;
};

// The part of 0..count for thread `thread_index` of `thread_count`: contiguous, ascending with the
// thread, sizes differing by one at most, the larger ones first.
constexpr IndexRange PartOf(size_t count, size_t thread_index, size_t thread_count) {
  const size_t share = count / thread_count;
  const size_t extra = count % thread_count;
  const size_t begin = thread_index * share + (thread_index < extra ? thread_index : extra);
  return {begin, begin + share + (thread_index < extra ? 1 : 0)};
}

// Whether a thread's spinning still pays. Where other programs take the cores, who is waited for
// does not run meanwhile: after several failures in a row, more and more waits sleep at once, up to
// 64 for each one that spins. Three are tolerated, as the first wait after a pause fails on an idle
// machine, too.
class SpinHistory {
 public:
  bool Worthwhile() {
    if (left_out_ == 0) return true;
    --left_out_;
    return false;
  }
  void Succeeded() { failures_ = 0; }
  void Failed() {
    failures_ = std::min(failures_ + 1, kTolerated + kMostDoublings);
    if (failures_ > kTolerated) left_out_ = uint32_t{1} << (failures_ - kTolerated);
  }

 private:
  static constexpr uint32_t kTolerated = 3;
  static constexpr uint32_t kMostDoublings = 6;

  uint32_t failures_ = 0;  // in a row
  uint32_t left_out_ = 0;  // waits that are still to sleep at once
};

// Calls from several threads wait for one another. A call from inside the work of any pool is a
// programmer mistake and aborts: work is parallel on one level only. While it works, every thread
// (the caller too) is in the compute float mode (base/float_mode.h); from its first call on, a
// thread asks the system for short turns on its core.
class ThreadPool {
 public:
  // Called with the indices to work on, and the working thread: 0 ≤ thread_index < thread_count(),
  // for a thread's own scratch memory.
  using Work = FunctionRef<void(size_t begin, size_t end, size_t thread_index)>;

  // More threads than this are never started.
  static constexpr size_t kMaxThreadCount = 512;

  // At least one thread. If the system refuses to start as many, there are fewer (results do not
  // depend on the number). If `cpus` is not empty, thread i > 0 is pinned to cpus[i % cpus.size()]
  // (UsableCpus() of base/machine.h is a good choice). The caller's own thread is not pinned, since
  // threads that it starts inherit its cpus: a thread that does nothing but compute calls
  // PinThisThread(cpus[0]) itself. Pinning pays: some kernels leave two busy threads on one core
  // for tens of milliseconds.
  explicit ThreadPool(size_t thread_count, const std::vector<int>& cpus = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  size_t thread_count() const { return workers_.size() + 1; }

  // Cuts 0..count by PartOf, one part for each thread, and returns when all are done. Threads whose
  // part is empty are not called. With count == thread_count() thread i gets exactly index i.
  void ParallelFor(size_t count, Work work) EXCLUDES(call_mu_);

  // For uneven work: free threads take the next `chunk` indices, so the thread of an index is
  // random, and the result must not depend on it.
  void ParallelForDynamic(size_t count, size_t chunk, Work work) EXCLUDES(call_mu_);

 private:
  struct Job {
    const Work* work = nullptr;  // owned by the caller; null: the workers end
    size_t count = 0;
    size_t chunk = 0;  // 0: cut by PartOf
  };

  static constexpr size_t kCacheLineBytes = 64;

  // The caller's side.
  void Run(const Job& job) EXCLUDES(call_mu_);
  void Prepare(const Job& job);
  void Publish();
  void AwaitWorkers() REQUIRES(call_mu_);
  // The workers' side.
  void WorkerMain(size_t thread_index, int cpu);
  uint32_t AwaitJob(uint32_t seen_epoch, SpinHistory& spins) const;
  // Both.
  void RunPart(size_t thread_index);

  // Constant after construction.
  int64_t spin_ns_;
  std::vector<std::thread> workers_;

  Mutex call_mu_;  // held during a call
  SpinHistory caller_spins_ GUARDED_BY(call_mu_);

  // Written by the caller while the workers wait, read by them after epoch_ has changed.
  Job job_;
  alignas(kCacheLineBytes) std::atomic<uint32_t> epoch_{0};       // jobs posted so far
  alignas(kCacheLineBytes) std::atomic<uint32_t> unfinished_{0};  // workers still at this job
  alignas(kCacheLineBytes) std::atomic<size_t> next_index_{0};    // of a dynamic job
};

// Pins the calling thread to one cpu; false if the system does not allow it (harmless).
bool PinThisThread(int cpu);

}  // namespace aster
