// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Names the bits that come out: machines of equal versions compute the same from the same.
#pragma once

#include <cstdint>

namespace aster::kernels {

// Grows with every change to what docs/arithmetic.md defines.
inline constexpr uint32_t kArithmeticVersion = 1;

}  // namespace aster::kernels
