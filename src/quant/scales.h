// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How the K types pack their 6-bit group scales into twelve bytes: reader and writer together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace aster::quant {

// Q4_K and Q5_K: eight scales and eight minima, each 0..63. Bytes 0-3 and 4-7 have the first four
// scales and minima in their low six bits; bytes 8-11 have the low four bits of the last four
// scales (low half) and minima (high half), whose upper two bits are the upper bits of bytes 0-3
// and 4-7.
struct ScalesAndMins {
  std::array<uint8_t, 8> scales;
  std::array<uint8_t, 8> mins;
};

// Four bytes at a time: packing weights should be as fast as reading memory.
inline ScalesAndMins UnpackScalesAndMins(const uint8_t packed[12]) {
  uint32_t words[3];
  std::memcpy(words, packed, sizeof(words));
  const auto upper = [](uint32_t word) { return word >> 2 & 0x30303030u; };
  const uint32_t scales[2] = {words[0] & 0x3f3f3f3fu, (words[2] & 0x0f0f0f0fu) | upper(words[0])};
  const uint32_t mins[2] = {words[1] & 0x3f3f3f3fu,
                            (words[2] >> 4 & 0x0f0f0f0fu) | upper(words[1])};
  ScalesAndMins result;
  std::memcpy(result.scales.data(), scales, sizeof(scales));
  std::memcpy(result.mins.data(), mins, sizeof(mins));
  return result;
}

inline void PackScalesAndMins(const ScalesAndMins& values, uint8_t packed[12]) {
  for (size_t i = 0; i < 4; ++i) {
    packed[i] = static_cast<uint8_t>(values.scales[i] | (values.scales[i + 4] >> 4) << 6);
    packed[i + 4] = static_cast<uint8_t>(values.mins[i] | (values.mins[i + 4] >> 4) << 6);
    packed[i + 8] = static_cast<uint8_t>((values.scales[i + 4] & 15) | (values.mins[i + 4] << 4));
  }
}

// Q3_K: sixteen scales -32..31, stored with 32 added. Their low four bits: scales 0-7 in the low
// halves of bytes 0-7, scales 8-15 in the high halves. Their upper two: scale i in byte 8 + i % 4,
// from bit 2 (i / 4).
inline std::array<int8_t, 16> UnpackScales6(const uint8_t packed[12]) {
  std::array<int8_t, 16> scales;
  for (size_t i = 0; i < 16; ++i) {
    const int low = i < 8 ? packed[i] & 15 : packed[i - 8] >> 4;
    const int high = packed[8 + i % 4] >> (2 * (i / 4)) & 3;
    scales[i] = static_cast<int8_t>((low | high << 4) - 32);
  }
  return scales;
}

inline void PackScales6(const std::array<int8_t, 16>& scales, uint8_t packed[12]) {
  for (size_t i = 0; i < 12; ++i) packed[i] = 0;
  for (size_t i = 0; i < 16; ++i) {
    const int stored = scales[i] + 32;
    packed[i % 8] = static_cast<uint8_t>(packed[i % 8] | (stored & 15) << (i < 8 ? 0 : 4));
    packed[8 + i % 4] = static_cast<uint8_t>(packed[8 + i % 4] | (stored >> 4) << (2 * (i / 4)));
  }
}

}  // namespace aster::quant
