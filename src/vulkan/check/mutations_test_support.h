// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The shaders with mistakes that mutations.py makes. Only for tests.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "vulkan/kernels/kernels.h"

namespace aster::vulkan {

struct Mutation {
  std::string_view name;
  std::string_view shader;  // which one has the mistake
  std::string_view check;   // which of KernelChecks, or "arithmetic", must find it
  std::span<const uint32_t> words;
};

std::span<const Mutation> Mutations();

// Shaders of cooperative matrices, with these emulated; empty where there is none of that name.
std::span<const uint32_t> EmulatedShader(std::string_view name);
// The tile of these shaders.
inline constexpr MatrixTile kEmulatedTile = {.outputs = 8, .rows = 8, .columns = 8, .subgroup = 8};
inline constexpr MatrixElements kEmulatedElements = {.same_output = 0x22002200,
                                                     .same_row = 0x54541010};

}  // namespace aster::vulkan
