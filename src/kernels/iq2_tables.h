// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The grid of IQ2_XXS in the forms in which kernels look up points. Plain data.
#pragma once

#include <cstdint>

namespace aster::kernels {

// The levels of its coordinates; a digit is the index of a level.
inline constexpr uint8_t kIq2Levels[3] = {8, 25, 43};

struct Iq2Tables {
  alignas(64) uint8_t points[256][8];
  // Four digits of two bits each, of coordinates 0 to 3 and of coordinates 4 to 7.
  alignas(64) uint8_t low_codes[256];
  alignas(64) uint8_t high_codes[256];
};

extern const Iq2Tables kIq2Tables;

}  // namespace aster::kernels
