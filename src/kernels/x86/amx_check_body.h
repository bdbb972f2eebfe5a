// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Compares one product of each kind that our kernels use with plain loops, bit for bit. For sources
// of one instruction set: everything is in an unnamed namespace. `Tiles` as in matmul_amx_body.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/x86/amx_tiles.h"

namespace aster::kernels {
namespace {

inline constexpr size_t kCheckedRows = 13;  // fewer than sixteen, to check that as well

struct CheckedTiles {
  alignas(64) uint8_t left[16][64];
  alignas(64) uint8_t right[16][64];
  alignas(64) uint8_t sums[16][64];
};

// All byte values, in no order.
inline void FillChecked(CheckedTiles& tiles) {
  uint32_t state = 12345;
  for (size_t i = 0; i < 16 * 64; ++i) {
    state = state * 1664525 + 1013904223;
    tiles.left[i / 64][i % 64] = static_cast<uint8_t>(state >> 24);
    tiles.right[i / 64][i % 64] = static_cast<uint8_t>(state >> 16);
  }
}

// The upper byte of a number of similar magnitude as the others, so that every rounding shows; or
// denormal, or nearly.
inline uint8_t CheckedUpperByte(uint8_t byte, bool tiny) {
  return static_cast<uint8_t>((byte & 0x80) | (tiny ? 0 : 0x3e + (byte & 1)));
}

inline void FillCheckedBfloat16(CheckedTiles& tiles) {
  FillChecked(tiles);
  for (size_t row = 0; row < 16; ++row) {
    for (size_t i = 1; i < 64; i += 2) {
      tiles.left[row][i] = CheckedUpperByte(tiles.left[row][i], row == 0);
      tiles.right[row][i] = CheckedUpperByte(tiles.right[row][i], false);
    }
  }
}

template <bool kUnsigned>
bool IntegersAgree(const CheckedTiles& tiles) {
  for (size_t m = 0; m < kCheckedRows; ++m) {
    for (size_t n = 0; n < 16; ++n) {
      int32_t sum = 0;
      for (size_t k = 0; k < 64; ++k) {
        const int left = static_cast<int8_t>(tiles.left[m][k]);
        const uint8_t right = tiles.right[k / 4][4 * n + k % 4];
        sum += left * (kUnsigned ? right : static_cast<int8_t>(right));
      }
      if (__builtin_memcmp(&sum, &tiles.sums[m][4 * n], sizeof(sum)) != 0) return false;
    }
  }
  return true;
}

inline float CheckedBfloat16(const uint8_t* bytes) {
  const uint32_t bits = static_cast<uint32_t>(bytes[0]) << 16 | static_cast<uint32_t>(bytes[1])
                                                                    << 24;
  float value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}

// Of two products, the second added to the first.
inline bool Bfloat16Agrees(const CheckedTiles& tiles) {
  for (size_t m = 0; m < kCheckedRows; ++m) {
    for (size_t n = 0; n < 16; ++n) {
      float chains[2] = {0.0f, 0.0f};
      for (size_t k = 0; k < 32; ++k) {
        const float left = CheckedBfloat16(&tiles.left[m][2 * k]);
        const float right = CheckedBfloat16(&tiles.right[k / 2][4 * n + k % 2 * 2]);
        chains[k % 2] = __builtin_fmaf(left, right, chains[k % 2]);
      }
      const float once = chains[0] + chains[1];
      const float twice = once + once;
      if (__builtin_memcmp(&twice, &tiles.sums[m][4 * n], sizeof(twice)) != 0) return false;
    }
  }
  return true;
}

// All products: int8 times int8, int8 times uint8, and bfloat16.
template <typename Tiles>
bool TilesComputeAsDescribed() {
  TileSizes sizes;
  sizes.Set(0, kCheckedRows, 64);
  sizes.Set(1, kCheckedRows, 64);
  sizes.Set(2, 16, 64);
  const auto load = [](const CheckedTiles& tiles) {
    Tiles::template Load<1>(tiles.left, 64);
    Tiles::template Load<2>(tiles.right, 64);
    Tiles::template Zero<0>();
  };
  CheckedTiles tiles;
  FillChecked(tiles);
  Tiles::Configure(sizes);
  load(tiles);
  Tiles::template AddSignedDots<0, 1, 2>();
  Tiles::template Store<0>(tiles.sums, 64);
  bool agree = IntegersAgree<false>(tiles);
  Tiles::template Zero<0>();
  Tiles::template AddUnsignedDots<0, 1, 2>();
  Tiles::template Store<0>(tiles.sums, 64);
  agree = IntegersAgree<true>(tiles) && agree;
  FillCheckedBfloat16(tiles);
  load(tiles);
  Tiles::template AddBfloat16Dots<0, 1, 2>();
  Tiles::template AddBfloat16Dots<0, 1, 2>();
  Tiles::template Store<0>(tiles.sums, 64);
  agree = Bfloat16Agrees(tiles) && agree;
  Tiles::Release();
  return agree;
}

}  // namespace
}  // namespace aster::kernels
