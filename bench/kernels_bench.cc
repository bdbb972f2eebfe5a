// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Matrix products on one core, beside the core's limits. Decode: one row of activations, weights
// from memory, as a fraction of the bandwidth of a loop that only reads; the two alternate, so that
// other processes disturb both alike. Prefill: many rows, as a fraction of the peak of dot products
// of bytes (fused multiply-adds for floats) in a register-only loop. Packing and preparing: bytes
// read per second. One instruction set per run: ASTER_ISA chooses it, or else it is the fastest.

#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/float_mode.h"
#include "base/large_pages.h"
#include "kernels/isa_choice.h"
#include "kernels/limits.h"
#include "kernels/matmul_test_support.h"

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

// --- Peaks.

// The loops that measure the limits of an instruction set.
const LimitLoops& LimitsOf(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kAvx2:
      return kLimitsAvx2;
    case Isa::kAvxVnni:
      return kLimitsAvxVnni;
    case Isa::kAvx512:
      return kLimitsAvx512;
    case Isa::kAmx:
      return kLimitsAmx;
#elif defined(__aarch64__)
    case Isa::kNeon:
      return kLimitsNeon;
    case Isa::kI8mm:
      return kLimitsI8mm;
#endif
    default:
      return kLimitsRef;
  }
}

// Operations per second, the best of a few tries.
template <typename F>
double BestRate(double operations, const F& run) {
  double best = 0;
  for (int i = 0; i < 10; ++i) {
    const double start = Seconds();
    run();
    best = std::max(best, operations / (Seconds() - start));
  }
  return best;
}

double IntegerPeak(Isa isa) {
  constexpr uint64_t kRounds = 200'000;
  const LimitLoops& limits = LimitsOf(isa);
  return BestRate(2.0 * static_cast<double>(kRounds * limits.dots_per_round),
                  [&] { benchmark::DoNotOptimize(limits.dot(kRounds)); });
}

// The loop of fused multiply-adds has enough independent chains to cover the latency of every known
// core. They stay in registers because DoNotOptimize makes them look used, and all start from
// different values, so that the compiler cannot merge them.
constexpr int kChains = 12;
constexpr int64_t kSteps = 1'000'000;
#define FMA_LOOP(Type, first, next)                                              \
  Type sums[kChains];                                                            \
  for (int c = 0; c < kChains; ++c) sums[c] = (first);                           \
  for (int64_t i = 0; i < kSteps; ++i) {                                         \
    _Pragma("GCC unroll 16") for (int c = 0; c < kChains; ++c) sums[c] = (next); \
  }                                                                              \
  for (int c = 0; c < kChains; ++c) benchmark::DoNotOptimize(sums[c])

#if defined(__x86_64__)
TARGET("avx512f") void FmaAvx512() {
  const __m512 a = _mm512_set1_ps(0.999f);
  FMA_LOOP(__m512, _mm512_set1_ps(static_cast<float>(c)), _mm512_fmadd_ps(sums[c], a, a));
}
TARGET("avx2,fma") void FmaAvx2() {
  const __m256 a = _mm256_set1_ps(0.999f);
  FMA_LOOP(__m256, _mm256_set1_ps(static_cast<float>(c)), _mm256_fmadd_ps(sums[c], a, a));
}
double FloatPeak(Isa isa) {
  const bool wide = isa == Isa::kAvx512 || isa == Isa::kAmx;
  return BestRate((wide ? 32.0 : 16.0) * kChains * kSteps, wide ? FmaAvx512 : FmaAvx2);
}
#else
void FmaNeon() {
  const float32x4_t a = vdupq_n_f32(0.999f);
  FMA_LOOP(float32x4_t, vdupq_n_f32(static_cast<float>(c)), vfmaq_f32(a, sums[c], a));
}
double FloatPeak(Isa) { return BestRate(8.0 * kChains * kSteps, FmaNeon); }
#endif

struct Machine {
  Isa isa;
  double integer_peak;
  double float_peak;

  // The peak of the operation that multiplies weights of this type. Tiles take half as many
  // bfloat16 as bytes.
  double PeakFor(TensorType type) const {
    const ActivationFormat format = ActivationFormatFor(type);
    if (format == ActivationFormat::kBF16 && isa == Isa::kAmx) return integer_peak / 2;
    return format <= ActivationFormat::kBF16 ? float_peak : integer_peak;
  }
};

const Machine& ThisMachine() {
  static const Machine machine = [] {
    const Isa isa = IsaFromEnvironment().value();
    return Machine{.isa = isa, .integer_peak = IntegerPeak(isa), .float_peak = FloatPeak(isa)};
  }();
  return machine;
}

