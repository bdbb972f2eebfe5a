// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A workbench on the test device, with the arithmetic that it supports. Only for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>

#include "vulkan/check/mutations_test_support.h"
#include "vulkan/check/self_check.h"
#include "vulkan/check/workbench.h"
#include "vulkan/driver/device_test_support.h"
#include "vulkan/driver/shaders.h"

namespace aster::vulkan {

// Whether to test what a software driver compiles for long, and what other tests have in part.
inline bool IsThorough() {
  const char* const wanted = std::getenv("ASTER_THOROUGH");
  return wanted != nullptr && std::string_view(wanted) == "1";
}

// The test device and its kernels for all tests of the process, as compiling shaders is most of the
// tests' time. A test that loses its device opens one of its own.
class SharedKernels final : public testing::Environment {
 public:
  static SharedKernels& Get() { return *instance_; }

  // Opens them for the first test that needs them; an error if there is no device.
  Status Open() {
    if (kernels_ != nullptr) return Ok();
    if (why_none_) return *why_none_;
    auto opened = OpenKernels();
    if (!opened.ok()) why_none_ = opened.error();
    return opened;
  }
  void TearDown() override {
    kernels_.reset();
    device_.reset();
  }

  Device& device() { return *device_; }
  Kernels& kernels() { return *kernels_; }

 private:
  Status OpenKernels() {
    device_ = TRY(OpenTestDevice());
    const Arithmetic arithmetic = TRY(ChooseArithmetic(*device_, BuiltInShader));
    kernels_ = TRY(Kernels::Create(*device_, BuiltInShader, arithmetic));
    return Ok();
  }

  static SharedKernels* const instance_;

  std::unique_ptr<Device> device_;
  std::unique_ptr<Kernels> kernels_;
  std::optional<Error> why_none_;
};
inline SharedKernels* const SharedKernels::instance_ = static_cast<SharedKernels*>(
    // tidy: allow(ownership) the framework's
    testing::AddGlobalTestEnvironment(new SharedKernels));

// Base of tests that need kernels: they are skipped if there is no device.
class KernelTest : public testing::Test {
 protected:
  void SetUp() override {
    const Status opened = SharedKernels::Get().Open();
    if (!opened.ok()) GTEST_SKIP() << "no device to test with: " << opened.error().message();
    bench_ = std::make_unique<Workbench>(kernels());
  }
  void TearDown() override {
    bench_.reset();
    own_.reset();
  }

  // From now on with kernels of another arithmetic.
  void Open(Arithmetic arithmetic) {
    bench_.reset();
    own_ = Kernels::Create(device(), BuiltInShader, arithmetic).value();
    bench_ = std::make_unique<Workbench>(*own_);
  }

  // With products of many rows by cooperative matrices, which are emulated.
  void OpenWithMatrices() {
    bench_.reset();
    const auto source = [](std::string_view name) {
      const auto emulated = EmulatedShader(name);
      return emulated.empty() ? BuiltInShader(name) : emulated;
    };
    own_ = Kernels::Create(device(), source, kernels().arithmetic()).value();
    own_->UseMatrices(kEmulatedTile, kEmulatedElements);
    bench_ = std::make_unique<Workbench>(*own_);
  }

  static Device& device() { return SharedKernels::Get().device(); }
  Kernels& kernels() { return own_ ? *own_ : SharedKernels::Get().kernels(); }
  Workbench& bench() { return *bench_; }

 private:
  std::unique_ptr<Kernels> own_;
  std::unique_ptr<Workbench> bench_;
};

// EXPECT_OK(status): fails with the error's text.
inline testing::AssertionResult IsOk(const Status& status) {
  if (status.ok()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << status.error().message();
}
#define EXPECT_OK(expression) EXPECT_TRUE(IsOk(expression))
#define ASSERT_OK(expression) ASSERT_TRUE(IsOk(expression))

}  // namespace aster::vulkan
