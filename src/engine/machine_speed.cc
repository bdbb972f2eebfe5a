// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/machine_speed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "base/machine.h"
#include "base/random.h"
#include "base/units.h"
#include "compute/commands.h"
#include "compute/context.h"
#include "compute/cpu/backend.h"
#include "compute/matrix.h"
#include "gguf/types.h"
#include "kernels/isa_choice.h"

namespace aster::engine {
namespace {

using compute::Matrix;

// A matrix as in models, of the type whose bytes need no unpacking.
constexpr size_t kColumns = 4096;
constexpr size_t kRows = 1024;
constexpr size_t kPromptRows = 128;
constexpr size_t kQ8BlockBytes = 34;
constexpr uint16_t kQ8Scale = 0x1C00;  // 1/256 in fp16

// Weights for single tokens: more than fits into caches, and quickly packed.
constexpr uint64_t kLeastStreamBytes = uint64_t{64} << 20;
constexpr uint64_t kMostStreamBytes = uint64_t{256} << 20;

constexpr int64_t kMeasureNs = 80 * kNsPerMs;
constexpr int kLeastPasses = 2;
// Long enough that a batch's fixed cost (some 100 µs) does not matter.
constexpr double kLongBatchS = 5e-3;

// Blocks of q8_0: a scale and 32 numbers each.
std::vector<uint8_t> Weights() {
  std::vector<uint8_t> bytes(kRows * kColumns / 32 * kQ8BlockBytes);
  Random random(1);
  for (size_t i = 0; i < bytes.size(); i += kQ8BlockBytes) {
    std::memcpy(&bytes[i], &kQ8Scale, sizeof(kQ8Scale));
    for (size_t j = sizeof(kQ8Scale); j < kQ8BlockBytes; j += sizeof(uint32_t)) {
      const uint32_t numbers = random.NextU32();
      std::memcpy(&bytes[i + j], &numbers, sizeof(numbers));
    }
  }
  return bytes;
}

// Rows that are multiplied with matrices, and the results.
class Rows {
 public:
  static Result<Rows> Make(compute::Backend& backend, size_t count) {
    Random random(2);
    std::vector<float> numbers(count * kColumns);
    for (float& value : numbers) {
      value = static_cast<float>(static_cast<int64_t>(random.NextBelow(2001)) - 1000) / 1000;
    }
    Rows rows(backend.NewCommands());
    TRY(rows.in_.Shape(backend, count, kColumns));
    TRY(rows.out_.Shape(backend, count, kRows));
    TRY(rows.commands_->Begin());
    TRY(rows.commands_->Upload(numbers, rows.in_.tensor()));
    TRY(rows.Compute());
    return rows;
  }

  // With all of these matrices in one batch: the shortest of several times.
  Result<double> BatchSeconds(std::span<const Matrix> matrices, const Clock& clock) {
    return Best(clock, [&] { return Through(matrices); });
  }

  // To the device and back.
  Result<double> CopySeconds(const Clock& clock) {
    const std::vector<float> numbers(in_.tensor().rows * kColumns, 1.0F);
    return Best(clock, [&]() -> Status {
      std::span<const float> back;
      TRY(commands_->Begin());
      TRY(commands_->Upload(numbers, in_.tensor()));
      TRY(commands_->Download(in_.tensor(), &back));
      return Compute();
    });
  }

  // With one matrix after the other, several times. The shortest time of each counts, so that
  // another program that takes a core at times does not matter.
  Result<double> BestSeconds(std::span<const Matrix> matrices, const Clock& clock) {
    std::vector<int64_t> best_ns(matrices.size(), std::numeric_limits<int64_t>::max());
    const int64_t end_ns = clock.NowNs() + kMeasureNs;
    for (int pass = 0; pass < kLeastPasses || clock.NowNs() < end_ns; ++pass) {
      for (size_t i = 0; i < matrices.size(); ++i) {
        const int64_t start_ns = clock.NowNs();
        TRY(Through({&matrices[i], 1}));
        best_ns[i] = std::min(best_ns[i], clock.NowNs() - start_ns);
      }
    }
    const int64_t sum_ns = std::accumulate(best_ns.begin(), best_ns.end(), int64_t{0});
    return static_cast<double>(std::max<int64_t>(sum_ns, 1)) * 1e-9;
  }

 private:
  explicit Rows(std::unique_ptr<compute::Commands> commands)
      : commands_(std::move(commands)), operand_(commands_->NewOperand()) {}

  static Result<double> Best(const Clock& clock, FunctionRef<Status()> compute) {
    int64_t best_ns = std::numeric_limits<int64_t>::max();
    const int64_t end_ns = clock.NowNs() + kMeasureNs;
    for (int pass = 0; pass < kLeastPasses || clock.NowNs() < end_ns; ++pass) {
      const int64_t start_ns = clock.NowNs();
      TRY(compute());
      best_ns = std::min(best_ns, clock.NowNs() - start_ns);
    }
    return static_cast<double>(std::max<int64_t>(best_ns, 1)) * 1e-9;
  }

