// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Which operations of compute/commands.h a device has, so that layers with others stay on the
// processor. Must not know Vulkan's names.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace aster::vulkan {

enum class Operations : uint8_t {
  kHeads,            // rows, products, heads and attention over pages of keys and values
  kExperts,          // Choose and SumExperts
  kStreams,          // a residual of several streams
  kLatentAttention,  // attention over rows that are keys and values at once
};

constexpr bool CanCompute(Operations operations) {
  return operations == Operations::kHeads || operations == Operations::kExperts;
}

// The error of those that it does not have.
Error NotOnDevice(Operations operations);

}  // namespace aster::vulkan
