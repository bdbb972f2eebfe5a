// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/devices.h"

#include <gtest/gtest.h>

namespace aster::vulkan {
namespace {

TEST(Devices, AreListedOrTheReasonIsGiven) {
  const auto devices = ListDevices(std::vector{GpuChoice{}});
  if (!devices.ok()) {
    EXPECT_FALSE(devices.error().message().empty());
    GTEST_SKIP() << devices.error().message();
  }
  int used = 0;
  for (size_t i = 0; i < devices->size(); ++i) {
    const DeviceInfo& info = (*devices)[i];
    EXPECT_EQ(info.index, i);
    EXPECT_FALSE(info.name.empty());
    EXPECT_FALSE(info.driver.empty());
    EXPECT_GT(info.memory_bytes, 0u);
    EXPECT_LE(info.available_bytes, info.memory_bytes);
    used += info.why_not_used.empty() ? 1 : 0;
    if (info.kind == "processor") {
      EXPECT_FALSE(info.why_not_used.empty());
    }
  }
  EXPECT_LE(used, 1);
}

TEST(Devices, TheOneThatIsNamedIsUsedWhateverItIs) {
  const auto devices = ListDevices(std::vector{GpuChoice{GpuChoice::Kind::kIndex, 0}});
  if (!devices.ok()) GTEST_SKIP() << devices.error().message();
  if (devices->empty()) GTEST_SKIP() << "no driver lists a device";
  EXPECT_EQ((*devices)[0].why_not_used, "");
}

TEST(Devices, OffUsesNone) {
  const auto devices = ListDevices(std::vector{GpuChoice{.kind = GpuChoice::Kind::kOff}});
  if (!devices.ok()) GTEST_SKIP() << devices.error().message();
  for (const DeviceInfo& info : *devices) EXPECT_EQ(info.why_not_used, "ASTER_GPU=off");
}

}  // namespace
}  // namespace aster::vulkan
