// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The bit layout of super-blocks of 256 weights: reader and writer together.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/blocks.h"

namespace aster::quant {

// Two bits of weight 128 h + 32 p + i are in byte 32 h + i, at bit 2 p.
inline int TwoBits(const uint8_t* bytes, size_t weight) {
  return bytes[weight / 128 * 32 + weight % 32] >> (2 * (weight / 32 % 4)) & 3;
}

// Bits `shift` and `shift` + 1 of each level.
inline void PackTwoBits(const uint8_t* levels, int shift, uint8_t* bytes) {
  for (size_t i = 0; i < 64; ++i) {
    const uint8_t* level = levels + i / 32 * 128 + i % 32;
    int packed = 0;
    for (int p = 0; p < 4; ++p) packed |= (level[32 * p] >> shift & 3) << (2 * p);
    bytes[i] = static_cast<uint8_t>(packed);
  }
}

// Weight 32 p + i has its third bit in byte i, at bit p.
inline int ThirdBit(const BlockQ3_K& block, size_t weight) {
  return block.high_bits[weight % 32] >> (weight / 32) & 1;
}

// Levels of Q3_K, 0 to 7, and of Q6_K, 0 to 63, are the weights' integers plus 4 and 32.
inline int LevelOf(const BlockQ3_K& block, size_t weight) {
  return TwoBits(block.quants, weight) | ThirdBit(block, weight) << 2;
}

inline void PackLevels(const uint8_t* levels, BlockQ3_K& block) {
  PackTwoBits(levels, 0, block.quants);
  for (size_t i = 0; i < 32; ++i) {
    int bits = 0;
    for (size_t p = 0; p < 8; ++p) bits |= levels[32 * p + i] >> 2 << p;
    block.high_bits[i] = static_cast<uint8_t>(bits);
  }
}

// The first and the second 64 of each 128 weights are the low and high halves of the same 64 bytes.
inline int LevelOf(const BlockQ6_K& block, size_t weight) {
  const int low = block.low_bits[weight / 128 * 64 + weight % 64] >> (weight % 128 / 64 * 4) & 15;
  return low | TwoBits(block.high_bits, weight) << 4;
}

inline void PackLevels(const uint8_t* levels, BlockQ6_K& block) {
  for (size_t i = 0; i < 128; ++i) {
    const uint8_t* level = levels + i / 64 * 128 + i % 64;
    block.low_bits[i] = static_cast<uint8_t>((level[0] & 15) | (level[64] & 15) << 4);
  }
  PackTwoBits(levels, 4, block.high_bits);
}

}  // namespace aster::quant