  // Prepares the rows again for each matrix, as every layer does.
  Status Through(std::span<const Matrix> matrices) {
    TRY(commands_->Begin());
    for (const Matrix& matrix : matrices) {
      operand_->Set(in_.tensor());
      const compute::Product product{&matrix, operand_.get(), out_.tensor()};
      TRY(commands_->Multiply({&product, 1}));
    }
    return Compute();
  }
  Status Compute() {
    TRY(commands_->Submit());
    return commands_->Wait();
  }

  compute::Array in_;   // [count, kColumns]
  compute::Array out_;  // [count, kRows]
  std::unique_ptr<compute::Commands> commands_;
  std::unique_ptr<compute::Operand> operand_;
};

// More than fits into caches.
Result<std::vector<Matrix>> Matrices(compute::Backend& backend) {
  const std::vector<uint8_t> weights = Weights();
  const gguf::Tensor tensor{.name = "speed",
                            .type = gguf::TensorType::kQ8_0,
                            .dim_count = 2,
                            .dims = {kColumns, kRows, 1, 1},
                            .element_count = kColumns * kRows,
                            .size_known = true,
                            .data = weights};
  std::vector<Matrix> matrices;
  uint64_t bytes = 0;
  const uint64_t wanted = machine_speed_internal::StreamBytes(DetectCacheSizes().l3_bytes,
                                                              DetectMemory().available_bytes);
  while (matrices.empty() || bytes < wanted) {
    matrices.push_back(TRY(Matrix::Pack(tensor, 0, backend)));
    bytes += matrices.back().bytes();
  }
  return matrices;
}

uint64_t BytesOf(std::span<const Matrix> matrices) {
  uint64_t bytes = 0;
  for (const Matrix& matrix : matrices) bytes += matrix.bytes();
  return bytes;
}

// Seconds for each matrix of a batch: of all, or of one if that takes long enough.
Result<double> SecondsEach(Rows& rows, std::span<const Matrix> matrices, const Clock& clock) {
  const double one_s = TRY(rows.BatchSeconds(matrices.first(1), clock));
  if (one_s > kLongBatchS) return one_s;
  return TRY(rows.BatchSeconds(matrices, clock)) / static_cast<double>(matrices.size());
}

constexpr double kPromptFlops = 2.0 * kColumns * kRows * kPromptRows;

}  // namespace

namespace machine_speed_internal {

uint64_t StreamBytes(uint64_t cache_bytes, uint64_t available_bytes) {
  const uint64_t wanted = std::clamp(2 * cache_bytes, kLeastStreamBytes, kMostStreamBytes);
  return std::min(wanted, available_bytes / 4);
}

}  // namespace machine_speed_internal

vulkan::KernelUse MeasuredUse() { return {.weights = {kernels::WeightType::kQ8_0}}; }

Result<DeviceSpeed> MeasureDevice(compute::Backend& backend, const Clock& clock) {
  const std::vector<Matrix> matrices = TRY(Matrices(backend));
  Rows prompt = TRY(Rows::Make(backend, kPromptRows));
  Rows token = TRY(Rows::Make(backend, 1));
  const double prompt_s = TRY(SecondsEach(prompt, matrices, clock));
  const double token_s = TRY(SecondsEach(token, matrices, clock));
  const double row_s = TRY(token.CopySeconds(clock));
  const double rows_s = TRY(prompt.CopySeconds(clock));
  // For many rows, minus the time of a batch with one row.
  constexpr double kCopied = 2.0 * (kPromptRows - 1) * kColumns * sizeof(float);
  return DeviceSpeed{.multiply_flops_per_s = kPromptFlops / prompt_s,
                     .memory_bytes_per_s = static_cast<double>(matrices[0].bytes()) / token_s,
                     .bus_round_trip_s = row_s,
                     .bus_bytes_per_s = kCopied / std::max(rows_s - row_s, 1e-9)};
}

Result<MachineSpeed> MeasureSpeed(ThreadPool& pool, kernels::Isa isa, const Clock& clock) {
  compute::Context context{pool, isa};
  compute::CpuBackend backend(context);
  const std::vector<Matrix> matrices = TRY(Matrices(backend));
  const uint64_t bytes = BytesOf(matrices);
  Rows prompt = TRY(Rows::Make(backend, kPromptRows));
  const double prompt_s = TRY(prompt.BestSeconds(std::span(matrices).first(1), clock));
  Rows token = TRY(Rows::Make(backend, 1));
  const double token_s = TRY(token.BestSeconds(matrices, clock));
  return MachineSpeed{
      .multiply_flops_per_s = kPromptFlops / prompt_s,
      .memory_bytes_per_s = static_cast<double>(bytes) / token_s,
      .how = fmt::format("q8_0, {} threads, {}: {} x {} with {} rows; {} with 1 row",
                         pool.thread_count(), kernels::IsaName(isa), kColumns, kRows, kPromptRows,
                         FormatBytes(bytes))};
}

}  // namespace aster::engine
