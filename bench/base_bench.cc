// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The cost of a parallel call, of random numbers and of UTF-8 validation.

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/machine.h"
#include "base/random.h"
#include "base/thread_pool.h"
#include "base/utf8.h"

namespace aster {
namespace {

// An empty call on pinned threads. The second argument is the time between two calls: threads spin
// through short gaps, and sleep in long ones and must be woken.
void BM_ParallelFor(benchmark::State& state) {
  const auto threads = static_cast<size_t>(state.range(0));
  const int64_t gap_ns = state.range(1) * kNsPerUs;
  const std::vector<int> cpus = UsableCpus();
  ThreadPool pool(threads, cpus);
  PinThisThread(cpus[0]);
  const SystemClock clock;
  for (auto _ : state) {
    const int64_t ready_ns = clock.NowNs() + gap_ns;
    while (clock.NowNs() < ready_ns) {
    }
    const int64_t start_ns = clock.NowNs();
    pool.ParallelFor(threads, [](size_t, size_t, size_t) {});
    state.SetIterationTime(static_cast<double>(clock.NowNs() - start_ns) * 1e-9);
  }
}
BENCHMARK(BM_ParallelFor)
    ->ArgNames({"threads", "gap_us"})
    ->ArgsProduct({{1, 2, 8}, {0, 20, 500}})
    ->Iterations(2000)
    ->UseManualTime();

void BM_FillNormal(benchmark::State& state) {
  std::vector<float> values(1 << 16);
  uint64_t index = 0;
  for (auto _ : state) {
    FillNormal(/*seed=*/1, /*stream=*/2, index, values);
    index += values.size();
    benchmark::DoNotOptimize(values.data());
  }
  state.SetItemsProcessed(static_cast<int64_t>(index));
}
BENCHMARK(BM_FillNormal);

void BM_ValidUtf8(benchmark::State& state, const std::string& piece) {
  std::string text;
  while (text.size() < (1 << 20)) text += piece;
  for (auto _ : state) benchmark::DoNotOptimize(ValidUtf8Prefix(text));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text.size()));
}
BENCHMARK_CAPTURE(BM_ValidUtf8, english, "The quick brown fox jumps over the lazy dog. ");
BENCHMARK_CAPTURE(BM_ValidUtf8, chinese, "敏捷的棕色狐狸跳过了懒狗。");

}  // namespace
}  // namespace aster

BENCHMARK_MAIN();
