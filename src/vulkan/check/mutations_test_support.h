// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The shaders with mistakes that mutations.py makes. Only for tests.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace aster::vulkan {

struct Mutation {
  std::string_view name;
  std::string_view shader;  // which one has the mistake
  std::string_view check;   // which of KernelChecks, or "arithmetic", must find it
  std::span<const uint32_t> words;
};

std::span<const Mutation> Mutations();

}  // namespace aster::vulkan
