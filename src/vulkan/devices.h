// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The GPUs of this machine and their properties, for `aster devices`. A program without GPU support
// has the same functions, which return an error. Must not know Vulkan's names.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "vulkan/choice.h"

namespace aster::vulkan {

struct DeviceInfo {
  uint32_t index;      // number in ASTER_GPU
  std::string name;    // as its driver gives it
  std::string driver;  // name and version
  std::string kind;    // "discrete", "integrated", "virtual", "processor" or "other"
  bool unified;        // whether it shares the host's memory
  uint64_t memory_bytes;
  uint64_t available_bytes;  // that can be allocated now

  bool checked = false;  // whether the self-check was run
  // Its results; false if it ended before.
  bool native_fma = false;         // else it is made of integer operations
  bool flushes_denormals = false;  // by itself or by a mode; else the shaders do
  bool dot_products = false;       // of bytes, by a quick instruction
  std::string why_no_matrices;     // why cooperative matrices are not used; empty if they are
  // Reported by the driver.
  bool halves = false;    // floats of 16 bits in shaders
  bool matrices = false;  // cooperative matrices

  std::string why_not_used;  // empty for the one that is used
};

// Every device, in the order of their numbers. Those that may be used by these choices are checked;
// a driver that computes on the processor would take half a minute. Unimplemented in a program
// without GPU support, NotFound on a machine without Vulkan.
Result<std::vector<DeviceInfo>> ListDevices(std::span<const GpuChoice> choices);

// Which devices of a list are used by these choices: writes `why_not_used` of those that have
// passed their check, which is empty until then. Chosen unasked is the first that is no processor.
void ChooseDevices(std::span<DeviceInfo> devices, std::span<const GpuChoice> choices);

}  // namespace aster::vulkan
