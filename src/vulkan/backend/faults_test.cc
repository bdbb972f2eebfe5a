// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Every call of the driver that a back end makes fails once: the result is an error that names it,
// and nothing leaks (the validation layer reports objects that are not destroyed).
// tidy: allow(orphan-test) of the folder as a whole: backend, batch, pages and operations
#include <gtest/gtest.h>

#include <set>

#include "vulkan/backend/backend_test_support.h"
#include "vulkan/driver/errors.h"
#include "vulkan/driver/faults_test_support.h"

namespace aster::vulkan {
namespace {

using compute::Tensor;

// A batch, polled until it is done: 1 + 2 for every element.
Result<float> AddRows(DeviceBackend& backend) {
  compute::Array rows, more;
  TRY(rows.Shape(backend, 3, 16));
  more = TRY(compute::Array::Of(backend, std::vector<float>(48, 2.0f)));
  const auto commands = backend.NewCommands();
  TRY(commands->Begin());
  TRY(commands->Upload(std::vector<float>(48, 1.0f), rows.tensor()));
  TRY(commands->Add(rows.tensor(), more.tensor().As(16), 1));
  std::span<const float> sums;
  TRY(commands->Download(rows.tensor(), &sums));
  TRY(commands->Submit());
  while (!TRY(commands->Poll())) TRY(commands->Wait());
  return sums[47];
}

// A page that is written, copied and read.
Result<float> CopyPage(DeviceBackend& backend) {
  const auto block = TRY(backend.pages().Map(8192));
  const float number = 4.0f;
  TRY(block->Write(0, BytesOf(number)));
  TRY(block->Copy(4096, *block, 0, 4096));
  float copy = 0;
  TRY(block->Read(4096, {reinterpret_cast<uint8_t*>(&copy), sizeof(copy)}));
  return copy;
}

// Shared by several trials, as compiling a shader takes longer than all the rest.
struct Opened {
  std::unique_ptr<Device> device;
  std::unique_ptr<Kernels> kernels;
};

Result<Opened> Open(const Library& library, bool validate) {
  const auto instance = validate ? TRY(ValidatedInstance(library)) : TRY(Instance::Create(library));
  const auto physical = TRY(instance->PhysicalDevices());
  if (physical.empty()) return NotFound("no device");
  Opened opened;
  opened.device = TRY(Device::Open(instance, physical[0]));
  opened.kernels = TRY(Kernels::Create(*opened.device, BuiltInShader, {.flush_in_shader = true}));
  return opened;
}

// Uses every driver function of a back end once, with tables that are copied.
Result<float> UseBackend(Kernels& kernels) {
  ThreadPool pool(1);
  compute::Context host{pool, kernels::FastestIsa()};
  DeviceBackend backend(kernels, host, true);
  return TRY(AddRows(backend)) + TRY(CopyPage(backend));
}

class BackendFaultsTest : public testing::TestWithParam<VkResult> {
 protected:
  static void ExpectThatCallMayFail(Kernels& kernels, size_t call) {
    const VkResult result = GetParam();
    FailCall(call, result);
    const auto sum = UseBackend(kernels);
    const std::string failed = ThePlan().failed;
    if (failed == "vkDeviceWaitIdle") return;  // only where something is freed
    if (failed.empty()) return;                // fewer polls this time
    ASSERT_FALSE(sum.ok()) << failed;
    EXPECT_EQ(sum.error().code(), ErrorOf(result, "").code()) << failed;
    EXPECT_NE(sum.error().message().find(NameOf(result)), std::string::npos) << failed;
  }
};

// Calls that open a device or compile a shader fail in driver/faults_test.cc.
TEST_P(BackendFaultsTest, EveryCallMayFail) {
  const auto real = Library::Open();
  if (!real.ok()) GTEST_SKIP() << real.error().message();
  const bool validate = GetParam() == VK_ERROR_OUT_OF_DEVICE_MEMORY;
  const Library library = FaultyLibrary(*real, std::nullopt, VK_SUCCESS);
  const auto opened = Open(library, validate);
  if (!opened.ok()) GTEST_SKIP() << "no device to test with: " << opened.error().message();
  for (int use = 0; use < 2; ++use) {  // the first compiles
    FailCall(std::nullopt, VK_SUCCESS);
    ASSERT_EQ(UseBackend(*opened->kernels).value(), 7.0f);
  }
  const std::vector<std::string> calls = ThePlan().calls;
  ASSERT_GT(calls.size(), 40u);

  std::set<std::string> tried;
  for (size_t call = 0; call < calls.size(); ++call) {
    if (GetParam() != VK_ERROR_DEVICE_LOST) {
      ExpectThatCallMayFail(*opened->kernels, call);
    } else if (tried.insert(calls[call]).second) {
      // A device stays lost, and a new one compiles shaders again, so each function fails only
      // once.
      FailCall(std::nullopt, VK_SUCCESS);
      const auto another = Open(library, validate);
      ASSERT_TRUE(another.ok()) << another.error().message();
      ASSERT_EQ(UseBackend(*another->kernels).value(), 7.0f);
      ExpectThatCallMayFail(*another->kernels, call);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, BackendFaultsTest,
                         testing::Values(VK_ERROR_OUT_OF_DEVICE_MEMORY, VK_ERROR_DEVICE_LOST),
                         NameOfFault);

// A batch in flight ends with an error, and so does everything that follows.
TEST(LostDevice, NothingIsComputedAnyMore) {
  const auto opened = OpenTestDevice();
  if (!opened.ok()) GTEST_SKIP() << "no device to test with: " << opened.error().message();
  Device& device = **opened;
  const auto kernels = Kernels::Create(device, BuiltInShader, {.flush_in_shader = true}).value();
  ThreadPool pool(1);
  compute::Context host{pool, kernels::FastestIsa()};
  DeviceBackend backend(*kernels, host, true);
  Bench bench(backend);
  const Tensor rows = bench.Rows(2, 16, 1);
  ASSERT_OK(bench.commands().Begin());
  ASSERT_OK(bench.commands().Add(rows, rows, 1));
  ASSERT_OK(bench.commands().Submit());
  EXPECT_FALSE(device.Check(VK_ERROR_DEVICE_LOST, "waiting for work").ok());
  const auto done = bench.commands().Poll();
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code(), Code::kUnavailable);
  EXPECT_FALSE(bench.commands().Wait().ok());
  const Status next =
      bench.TryRun([&](compute::Commands& commands) { return commands.Add(rows, rows, 1); });
  ASSERT_FALSE(next.ok());
  EXPECT_EQ(next.error().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace aster::vulkan
