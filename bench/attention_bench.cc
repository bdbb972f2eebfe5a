// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Attention and the row operations on one core, beside the core's limits: prefill as a fraction of
// the peak of fused multiply-adds (a register-only loop), decode as a fraction of the read
// bandwidth (a plain sum over much more memory than the caches hold). One instruction set per run:
// ASTER_ISA chooses it, or else it is the fastest.

#include <benchmark/benchmark.h>

#include <ctime>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/float_mode.h"
#include "base/random.h"
#include "kernels/attention.h"
#include "kernels/attention_test_support.h"
#include "kernels/isa_choice.h"
#include "kernels/ops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define TARGET(features) __attribute__((target(features)))
#else
#include <arm_neon.h>
#define TARGET(features)
#endif

namespace aster::kernels {
namespace {

// The processor time of this thread, so that other processes on a busy machine count for little.
double Seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Enough independent chains to cover the latency of every known core.
constexpr int kChains = 12;
constexpr int64_t kSteps = 20'000'000;

// Each runs kChains * kSteps vector multiply-adds and returns how many numbers a vector holds.
#if defined(__x86_64__)
TARGET("avx512f") int RunFmaAvx512() {
  __m512 sums[kChains];
  const __m512 a = _mm512_set1_ps(0.9999f);
#pragma GCC unroll 16
  for (int c = 0; c < kChains; ++c) sums[c] = _mm512_set1_ps(1.0f / static_cast<float>(c + 1));
  for (int64_t i = 0; i < kSteps; ++i) {
#pragma GCC unroll 16
    for (int c = 0; c < kChains; ++c) sums[c] = _mm512_fmadd_ps(sums[c], a, a);
  }
  __m512 sum = sums[0];
  for (int c = 1; c < kChains; ++c) sum = _mm512_add_ps(sum, sums[c]);
  float out[16];
  _mm512_storeu_ps(out, sum);
  benchmark::DoNotOptimize(out[0]);
  return 16;
}

TARGET("avx2,fma") int RunFmaAvx2() {
  __m256 sums[kChains];
  const __m256 a = _mm256_set1_ps(0.9999f);
#pragma GCC unroll 16
  for (int c = 0; c < kChains; ++c) sums[c] = _mm256_set1_ps(1.0f / static_cast<float>(c + 1));
  for (int64_t i = 0; i < kSteps; ++i) {
#pragma GCC unroll 16
    for (int c = 0; c < kChains; ++c) sums[c] = _mm256_fmadd_ps(sums[c], a, a);
  }
  __m256 sum = sums[0];
  for (int c = 1; c < kChains; ++c) sum = _mm256_add_ps(sum, sums[c]);
  benchmark::DoNotOptimize(_mm256_cvtss_f32(sum));
  return 8;
}

int RunFma(Isa isa) { return isa == Isa::kAvx512 ? RunFmaAvx512() : RunFmaAvx2(); }
#else
int RunFma(Isa) {
  float32x4_t sums[kChains];
  const float32x4_t a = vdupq_n_f32(0.9999f);
#pragma GCC unroll 16
  for (int c = 0; c < kChains; ++c) sums[c] = vdupq_n_f32(1.0f / static_cast<float>(c + 1));
  for (int64_t i = 0; i < kSteps; ++i) {
#pragma GCC unroll 16
    for (int c = 0; c < kChains; ++c) sums[c] = vfmaq_f32(a, sums[c], a);
  }
  float32x4_t sum = sums[0];
  for (int c = 1; c < kChains; ++c) sum = vaddq_f32(sum, sums[c]);
  benchmark::DoNotOptimize(vaddvq_f32(sum));
  return 4;
}
#endif

// Floating-point operations per second (two per multiply-add), the best of a few tries.
double MeasureFmaPeak(Isa isa) {
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    const double start = Seconds();
    const int width = RunFma(isa);
    best = std::max(best, 2.0 * width * kChains * kSteps / (Seconds() - start));
  }
  return best;
}

// Sums 64-byte lines with several sums at once.
uint64_t SumOf(const std::vector<uint64_t>& words) {
  uint64_t sums[16] = {};
  for (size_t i = 0; i + 16 <= words.size(); i += 16) {
    for (size_t k = 0; k < 16; ++k) sums[k] += words[i + k];
  }
  uint64_t sum = 0;
  for (const uint64_t s : sums) sum += s;
  return sum;
}

double MeasureReadBandwidth() {
  const std::vector<uint64_t> words(size_t{64} << 20, 1);
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    const double start = Seconds();
    benchmark::DoNotOptimize(SumOf(words));
    best = std::max(best, static_cast<double>(words.size() * 8) / (Seconds() - start));
  }
  return best;
}

struct Machine {
  Isa isa;
  double fma_peak;
  double read_bandwidth;
};

