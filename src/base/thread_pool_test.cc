// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <functional>
#include <limits>

#include "base/clock.h"
#include "base/float_mode.h"
#include "base/machine.h"

namespace aster {
namespace {

// How often each index was worked on, and in parts of which sizes.
struct Coverage {
  explicit Coverage(size_t count) : visits(count) {}

  ThreadPool::Work Visitor() { return visit; }

  std::vector<std::atomic<int>> visits;
  std::atomic<size_t> largest_part = 0;
  std::function<void(size_t, size_t, size_t)> visit = [this](size_t begin, size_t end, size_t) {
    size_t largest = largest_part;
    while (end - begin > largest && !largest_part.compare_exchange_weak(largest, end - begin)) {
    }
    for (size_t i = begin; i < end; ++i) ++visits[i];
  };

  bool EachOnce() const {
    return std::all_of(visits.begin(), visits.end(), [](const auto& n) { return n == 1; });
  }
};

TEST(PartOf, CutsInOrderWithoutGapsAndEvenly) {
  for (size_t threads = 1; threads <= 9; ++threads) {
    for (size_t count = 0; count <= 40; ++count) {
      size_t next = 0;
      for (size_t thread = 0; thread < threads; ++thread) {
        const IndexRange part = PartOf(count, thread, threads);
        EXPECT_EQ(part.begin, next);
        EXPECT_GE(part.size(), count / threads);
        EXPECT_LE(part.size(), count / threads + 1);
        next = part.end;
      }
      EXPECT_EQ(next, count);
    }
  }
}

TEST(PartOf, DoesNotOverflow) {
  const size_t most = std::numeric_limits<size_t>::max();
  EXPECT_EQ(PartOf(most, 6, 7).end, most);
}

// Waits that sleep at once until the next one that spins.
int LeftOut(SpinHistory& history) {
  int count = 0;
  while (!history.Worthwhile()) ++count;
  return count;
}

TEST(SpinHistory, ASingleFailureChangesNothing) {
  SpinHistory history;
  for (int token = 0; token < 100; ++token) {
    history.Failed();  // between tokens
    EXPECT_EQ(LeftOut(history), 0);
    history.Succeeded();
  }
}

TEST(SpinHistory, FailuresInARowLeaveOutMoreAndMoreUntilASuccess) {
  SpinHistory history;
  std::vector<int> left_out;
  for (int i = 0; i < 11; ++i) {
    history.Failed();
    left_out.push_back(LeftOut(history));
  }
  EXPECT_EQ(left_out, (std::vector<int>{0, 0, 0, 2, 4, 8, 16, 32, 64, 64, 64}));
  history.Succeeded();
  history.Failed();
  EXPECT_EQ(LeftOut(history), 0);
}

TEST(ThreadPool, CoversEachIndexOnceWithAnyNumberOfThreads) {
  for (size_t threads = 1; threads <= 9; ++threads) {
    ThreadPool pool(threads);
    ASSERT_EQ(pool.thread_count(), threads);
    for (size_t count : {0, 1, 2, 3, 7, 8, 9, 64, 1000}) {
      Coverage coverage(count);
      pool.ParallelFor(count, coverage.Visitor());
      EXPECT_TRUE(coverage.EachOnce()) << threads << " threads, " << count;
      for (size_t chunk : {1, 3, 64, 5000}) {
        Coverage dynamic(count);
        pool.ParallelForDynamic(count, chunk, dynamic.Visitor());
        EXPECT_TRUE(dynamic.EachOnce()) << threads << " threads, " << count << " by " << chunk;
        EXPECT_LE(dynamic.largest_part, chunk);
      }
    }
  }
}

TEST(ThreadPool, EachThreadGetsItsPart) {
  ThreadPool pool(4);
  std::vector<IndexRange> parts(4);
  pool.ParallelFor(10,
                   [&](size_t begin, size_t end, size_t thread) { parts[thread] = {begin, end}; });
  EXPECT_EQ(parts, (std::vector<IndexRange>{{0, 3}, {3, 6}, {6, 8}, {8, 10}}));
}

TEST(ThreadPool, TheCallerIsThreadZero) {
  ThreadPool pool(3);
  std::vector<std::thread::id> ids(3);
  pool.ParallelFor(
      3, [&](size_t, size_t, size_t thread) { ids[thread] = std::this_thread::get_id(); });
  EXPECT_EQ(ids[0], std::this_thread::get_id());
  EXPECT_NE(ids[1], ids[0]);
  EXPECT_NE(ids[1], ids[2]);
}

TEST(ThreadPool, ManyTinyCallsSeeEachOthersWrites) {
  constexpr size_t kCount = 16;
  constexpr uint64_t kCalls = 5'000;
  ThreadPool pool(2);
  std::vector<uint64_t> now(kCount);  // plain: only the pool orders the accesses
  std::vector<uint64_t> next(kCount);
  for (uint64_t call = 0; call < kCalls; ++call) {
    // Each thread reads what the other one wrote in the call before.
    pool.ParallelFor(kCount, [&](size_t begin, size_t end, size_t) {
      for (size_t i = begin; i < end; ++i) next[i] = now[kCount - 1 - i] + 1;
    });
    std::swap(now, next);
  }
  EXPECT_EQ(now, std::vector<uint64_t>(kCount, kCalls));
}

// Processor time, not elapsed time: other programs may be busy on this machine.
TEST(ThreadPool, MoreThreadsThanCoresWasteLittle) {
  constexpr int kCalls = 100;
  const size_t threads = 4 * UsableCpuCount();
  ThreadPool pool(threads);
  std::atomic<uint64_t> sum = 0;
  const std::clock_t start = std::clock();
  for (int call = 0; call < kCalls; ++call) {
    pool.ParallelFor(threads, [&](size_t begin, size_t, size_t) { sum += begin; });
  }
  const double spent_s = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_EQ(sum, kCalls * (threads * (threads - 1) / 2));
  // A few microseconds for each thread and call. Threads that spin while the threads that they wait
  // for have no core would use up a scheduler's slice: milliseconds.
  EXPECT_LT(spent_s, kCalls * static_cast<double>(threads) * 100e-6);
}

TEST(ThreadPool, SleepersWakeUpAgain) {
  ThreadPool pool(3);
  for (int call = 0; call < 5; ++call) {
    SystemClock().SleepFor(2 * kNsPerMs);  // longer than a thread spins
    Coverage coverage(100);
    pool.ParallelFor(100, coverage.Visitor());
    EXPECT_TRUE(coverage.EachOnce());
  }
}

TEST(ThreadPool, SlowPartsAreAwaited) {
  ThreadPool pool(3);
  std::vector<int> done(3);
  pool.ParallelFor(3, [&](size_t, size_t, size_t thread) {
    if (thread == 2) SystemClock().SleepFor(5 * kNsPerMs);
    done[thread] = 1;
  });
  EXPECT_EQ(done, (std::vector<int>{1, 1, 1}));
}

TEST(ThreadPool, CallsFromSeveralThreadsTakeTurns) {
  ThreadPool pool(2);
  uint64_t sums[2] = {0, 0};  // plain: calls do not overlap
  const auto add = [&] {
    for (int call = 0; call < 500; ++call) {
      pool.ParallelFor(2, [&](size_t begin, size_t, size_t thread) { sums[thread] += begin + 1; });
    }
  };
  std::thread other(add);
  add();
  other.join();
  EXPECT_EQ(sums[0], 1000U);
  EXPECT_EQ(sums[1], 2000U);
}

TEST(ThreadPool, AllThreadsFlushDenormals) {
  ThreadPool pool(3);
  std::vector<int> flushes(3);
  pool.ParallelFor(
      3, [&](size_t, size_t, size_t thread) { flushes[thread] = InComputeFloatMode() ? 1 : 0; });
  EXPECT_EQ(flushes, (std::vector<int>{1, 1, 1}));
  EXPECT_FALSE(InComputeFloatMode());
}

TEST(ThreadPool, PinsItsWorkers) {
  cpu_set_t mine;
  ASSERT_EQ(sched_getaffinity(0, sizeof(mine), &mine), 0);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &mine)) ++cpu;
  ThreadPool pool(2, {cpu});
  int workers_cpu = -1;
  pool.ParallelFor(2, [&](size_t, size_t, size_t thread) {
    if (thread == 1) workers_cpu = sched_getcpu();
  });
  EXPECT_EQ(workers_cpu, cpu);
  EXPECT_FALSE(PinThisThread(-1));
  EXPECT_FALSE(PinThisThread(1 << 20));
}

TEST(ThreadPool, NiceThreadsStayNice) {
  std::thread([] {
    constexpr int kNicest = 19;
    const int nice = std::min(getpriority(PRIO_PROCESS, 0) + 1, kNicest);
    ASSERT_EQ(setpriority(PRIO_PROCESS, 0, nice), 0);  // of this thread only, on Linux
    ThreadPool pool(2);
    std::vector<int> seen(2);
    pool.ParallelFor(
        2, [&](size_t, size_t, size_t thread) { seen[thread] = getpriority(PRIO_PROCESS, 0); });
    EXPECT_EQ(seen, std::vector<int>(2, nice));
  }).join();
}

TEST(ThreadPool, ShortLivesEndCleanly) {
  for (int life = 0; life < 50; ++life) {
    ThreadPool pool(4);
    if (life % 2 == 0) pool.ParallelFor(4, [](size_t, size_t, size_t) {});
  }
}

TEST(ThreadPoolDeathTest, NestedCallsAreRefused) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        ThreadPool pool(2);
        const auto inner = [](size_t, size_t, size_t) {};
        pool.ParallelFor(2, [&](size_t, size_t, size_t) { pool.ParallelFor(1, inner); });
      },
      "inside parallel work");
}

}  // namespace
}  // namespace aster
