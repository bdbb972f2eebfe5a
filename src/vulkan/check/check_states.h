// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Compares gated delta nets of a device with the reference. A check is Ok, or names the first
// difference.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "vulkan/check/workbench.h"
#include "vulkan/kernels/states.h"

namespace aster::vulkan {

// Some texts at once: at their begin, across pages, with marks of their own and of others, and with
// pages that become full or stay open. Compares inputs and states in pages, and the outputs.
Status CheckDeltaNet(Workbench& bench, const DeltaSizes& sizes, uint32_t taps, CheckValues values,
                     uint64_t seed);

}  // namespace aster::vulkan
