// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Compiled shaders (SPIR-V): adds execution modes for a device, so that the program has each shader
// only once. Must not know devices or what a shader computes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace aster::vulkan {

// The execution modes of 32-bit floats.
struct FloatModes {
  bool round_to_even = false;
  bool keep_special_values = false;  // infinities, NaN and the sign of zero
  bool flush_denormals = false;
};

// The words of a compute shader with the execution modes added. DataLoss if the words are not a
// complete shader.
Result<std::vector<uint32_t>> WithFloatModes(std::span<const uint32_t> words,
                                             const FloatModes& modes);

}  // namespace aster::vulkan