const Machine& ThisMachine() {
  static const Machine machine = [] {
    const Isa isa = IsaFromEnvironment().value();
    return Machine{
        .isa = isa, .fma_peak = MeasureFmaPeak(isa), .read_bandwidth = MeasureReadBandwidth()};
  }();
  return machine;
}

// The random pages of one head of keys and values, and everything else that a call needs.
struct Context {
  Context(KvType type, int dim, int64_t length, size_t heads, size_t tokens)
      : layout(MakePageLayout(type, dim, dim)),
        store(layout, static_cast<size_t>((length + kPagePositions - 1) / kPagePositions), 0),
        table(Attention(ThisMachine().isa)),
        rows(tokens * heads),
        state(layout, rows) {
    std::vector<float> values(static_cast<size_t>(kPagePositions * dim));
    for (int64_t first = 0; first < length; first += kPagePositions) {
      FillNormal(1, 0, static_cast<uint64_t>(first), values);
      store.Write(table, first, std::min<int64_t>(kPagePositions, length - first), values.data(),
                  values.data());
    }
    std::vector<float> q(rows * static_cast<size_t>(dim));
    FillNormal(2, 0, 0, q);
    queries.resize(QueryFloats(layout, rows));
    table.prepare_queries(layout, q.data(),
                          {.rows = rows,
                           .heads = heads,
                           .token_stride = heads * static_cast<size_t>(dim),
                           .head_stride = static_cast<size_t>(dim)},
                          QueryFactor(1.0f / std::sqrt(static_cast<float>(dim))), queries.data());
    for (size_t r = 0; r < rows; ++r) {
      const auto back = static_cast<int64_t>(tokens - r / heads);
      visible.push_back(VisibleTo(length - back, 0, 0));
      seen += length - back + 1;
    }
    job = {.layout = &layout,
           .pages = store.pages().data(),
           .page_count = store.pages().size(),
           .first_page = 0,
           .queries = queries.data(),
           .visible = visible.data(),
           .rows = rows};
  }

  PageLayout layout;
  PageStore store;
  const AttentionTable& table;
  size_t rows;
  StateBuffer state;
  std::vector<float> queries;
  std::vector<VisibleRows> visible;
  AttentionJob job;
  int64_t seen = 0;  // pairs of a query and a position
};

constexpr const char* kTypeNames[] = {"f16", "bf16", "q8", "q8i"};

// Prefill of the last 512 tokens of a context.
void Prefill(benchmark::State& state, KvType type, int dim, size_t heads, int64_t length) {
  const ComputeFloatMode mode;
  Context context(type, dim, length, heads, 512);
  for (auto _ : state) {
    ResetAttention(context.layout, context.rows, context.state.state());
    context.table.attend(context.job, context.state.state());
  }
  const double operations = 4.0 * dim * static_cast<double>(context.seen);
  using benchmark::Counter;
  state.counters["flop/s"] = Counter(operations, Counter::kIsIterationInvariantRate);
  state.counters["of_peak"] =
      Counter(operations / ThisMachine().fma_peak, Counter::kIsIterationInvariantRate);
}

// Decode of one token, over the pages of many heads in turn so that none is in a cache.
void Decode(benchmark::State& state, KvType type, int dim, size_t heads, int64_t length) {
  const ComputeFloatMode mode;
  const PageLayout layout = MakePageLayout(type, dim, dim);
  const size_t bytes = layout.bytes * static_cast<size_t>(length / kPagePositions);
  std::vector<std::unique_ptr<Context>> contexts;
  for (size_t total = 0; total < size_t{256} << 20; total += bytes) {
    contexts.push_back(std::make_unique<Context>(type, dim, length, heads, 1));
  }
  size_t next = 0;
  for (auto _ : state) {
    Context& context = *contexts[next++ % contexts.size()];
    ResetAttention(layout, context.rows, context.state.state());
    context.table.attend(context.job, context.state.state());
  }
  using benchmark::Counter;
  state.counters["bytes/s"] =
      Counter(static_cast<double>(bytes), Counter::kIsIterationInvariantRate);
  state.counters["of_bandwidth"] =
      Counter(static_cast<double>(bytes) / ThisMachine().read_bandwidth,
              Counter::kIsIterationInvariantRate);
}

void WriteRows(benchmark::State& state, KvType type) {
  const ComputeFloatMode mode;
  constexpr int kDim = 128;
  PageStore store(MakePageLayout(type, kDim, kDim), 1, 0);
  std::vector<float> rows(size_t{kPagePositions} * kDim);
  FillNormal(1, 0, 0, rows);
  for (auto _ : state) {
    store.Write(Attention(ThisMachine().isa), 0, kPagePositions, rows.data(), rows.data());
  }
  state.SetItemsProcessed(state.iterations() * kPagePositions * kDim * 2);
}

