// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The grids of the I types: fixed sets of points; a block stores the index of a point for each
// eight (or four) weights. They are part of the published formats. Must not know how blocks store
// indices.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace aster::quant {

using Point8 = std::array<int8_t, 8>;
using Point4 = std::array<int8_t, 4>;

extern const std::array<Point8, 256> kIq2XxsGrid;
extern const std::array<Point8, 512> kIq2XsGrid;
extern const std::array<Point8, 1024> kIq2SGrid;
extern const std::array<Point4, 256> kIq3XxsGrid;
extern const std::array<Point4, 512> kIq3SGrid;
extern const std::array<Point8, 2048> kIq1Grid;

// Eight sign bits from the seven that are stored: the number of negative signs is even.
constexpr uint32_t EvenSigns(uint32_t seven_bits) {
  return seven_bits | (static_cast<uint32_t>(std::popcount(seven_bits)) & 1) << 7;
}

}  // namespace aster::quant
