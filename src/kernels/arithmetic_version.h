// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Names the arithmetic: machines of equal versions compute the same bits from the same input.
#pragma once

#include <cstdint>

namespace aster::kernels {

// Incremented with every change to what docs/arithmetic.md defines.
inline constexpr uint32_t kArithmeticVersion = 1;

}  // namespace aster::kernels
