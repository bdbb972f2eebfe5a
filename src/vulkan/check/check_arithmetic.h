// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Single float operations on a device against the processor's own, over inputs that try every
// rounding: what an Arithmetic has to pass before kernels are looked at. Must not know how one is
// chosen.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "vulkan/check/workbench.h"

namespace aster::vulkan {

// Every operation on `count` inputs of every kind. The error names the operation.
Status CheckArithmetic(Workbench& bench, uint32_t count, uint64_t seed);

}  // namespace aster::vulkan
