// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Which GPUs the user wants: the environment variable ASTER_GPU. Must not know Vulkan.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace aster::vulkan {

struct GpuChoice {
  enum class Kind : uint8_t {
    kAuto,   // the first that is good enough; never a driver that computes on the processor
    kOff,    // none
    kIndex,  // that of `index`, whatever it is
  };
  Kind kind = Kind::kAuto;
  uint32_t index = 0;  // as `aster devices` numbers them

  friend bool operator==(const GpuChoice&, const GpuChoice&) = default;
};

// "off", numbers of devices with commas between them, or nothing for the first that is good enough.
// At least one choice; several are all indices.
Result<std::vector<GpuChoice>> ParseGpuChoices(std::optional<std::string_view> text);

// What ASTER_GPU says.
Result<std::vector<GpuChoice>> GpuChoicesOfEnvironment();

}  // namespace aster::vulkan
