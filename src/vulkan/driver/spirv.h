// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Shaders in their compiled form, SPIR-V: what is added to them for a device, so that the program
// carries each shader once. Must not know devices or what a shader computes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace aster::vulkan {

// How a device is told to compute with floats of 32 bits.
struct FloatModes {
  bool round_to_even = false;
  bool keep_special_values = false;  // infinities, NaN and the sign of zero
  bool flush_denormals = false;
};

// The words of a compute shader with the execution modes added. DataLoss where the words are no
// whole shader.
Result<std::vector<uint32_t>> WithFloatModes(std::span<const uint32_t> words,
                                             const FloatModes& modes);

}  // namespace aster::vulkan