void Read(const uint8_t* bytes, size_t size) {
  benchmark::DoNotOptimize(
      LimitsOf(ThisMachine().isa).read(bytes, size / kReadMultiple * kReadMultiple));
}

// --- Products.

// Large pages, as for weights (compute/buffer.h): in pages of a few KiB, translating addresses can
// take as long as reading.
class LargeBytes {
 public:
  explicit LargeBytes(size_t size) : data_(MapLargePages(size, /*reserved=*/true)), size_(size) {
    CHECK(data_ != nullptr);
  }
  LargeBytes(const LargeBytes&) = delete;
  LargeBytes& operator=(const LargeBytes&) = delete;
  ~LargeBytes() { munmap(data_, size_); }

  uint8_t* data() { return data_; }
  const uint8_t* data() const { return data_; }

 private:
  uint8_t* data_;  // [size_]
  size_t size_;
};

// A large matrix made of copies of a small one: its values do not matter here.
struct LargeMatrix {
  LargeMatrix(TensorType matrix_type, size_t row_count, size_t column_count)
      : type(matrix_type),
        rows(row_count),
        columns(column_count),
        panel_bytes(PanelBytes(type, columns)),
        packed(PanelCount(rows) * panel_bytes) {
    const FileMatrix small(type, kPanelRows, columns, TestValues::kPlain, 1);
    const AlignedBytes panel = small.Packed();
    for (size_t i = 0; i < PanelCount(rows); ++i) {
      std::copy_n(panel.data(), panel_bytes, packed.data() + i * panel_bytes);
    }
  }

  MatmulJob Job(const PreparedRows& prepared, float* out) const {
    return {.weights = packed.data(),
            .rows = rows,
            .columns = columns,
            .activations = prepared.bytes.data(),
            .activation_rows = prepared.rows,
            .first_row = 0,
            .batch = prepared.rows,
            .out = out,
            .out_stride = rows,
            .to_rows = nullptr};
  }

  TensorType type;
  size_t rows;
  size_t columns;
  size_t panel_bytes;
  LargeBytes packed;
};

// Much more than the caches hold.
constexpr size_t kDecodeBytes = size_t{192} << 20;
constexpr size_t kTurnBytes = size_t{6} << 20;

void Decode(benchmark::State& state, TensorType type, size_t columns, size_t batch) {
  const ComputeFloatMode mode;
  const Isa isa = ThisMachine().isa;
  const size_t panels = kDecodeBytes / PanelBytes(type, columns);
  const LargeMatrix matrix(type, panels * kPanelRows, columns);
  const PreparedRows prepared(isa, ActivationFormatFor(type),
                              TestRows(batch, columns, TestValues::kPlain, 2), columns);
  std::vector<float> out(batch * matrix.rows);
  const MatmulJob job = matrix.Job(prepared, out.data());
  const size_t turn = kTurnBytes / matrix.panel_bytes;
  double reading = 0;
  double multiplying = 0;
  size_t panel = 0;
  for (auto _ : state) {
    if (panel + 2 * turn > panels) panel = 0;
    const double start = Seconds();
    Read(matrix.packed.data() + panel * matrix.panel_bytes, turn * matrix.panel_bytes);
    const double middle = Seconds();
    Matmul(isa, type, job, panel + turn, panel + 2 * turn);
    const double end = Seconds();
    panel += 2 * turn;
    reading += middle - start;
    multiplying += end - middle;
    state.SetIterationTime(end - middle);
  }
  const double bytes =
      static_cast<double>(state.iterations()) * static_cast<double>(turn * matrix.panel_bytes);
  state.counters["GB/s"] = bytes / multiplying * 1e-9;
  state.counters["of_reading"] = reading / multiplying;
}

void Prefill(benchmark::State& state, TensorType type, size_t columns, size_t batch) {
  const ComputeFloatMode mode;
  const Machine& machine = ThisMachine();
  const LargeMatrix matrix(type, 2048, columns);
  const PreparedRows prepared(machine.isa, ActivationFormatFor(type),
                              TestRows(batch, columns, TestValues::kPlain, 3), columns);
  // Large pages, as in the engine (compute/buffer.h).
  LargeBytes rows(prepared.bytes.size());
  std::copy_n(prepared.bytes.data(), prepared.bytes.size(), rows.data());
  LargeBytes out(batch * matrix.rows * sizeof(float));
  MatmulJob job = matrix.Job(prepared, reinterpret_cast<float*>(out.data()));
  job.activations = rows.data();
  const double operations = 2.0 * static_cast<double>(matrix.rows * columns * batch);
  double best = 0;
  for (auto _ : state) {
    const double start = Seconds();
    Matmul(machine.isa, type, job, 0, PanelCount(matrix.rows));
    const double seconds = Seconds() - start;
    best = std::max(best, operations / seconds);
    state.SetIterationTime(seconds);
  }
  state.counters["TOP/s"] = best * 1e-12;
  state.counters["of_peak"] = best / machine.PeakFor(type);
}

