// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The test device as a back end, and the processor: results of both must have the same bits. Only
// for tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "compute/cpu/backend.h"
#include "compute/cpu/memory.h"
#include "kernels/isa_choice.h"
#include "quant/quantize.h"
#include "vulkan/backend/backend.h"
#include "vulkan/backend/commands.h"
#include "vulkan/check/check_test_support.h"

namespace aster::vulkan {

// A matrix of a file, of weights that are about as large as those of models.
class TensorOfFile {
 public:
  TensorOfFile(gguf::TensorType type, size_t columns, size_t rows, size_t matrices, uint64_t seed) {
    const size_t row_bytes = gguf::RowBytes(type, columns).value();
    bytes_.resize(row_bytes * rows * matrices);
    std::vector<float> row(columns);
    for (size_t i = 0; i < rows * matrices; ++i) {
      FillNormal(seed, i, 0, row);
      for (float& value : row) value *= 0.05f;
      CHECK(quant::Quantize(type, row, std::span(bytes_).subspan(i * row_bytes, row_bytes)).ok());
    }
    tensor_ = {.name = "test",
               .type = type,
               .dim_count = 3,
               .dims = {columns, rows, matrices, 1},
               .element_count = columns * rows * matrices,
               .size_known = true,
               .data = bytes_};
  }
  TensorOfFile(const TensorOfFile&) = delete;
  TensorOfFile& operator=(const TensorOfFile&) = delete;

  const gguf::Tensor& tensor() const { return tensor_; }

 private:
  std::vector<uint8_t> bytes_;
  gguf::Tensor tensor_;
};

// Arrays of a back end, and batches of operations with them.
class Bench {
 public:
  explicit Bench(compute::Backend& backend) : backend_(backend), commands_(backend.NewCommands()) {}

  compute::Backend& backend() { return backend_; }
  compute::Commands& commands() { return *commands_; }

  // Rows with these numbers.
  compute::Tensor Put(const std::vector<float>& numbers, size_t columns) {
    return Keep(compute::Array::Of(backend_, numbers).value()).As(columns);
  }
  // Normal numbers, the same for the same seed.
  compute::Tensor Rows(size_t rows, size_t columns, uint64_t seed) {
    return Put(CheckFloats(rows * columns, CheckValues::kOrdinary, seed), columns);
  }
  compute::Tensor Room(size_t rows, size_t columns,
                       compute::Element element = compute::Element::kF32) {
    compute::Array array;
    CHECK(array.Shape(backend_, rows, columns, element).ok());
    return Keep(std::move(array));
  }

  // Runs a batch; returns the content of `out`.
  std::vector<float> Run(FunctionRef<Status(compute::Commands&)> record,
                         const compute::Tensor& out) {
    std::span<const float> rows;
    const Status status = TryRun([&](compute::Commands& commands) -> Status {
      TRY(record(commands));
      return commands.Download(out, &rows);
    });
    EXPECT_OK(status);
    return status.ok() ? std::vector<float>(rows.begin(), rows.end()) : std::vector<float>();
  }
  Status TryRun(FunctionRef<Status(compute::Commands&)> record) {
    TRY(commands_->Begin());
    TRY(record(*commands_));
    TRY(commands_->Submit());
    return commands_->Wait();
  }

 private:
  compute::Tensor Keep(compute::Array array) {
    arrays_.push_back(std::move(array));
    return arrays_.back().tensor();
  }

  compute::Backend& backend_;
  std::vector<compute::Array> arrays_;
  std::unique_ptr<compute::Commands> commands_;
};

// With tables in memory that host and device share, and with copies of them.
class BackendTest : public KernelTest, public testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    KernelTest::SetUp();
    if (!IsSkipped()) device_ = std::make_unique<DeviceBackend>(kernels(), host_, GetParam());
  }
  void TearDown() override {
    device_.reset();
    KernelTest::TearDown();
  }

  compute::Backend& cpu() { return cpu_; }
  DeviceBackend& gpu() { return *device_; }

  // Compares the numbers that run(backend) returns on both back ends.
  template <typename Run>
  void ExpectEqual(std::string_view what, Run run) {
    const std::vector<float> want = run(cpu());
    const std::vector<float> got = run(gpu());
    ASSERT_FALSE(want.empty()) << what;
    ASSERT_EQ(want.size(), got.size()) << what;
    EXPECT_OK(CompareFloats(what, want, got));
  }

 private:
  const ComputeFloatMode mode_;
  ThreadPool pool_{1};
  compute::Context host_{pool_, kernels::FastestIsa()};
  compute::CpuBackend cpu_{host_};
  std::unique_ptr<DeviceBackend> device_;
};

inline std::string NameOfTables(const testing::TestParamInfo<bool>& is_staged) {
  return is_staged.param ? "Staged" : "Shared";
}

}  // namespace aster::vulkan
