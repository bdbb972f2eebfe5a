// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A workbench on the test device, with the arithmetic that suits it. Only for tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "vulkan/check/self_check.h"
#include "vulkan/check/workbench.h"
#include "vulkan/driver/device_test_support.h"
#include "vulkan/driver/shaders.h"

namespace aster::vulkan {

class KernelTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped()) return;
    Open(ChooseArithmetic(device(), BuiltInShader).value());
  }
  void TearDown() override {
    bench_.reset();
    kernels_.reset();
  }

  // From now on with another arithmetic.
  void Open(Arithmetic arithmetic) {
    bench_.reset();
    kernels_ = Kernels::Create(device(), BuiltInShader, arithmetic).value();
    bench_ = std::make_unique<Workbench>(*kernels_);
  }

  Kernels& kernels() { return *kernels_; }
  Workbench& bench() { return *bench_; }

 private:
  std::unique_ptr<Kernels> kernels_;
  std::unique_ptr<Workbench> bench_;
};

// EXPECT_OK(status): the error's text where there is one.
inline testing::AssertionResult IsOk(const Status& status) {
  if (status.ok()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << status.error().message();
}
#define EXPECT_OK(expression) EXPECT_TRUE(IsOk(expression))
#define ASSERT_OK(expression) ASSERT_TRUE(IsOk(expression))

}  // namespace aster::vulkan
