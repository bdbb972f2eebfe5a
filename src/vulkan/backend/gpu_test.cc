// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/gpu.h"

#include <gtest/gtest.h>

#include "kernels/isa_choice.h"
#include "vulkan/check/check_test_support.h"

namespace aster::vulkan {
namespace {

class GpuTest : public testing::Test {
 protected:
  ThreadPool pool_{1};
  compute::Context host_{pool_, kernels::FastestIsa()};
};

TEST_F(GpuTest, OffOpensNone) {
  const auto gpu = OpenGpu({.kind = GpuChoice::Kind::kOff}, host_);
  ASSERT_FALSE(gpu.ok());
  EXPECT_EQ(gpu.error().code(), Code::kNotFound);
}

TEST_F(GpuTest, ANumberOpensThatDeviceAndNoOther) {
  if (!OpenTestDevice().ok()) GTEST_SKIP() << "no device to test with";
  const auto none = OpenGpu({.kind = GpuChoice::Kind::kIndex, .index = 99}, host_);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message().find("99"), std::string::npos);
  const auto gpu = OpenGpu({.kind = GpuChoice::Kind::kIndex, .index = 0}, host_);
  ASSERT_TRUE(gpu.ok()) << gpu.error().message();
  EXPECT_FALSE((*gpu)->name().empty());
  EXPECT_GT((*gpu)->available_bytes(), 0u);
  EXPECT_FALSE((*gpu)->lost());
  EXPECT_TRUE((*gpu)->backend().Allocate(1 << 20).ok());
}

}  // namespace
}  // namespace aster::vulkan
