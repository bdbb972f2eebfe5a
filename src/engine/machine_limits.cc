// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/machine_limits.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/machine.h"
#include "kernels/limits_choice.h"

namespace aster::engine {
namespace {

using kernels::AvailableLimits;
using kernels::LimitLoops;

constexpr uint64_t kLeastBufferBytes = uint64_t{256} << 20;
constexpr uint64_t kCachesInBuffer = 4;
constexpr int kPasses = 3;
// Long enough that starting the threads does not matter, short enough to be repeated.
constexpr int64_t kDotNs = 10 * kNsPerMs;

double PerSecond(double amount, int64_t duration_ns) {
  return amount / (static_cast<double>(std::max<int64_t>(duration_ns, 1)) * 1e-9);
}

double ReadRate(const LimitLoops& loops, const compute::Buffer& buffer, ThreadPool& pool,
                const Clock& clock) {
  const int64_t start_ns = clock.NowNs();
  std::atomic<uint64_t> sum{0};
  pool.ParallelFor(buffer.bytes() / kernels::kReadMultiple, [&](size_t begin, size_t end, size_t) {
    sum += loops.read(buffer.data() + begin * kernels::kReadMultiple,
                      (end - begin) * kernels::kReadMultiple);
  });
  return PerSecond(static_cast<double>(buffer.bytes()), clock.NowNs() - start_ns);
}

double DotRate(const LimitLoops& loops, uint64_t rounds, ThreadPool& pool, const Clock& clock) {
  const int64_t start_ns = clock.NowNs();
  std::atomic<uint64_t> sum{0};
  pool.ParallelFor(pool.thread_count(), [&](size_t, size_t, size_t) { sum += loops.dot(rounds); });
  const double done = static_cast<double>(loops.dots_per_round) * static_cast<double>(rounds) *
                      static_cast<double>(pool.thread_count());
  return PerSecond(done, clock.NowNs() - start_ns);
}

// The number of rounds that take about kDotNs.
uint64_t RoundsFor(const LimitLoops& loops, ThreadPool& pool, const Clock& clock) {
  constexpr uint64_t kTrial = 2000;
  const double per_thread =
      DotRate(loops, kTrial, pool, clock) / static_cast<double>(pool.thread_count());
  const double rounds =
      per_thread * static_cast<double>(kDotNs) * 1e-9 / static_cast<double>(loops.dots_per_round);
  return std::max<uint64_t>(kTrial, static_cast<uint64_t>(rounds));
}

// Far more than the caches hold.
uint64_t DefaultBufferBytes() {
  const uint64_t wanted =
      std::max(kLeastBufferBytes, kCachesInBuffer * DetectCacheSizes().l3_bytes);
  return std::min(wanted, DetectMemory().available_bytes / 4);
}

}  // namespace

Result<LimitMeter> LimitMeter::Create(uint64_t buffer_bytes) {
  const uint64_t bytes = buffer_bytes == 0 ? DefaultBufferBytes() : buffer_bytes;
  // Whole steps of the loops that read four streams.
  constexpr uint64_t kStep = 4 * kernels::kReadMultiple;
  compute::Buffer buffer =
      TRY(compute::Buffer::Allocate(std::max(bytes / kStep, uint64_t{1}) * kStep));
  std::memset(buffer.data(), 1, buffer.bytes());  // allocates the pages
  return LimitMeter(std::move(buffer));
}

MachineLimits LimitMeter::Measure(ThreadPool& pool, const Clock& clock) const {
  MachineLimits limits;
  for (const LimitLoops* loops : AvailableLimits()) {
    const uint64_t rounds = RoundsFor(*loops, pool, clock);
    for (int pass = 0; pass < kPasses; ++pass) {
      limits.read_bytes_per_s =
          std::max(limits.read_bytes_per_s, ReadRate(*loops, buffer_, pool, clock));
      const double rate = DotRate(*loops, rounds, pool, clock);
      if (rate <= limits.multiply_adds_per_s) continue;
      limits.multiply_adds_per_s = rate;
      limits.dot_instruction = loops->dot_name;
    }
  }
  return limits;
}

}  // namespace aster::engine
