// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Every call of the driver fails once, in every way: the result is an error that names it, and
// nothing leaks (the validation layer reports objects that are not destroyed).
// tidy: allow(orphan-test) of the folder as a whole: device, buffer, commands and pipelines
#include <gtest/gtest.h>

#include "vulkan/driver/device_test_support.h"
#include "vulkan/driver/errors.h"
#include "vulkan/driver/faults_test_support.h"
#include "vulkan/driver/pipelines.h"
#include "vulkan/driver/shaders.h"

namespace aster::vulkan {
namespace {

struct AddPush {
  uint64_t a;
  uint64_t b;
  uint64_t c;
  uint64_t result;
  uint32_t count;
  uint32_t operation;
};

// Uses every driver function of the program once.
Result<float> AddOnDevice(const Library& library, bool validate) {
  const auto instance = validate ? TRY(ValidatedInstance(library)) : TRY(Instance::Create(library));
  const auto physical = TRY(instance->PhysicalDevices());
  if (physical.empty()) return NotFound("no device");
  const auto device = TRY(Device::Open(instance, physical[0]));
  Pipelines pipelines(*device, BuiltInShader, {.flush_in_shader = true});
  const Buffer upload = TRY(Buffer::Allocate(*device, 8, MemoryKind::kUpload));
  const Buffer terms = TRY(Buffer::Allocate(*device, 8, MemoryKind::kDevice));
  const Buffer sum = TRY(Buffer::Allocate(*device, 4, MemoryKind::kDownload));
  const float values[2] = {1.5f, 2.25f};
  std::memcpy(upload.data(), values, sizeof(values));
  const AddPush push{terms.address(), terms.address() + 4, terms.address(), sum.address(), 1, 0};
  Commands commands = TRY(Commands::Create(*device));
  TRY(commands.Begin());
  commands.Copy(upload, 0, terms, 0, 8);
  commands.Barrier();
  commands.Dispatch(TRY(pipelines.Get("arithmetic")), BytesOf(push), {.x = 1});
  TRY(commands.End());
  TRY(commands.Run(kTestTimeoutNs));
  return ValuesOf<float>(sum, 1)[0];
}

class FaultsTest : public testing::TestWithParam<VkResult> {};

TEST_P(FaultsTest, EveryCallMayFail) {
  const auto real = Library::Open();
  if (!real.ok()) GTEST_SKIP() << real.error().message();
  const auto plain = AddOnDevice(FaultyLibrary(*real, std::nullopt, VK_SUCCESS), false);
  if (!plain.ok()) GTEST_SKIP() << "no device to test with: " << plain.error().message();
  ASSERT_EQ(*plain, 3.75f);
  const size_t call_count = ThePlan().calls.size();
  ASSERT_GT(call_count, 20u);

  const VkResult result = GetParam();
  const bool validate = result == VK_ERROR_OUT_OF_DEVICE_MEMORY;
  for (size_t call = 0; call < call_count; ++call) {
    const auto sum = AddOnDevice(FaultyLibrary(*real, call, result), validate);
    const std::string failed = ThePlan().failed;
    if (failed == "vkDeviceWaitIdle") continue;  // only where something is freed
    ASSERT_FALSE(sum.ok()) << failed;
    EXPECT_EQ(sum.error().code(), ErrorOf(result, "").code()) << failed;
    EXPECT_NE(sum.error().message().find(NameOf(result)), std::string::npos) << failed;
  }
}

INSTANTIATE_TEST_SUITE_P(Every, FaultsTest,
                         testing::Values(VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_OUT_OF_DEVICE_MEMORY,
                                         VK_ERROR_DEVICE_LOST, VK_ERROR_UNKNOWN),
                         NameOfFault);

// The device stays lost: no later call reaches the driver.
TEST_F(DeviceTest, ALostDeviceTakesNoMoreWork) {
  EXPECT_FALSE(device().lost());
  EXPECT_FALSE(device().Check(VK_ERROR_DEVICE_LOST, "waiting for work").ok());
  EXPECT_TRUE(device().lost());
  Commands commands = Commands::Create(device()).value();
  ASSERT_TRUE(commands.Begin().ok());
  ASSERT_TRUE(commands.End().ok());
  const Status status = commands.Run(kTestTimeoutNs);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), Code::kUnavailable);
  EXPECT_NE(status.error().message().find(device().traits().name), std::string::npos);
}

TEST_F(DeviceTest, MoreThanOneAllocationHoldsIsRefused) {
  const auto buffer = Buffer::Allocate(device(), device().traits().max_allocation_bytes + 4096,
                                       MemoryKind::kDevice);
  ASSERT_FALSE(buffer.ok());
  EXPECT_EQ(buffer.error().code(), Code::kResourceExhausted);
}

}  // namespace
}  // namespace aster::vulkan
