// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/devices.h"

#include <gtest/gtest.h>

namespace aster::vulkan {
namespace {

// tests/cli/gpu_test.py lists them with their checks.
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
    EXPECT_EQ(info.checked, info.kind != "processor");
    if (info.kind == "processor") {
      EXPECT_FALSE(info.why_not_used.empty());
    }
  }
  EXPECT_LE(used, 1);
}

TEST(Devices, ThatAreNotUsedNeedNoCheck) {
  const std::vector<GpuChoice> none{GpuChoice{.kind = GpuChoice::Kind::kOff}};
  const auto devices = ListDevices(none);
  if (!devices.ok()) GTEST_SKIP() << devices.error().message();
  for (const DeviceInfo& info : *devices) {
    EXPECT_EQ(info.why_not_used, "ASTER_GPU=off");
    EXPECT_FALSE(info.checked);
  }
}

// A graphics card behind a processor, and one whose check failed.
std::vector<DeviceInfo> Three() {
  std::vector<DeviceInfo> devices(3);
  for (uint32_t i = 0; i < 3; ++i) devices[i].index = i;
  devices[0].kind = "processor";
  devices[1].kind = devices[2].kind = "discrete";
  devices[2].why_not_used = "it computes other bits";
  return devices;
}

std::vector<std::string> WhyNotUsed(const std::vector<GpuChoice>& choices) {
  std::vector<DeviceInfo> devices = Three();
  ChooseDevices(devices, choices);
  std::vector<std::string> why;
  for (const DeviceInfo& info : devices) why.push_back(info.why_not_used);
  return why;
}

TEST(ChooseDevices, UnaskedTheFirstThatIsNoProcessor) {
  const auto why = WhyNotUsed({GpuChoice{}});
  EXPECT_NE(why[0].find("ASTER_GPU=0 uses it"), std::string::npos) << why[0];
  EXPECT_EQ(why[1], "");
  EXPECT_EQ(why[2], "it computes other bits");
}

TEST(ChooseDevices, OfTwoGoodOnesTheSecondIsNotUsed) {
  std::vector<DeviceInfo> devices = Three();
  devices[0].kind = "integrated";
  ChooseDevices(devices, std::vector{GpuChoice{}});
  EXPECT_EQ(devices[0].why_not_used, "");
  EXPECT_EQ(devices[1].why_not_used, "device 0 is used; ASTER_GPU=1 uses this one");
}

TEST(ChooseDevices, ThoseThatAreNamedWhateverTheyAre) {
  const auto number = [](uint32_t index) {
    return GpuChoice{.kind = GpuChoice::Kind::kIndex, .index = index};
  };
  const std::string failed = "it computes other bits";
  EXPECT_EQ(WhyNotUsed({number(0)}),
            (std::vector<std::string>{"", "ASTER_GPU=0 names another", failed}));
  EXPECT_EQ(WhyNotUsed({number(0), number(1)}), (std::vector<std::string>{"", "", failed}));
}

TEST(ChooseDevices, OffUsesNone) {
  EXPECT_EQ(WhyNotUsed({GpuChoice{.kind = GpuChoice::Kind::kOff}}),
            (std::vector<std::string>{"ASTER_GPU=off", "ASTER_GPU=off", "it computes other bits"}));
}

}  // namespace
}  // namespace aster::vulkan