// --- Preparing and packing.

void Prepare(benchmark::State& state, ActivationFormat format) {
  const ComputeFloatMode mode;
  constexpr size_t kColumns = 4096;
  constexpr size_t kRows = 16;
  const std::vector<float> values = TestRows(kRows, kColumns, TestValues::kPlain, 4);
  AlignedBytes out(ActivationBytes(format, kRows, kColumns), kActivationAlignment);
  double total = 0;
  for (auto _ : state) {
    const double start = Seconds();
    PrepareActivations(ThisMachine().isa, format, {values.data(), kColumns, kRows, kColumns}, 0,
                       kRows, out.data());
    total += Seconds() - start;
    state.SetIterationTime(Seconds() - start);
  }
  state.counters["GB/s"] = static_cast<double>(state.iterations()) *
                           static_cast<double>(values.size() * sizeof(float)) / total * 1e-9;
}

void Pack(benchmark::State& state, TensorType type) {
  constexpr size_t kColumns = 2048;
  const size_t row_bytes = gguf::RowBytes(type, kColumns).value();
  const size_t rows = kDecodeBytes / 2 / row_bytes / kPanelRows * kPanelRows;
  const FileMatrix small(type, 256, kColumns, TestValues::kPlain, 5);
  AlignedBytes file(rows * row_bytes);
  for (size_t at = 0; at < file.size(); at += small.bytes.size()) {
    std::copy_n(small.bytes.data(), std::min(small.bytes.size(), file.size() - at),
                file.data() + at);
  }
  const PackSource source = {file.data(), row_bytes, rows, kColumns};
  LargeBytes packed(PanelCount(rows) * PanelBytes(type, kColumns));
  const size_t turn = kTurnBytes / PanelBytes(type, kColumns);
  double reading = 0;
  double packing = 0;
  size_t panel = 0;
  for (auto _ : state) {
    if (panel + 2 * turn > PanelCount(rows)) panel = 0;
    const double start = Seconds();
    Read(file.data() + panel * kPanelRows * row_bytes, turn * kPanelRows * row_bytes);
    const double middle = Seconds();
    PackPanels(type, source, panel + turn, panel + 2 * turn, packed.data());
    const double end = Seconds();
    panel += 2 * turn;
    reading += middle - start;
    packing += end - middle;
    state.SetIterationTime(end - middle);
  }
  state.counters["GB/s"] = static_cast<double>(state.iterations()) *
                           static_cast<double>(turn * kPanelRows * row_bytes) / packing * 1e-9;
  state.counters["of_reading"] = reading / packing;
}

void RegisterAll() {
  for (const TensorType type : kAllTypes) {
    const std::string name = TypeName(type);
    for (const size_t batch : {1, 4, 8, 32}) {
      benchmark::RegisterBenchmark(
          ("Decode/" + name + "/batch:" + std::to_string(batch)).c_str(),
          [=](benchmark::State& state) { Decode(state, type, 2048, batch); })
          ->UseManualTime()
          ->Unit(benchmark::kMicrosecond);
    }
    for (const size_t columns : {2048, 8192}) {
      benchmark::RegisterBenchmark(
          ("Prefill/" + name + "/columns:" + std::to_string(columns)).c_str(),
          [=](benchmark::State& state) { Prefill(state, type, columns, 512); })
          ->UseManualTime()
          ->Unit(benchmark::kMillisecond);
    }
    benchmark::RegisterBenchmark(("Pack/" + name).c_str(),
                                 [=](benchmark::State& state) { Pack(state, type); })
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  }
  constexpr std::pair<ActivationFormat, const char*> kFormats[] = {
      {ActivationFormat::kF32, "Prepare/f32"},
      {ActivationFormat::kBF16, "Prepare/bf16"},
      {ActivationFormat::kInt8Per32, "Prepare/int8_per_32"},
      {ActivationFormat::kInt8Per256, "Prepare/int8_per_256"}};
  for (const auto& [format, name] : kFormats) {
    benchmark::RegisterBenchmark(name, [=](benchmark::State& state) { Prepare(state, format); })
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  }
}

}  // namespace
}  // namespace aster::kernels

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const auto& machine = aster::kernels::ThisMachine();
  benchmark::AddCustomContext("isa", std::string(aster::kernels::IsaName(machine.isa)));
  benchmark::AddCustomContext("integer_peak_TOPS", std::to_string(machine.integer_peak * 1e-12));
  benchmark::AddCustomContext("float_peak_TFLOPS", std::to_string(machine.float_peak * 1e-12));
  aster::kernels::RegisterAll();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
