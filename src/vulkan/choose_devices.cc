// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "vulkan/devices.h"

namespace aster::vulkan {
namespace {

// Why a device that has passed its check is not used; nothing if it is used.
std::optional<std::string> WhyNotChosen(const DeviceInfo& info, std::span<const GpuChoice> choices,
                                        std::optional<uint32_t> used) {
  switch (choices.front().kind) {
    case GpuChoice::Kind::kOff:
      return "ASTER_GPU=off";
    case GpuChoice::Kind::kIndex:
      if (std::ranges::count(choices, info.index, &GpuChoice::index) > 0) return std::nullopt;
      return fmt::format("ASTER_GPU={} names another", choices.front().index);
    case GpuChoice::Kind::kAuto:
      break;
  }
  if (info.kind == "processor")
    return fmt::format(
        "it computes on the processor, slower than Asterism does; ASTER_GPU={} uses "
        "it all the same",
        info.index);
  if (used) return fmt::format("device {} is used; ASTER_GPU={} uses this one", *used, info.index);
  return std::nullopt;
}

}  // namespace

void ChooseDevices(std::span<DeviceInfo> devices, std::span<const GpuChoice> choices) {
  std::optional<uint32_t> used;
  for (DeviceInfo& info : devices) {
    if (!info.why_not_used.empty()) continue;
    if (const auto why = WhyNotChosen(info, choices, used)) {
      info.why_not_used = *why;
    } else {
      used = info.index;
    }
  }
}

}  // namespace aster::vulkan
