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
    kAuto,   // the first suitable one; never a driver that computes on the processor
    kOff,    // none
    kIndex,  // the one with number `index`, of any kind
  };
  Kind kind = Kind::kAuto;
  uint32_t index = 0;  // number in `aster devices`

  friend bool operator==(const GpuChoice&, const GpuChoice&) = default;
};

// Parses "off", numbers of devices with commas between them, or nothing for the first suitable one.
// At least one choice; several are all indices.
Result<std::vector<GpuChoice>> ParseGpuChoices(std::optional<std::string_view> text);

// The choices in ASTER_GPU.
Result<std::vector<GpuChoice>> GpuChoicesOfEnvironment();

}  // namespace aster::vulkan
