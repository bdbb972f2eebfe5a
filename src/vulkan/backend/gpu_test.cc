// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/gpu.h"

#include <gtest/gtest.h>

#include "compute/matrix.h"
#include "kernels/isa_choice.h"
#include "vulkan/backend/backend_test_support.h"

namespace aster::vulkan {
namespace {

class GpuTest : public testing::Test {
 protected:
  ThreadPool pool_{1};
  compute::Context host_{pool_, kernels::FastestIsa()};
};

TEST_F(GpuTest, OffOpensNone) {
  const auto gpu = OpenGpu({.kind = GpuChoice::Kind::kOff}, {}, host_);
  ASSERT_FALSE(gpu.ok());
  EXPECT_EQ(gpu.error().code(), Code::kNotFound);
}

Status Multiply(compute::Backend& backend, gguf::TensorType type) {
  const TensorOfFile weights(type, 256, 16, 1, 1);
  const auto matrix = TRY(compute::Matrix::Pack(weights.tensor(), 0, backend));
  Bench bench(backend);
  const compute::Tensor rows = bench.Rows(1, 256, 2), out = bench.Room(1, 16);
  const auto operand = bench.commands().NewOperand();
  return bench.TryRun([&](compute::Commands& commands) -> Status {
    operand->Set(rows);
    const compute::Product product{&matrix, operand.get(), out};
    return commands.Multiply({&product, 1});
  });
}

// Kernels that were not requested were not checked, and are refused.
void ExpectNoneIsThere(compute::Commands& commands) {
  const auto code_of = [](const Status& status) { return status.error().code(); };
  EXPECT_EQ(code_of(commands.Choose({})), Code::kFailedPrecondition);
  EXPECT_EQ(code_of(commands.SumExperts({})), Code::kFailedPrecondition);
  EXPECT_EQ(code_of(commands.MakeStreamWeights({})), Code::kFailedPrecondition);
  EXPECT_EQ(code_of(commands.WriteRows({})), Code::kFailedPrecondition);
  EXPECT_EQ(code_of(commands.Compress({})), Code::kFailedPrecondition);
  EXPECT_EQ(code_of(commands.Rank({})), Code::kFailedPrecondition);
  EXPECT_EQ(code_of(commands.AttendRows({})), Code::kFailedPrecondition);
  EXPECT_EQ(code_of(commands.FinishIndexQueries({})), Code::kFailedPrecondition);
  const kernels::PageLayout page = kernels::MakePageLayout(kernels::KvType::kF16, 64, 64);
  compute::HeadAttention attention = {};
  attention.head_page = &page;
  EXPECT_EQ(code_of(commands.Attend(attention)), Code::kFailedPrecondition);
}

TEST_F(GpuTest, ANumberOpensThatDeviceAndNoOther) {
  if (!OpenTestDevice().ok()) GTEST_SKIP() << "no device to test with";
  const auto none = OpenGpu({.kind = GpuChoice::Kind::kIndex, .index = 99}, {}, host_);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message().find("99"), std::string::npos);
  const auto gpu = OpenGpu({.kind = GpuChoice::Kind::kIndex, .index = 0},
                           {.weights = {kernels::WeightType::kQ8_0}}, host_);
  ASSERT_TRUE(gpu.ok()) << gpu.error().message();
  EXPECT_FALSE((*gpu)->name().empty());
  EXPECT_GT((*gpu)->available_bytes(), 0u);
  EXPECT_FALSE((*gpu)->lost());
  EXPECT_TRUE((*gpu)->backend().Allocate(1 << 20).ok());
  EXPECT_OK(Multiply((*gpu)->backend(), gguf::TensorType::kQ8_0));
  EXPECT_EQ(Multiply((*gpu)->backend(), gguf::TensorType::kQ4_0).error().code(),
            Code::kFailedPrecondition);
  ExpectNoneIsThere(*(*gpu)->backend().NewCommands());
}

}  // namespace
}  // namespace aster::vulkan
