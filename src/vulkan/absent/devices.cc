// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/devices.h"

#include "vulkan/absent/no_support.h"

namespace aster::vulkan {

Result<std::vector<DeviceInfo>> ListDevices(std::span<const GpuChoice>) { return NoSupport(); }

}  // namespace aster::vulkan
