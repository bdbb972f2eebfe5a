// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Rows and bytes for quant/'s tests: the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"

namespace aster::quant {

// Normally distributed weights.
inline std::vector<float> NormalRow(uint64_t seed, size_t count, float deviation = 1.0f) {
  std::vector<float> row(count);
  FillNormal(seed, 0, 0, row);
  for (float& value : row) value *= deviation;
  return row;
}

// In [0, 1).
inline std::vector<float> UniformRow(uint64_t seed, size_t count) {
  std::vector<float> row(count);
  FillUniform(seed, 1, 0, row);
  return row;
}

inline std::vector<uint8_t> RandomBytes(uint64_t seed, size_t count) {
  Random random(seed);
  std::vector<uint8_t> bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.NextU32());
  return bytes;
}

}  // namespace aster::quant