void ExportPage(benchmark::State& state, KvType type) {
  const PageLayout layout = MakePageLayout(type, 128, 128);
  PageStore store(layout, 1, 1);
  std::vector<uint8_t> rows((layout.key_row_bytes + layout.value_row_bytes) * kPagePositions);
  for (auto _ : state) {
    ExportRows(layout, store.pages()[0], 0, kPagePositions, rows.data());
    ImportRows(layout, rows.data(), 0, kPagePositions, store.pages()[0]);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(2 * rows.size()));
}

void Map(benchmark::State& state, MapFunction OpsTable::* map, size_t count) {
  const ComputeFloatMode mode;
  std::vector<float> x(count);
  FillNormal(1, 0, 0, x);
  std::vector<float> y(count);
  for (auto _ : state) (Ops(ThisMachine().isa).*map)(x.data(), count, y.data());
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(count));
}

void RmsNorm(benchmark::State& state, size_t count) {
  const ComputeFloatMode mode;
  std::vector<float> x(count);
  FillNormal(1, 0, 0, x);
  std::vector<float> y(count);
  for (auto _ : state) {
    Ops(ThisMachine().isa).rms_norm(x.data(), 0, 1, count, x.data(), 1e-5f, y.data(), 0);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(count));
}

void Swiglu(benchmark::State& state, size_t count) {
  const ComputeFloatMode mode;
  std::vector<float> x(count);
  FillNormal(1, 0, 0, x);
  std::vector<float> y(count);
  for (auto _ : state) {
    Ops(ThisMachine().isa).swiglu(x.data(), x.data(), count, HUGE_VALF, y.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(count));
}

void RegisterAttention() {
  for (const KvType type : {KvType::kF16, KvType::kBf16, KvType::kQ8, KvType::kQ8Int}) {
    const std::string name = kTypeNames[static_cast<size_t>(type)];
    for (const auto& [dim, heads] : {std::pair{64, 4}, std::pair{128, 2}, std::pair{128, 8}}) {
      const std::string shape =
          name + "/dim:" + std::to_string(dim) + "/heads:" + std::to_string(heads);
      for (const int64_t length : {512, 2048, 16384}) {
        benchmark::RegisterBenchmark(
            ("prefill/" + shape + "/context:" + std::to_string(length)).c_str(),
            [=, d = dim, h = heads](benchmark::State& state) {
              Prefill(state, type, d, static_cast<size_t>(h), length);
            });
      }
      benchmark::RegisterBenchmark(("decode/" + shape + "/context:16384").c_str(),
                                   [=, d = dim, h = heads](benchmark::State& state) {
                                     Decode(state, type, d, static_cast<size_t>(h), 16384);
                                   });
    }
    benchmark::RegisterBenchmark(
        ("decode/" + name + "/dim:64/heads:1/context:16384").c_str(),
        [=](benchmark::State& state) { Decode(state, type, 64, 1, 16384); });
    benchmark::RegisterBenchmark(("write_rows/" + name).c_str(),
                                 [=](benchmark::State& state) { WriteRows(state, type); });
    benchmark::RegisterBenchmark(("export_and_import/" + name).c_str(),
                                 [=](benchmark::State& state) { ExportPage(state, type); });
  }
}

void RegisterOps() {
  constexpr std::pair<const char*, MapFunction OpsTable::*> kMaps[] = {
      {"exp", &OpsTable::exp},
      {"silu", &OpsTable::silu},
      {"sqrt_softplus", &OpsTable::sqrt_softplus}};
  for (const auto& [name, map] : kMaps) {
    benchmark::RegisterBenchmark(name, [m = map](benchmark::State& state) { Map(state, m, 4096); });
  }
  benchmark::RegisterBenchmark(
      "softmax/128256", [](benchmark::State& state) { Map(state, &OpsTable::softmax, 128256); });
  benchmark::RegisterBenchmark("rms_norm/2048",
                               [](benchmark::State& state) { RmsNorm(state, 2048); });
  benchmark::RegisterBenchmark("swiglu/8192", [](benchmark::State& state) { Swiglu(state, 8192); });
}

}  // namespace
}  // namespace aster::kernels

int main(int argc, char** argv) {
  using aster::kernels::ThisMachine;
  benchmark::Initialize(&argc, argv);
  benchmark::AddCustomContext("isa", std::string(aster::kernels::IsaName(ThisMachine().isa)));
  benchmark::AddCustomContext("fma_peak_gflops", std::to_string(ThisMachine().fma_peak / 1e9));
  benchmark::AddCustomContext("read_gigabytes_per_s",
                              std::to_string(ThisMachine().read_bandwidth / 1e9));
  aster::kernels::RegisterAttention();
  aster::kernels::RegisterOps();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
