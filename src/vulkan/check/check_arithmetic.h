// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Compares single float operations of a device with the processor's own, over inputs for every kind
// of rounding. An Arithmetic has to pass this before kernels are checked. Must not know how one is
// chosen.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "vulkan/check/workbench.h"

namespace aster::vulkan {

// Every operation on `count` inputs of every kind. The error names the operation.
Status CheckArithmetic(Workbench& bench, uint32_t count, uint64_t seed);

}  // namespace aster::vulkan
