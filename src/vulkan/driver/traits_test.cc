// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/driver/traits.h"

#include <gtest/gtest.h>

#include <functional>

namespace aster::vulkan {
namespace {

DeviceTraits GoodTraits() {
  DeviceTraits traits;
  traits.api_version = VK_API_VERSION_1_2;
  traits.queue_family = 0;
  traits.rounds_to_even = true;
  traits.keeps_special_values = true;
  traits.buffer_device_address = true;
  traits.timeline_semaphore = true;
  traits.shared_memory_bytes = kSharedMemoryBytes;
  traits.push_constant_bytes = kPushConstantBytes;
  traits.workgroup_invocations = kWorkgroupInvocations;
  return traits;
}

TEST(Traits, TheLeastThatIsRequiredIsEnough) { EXPECT_EQ(WhyUnfit(GoodTraits()), std::nullopt); }

TEST(Traits, EveryRequirementThatIsMissingIsNamed) {
  const struct {
    std::function<void(DeviceTraits&)> take;
    const char* word;
  } kCases[] = {
      {[](auto& traits) { traits.api_version = VK_API_VERSION_1_1; }, "Vulkan 1.1"},
      {[](auto& traits) { traits.queue_family.reset(); }, "queue"},
      {[](auto& traits) { traits.rounds_to_even = false; }, "rounding"},
      {[](auto& traits) { traits.keeps_special_values = false; }, "NaN"},
      {[](auto& traits) { traits.buffer_device_address = false; }, "addresses"},
      {[](auto& traits) { traits.timeline_semaphore = false; }, "timeline"},
      {[](auto& traits) { traits.shared_memory_bytes /= 2; }, "16.0 KiB of shared memory"},
      {[](auto& traits) { traits.push_constant_bytes = 64; }, "64 bytes of push constants"},
      {[](auto& traits) { traits.workgroup_invocations = 128; }, "128 invocations"},
  };
  for (const auto& one : kCases) {
    DeviceTraits traits = GoodTraits();
    one.take(traits);
    const auto why = WhyUnfit(traits);
    ASSERT_TRUE(why.has_value()) << one.word;
    EXPECT_NE(why->find(one.word), std::string::npos) << *why;
  }
}

}  // namespace
}  // namespace aster::vulkan
