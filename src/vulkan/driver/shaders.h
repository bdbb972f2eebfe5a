// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The compiled shaders that the program carries, by name (shaders.cmake lists them). Must not know
// devices.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace aster::vulkan {

// A ShaderSource (pipelines.h): empty if there is none of that name.
std::span<const uint32_t> BuiltInShader(std::string_view name);

}  // namespace aster::vulkan
