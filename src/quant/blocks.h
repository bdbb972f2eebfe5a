// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The memory layout of the quantised types of model files, one struct per block. Only layouts: the
// decoders (decode_*.cc) say what the fields mean, docs/quantisation.md says it in words. Every
// struct is packed, so that a block may be at any address. Scales of type uint16_t are f16.
#pragma once

#include <cstddef>
#include <cstdint>

namespace aster::quant {

// K and I types have a scale for each super-block of this many weights.
inline constexpr size_t kSuperBlock = 256;

struct [[gnu::packed]] BlockQ1_0 {
  static constexpr size_t kElements = 128;
  uint16_t scale;
  uint8_t bits[16];
};
static_assert(sizeof(BlockQ1_0) == 18);

struct [[gnu::packed]] BlockQ2_0 {
  static constexpr size_t kElements = 64;
  uint16_t scale;
  uint8_t quants[16];
};
static_assert(sizeof(BlockQ2_0) == 18);

struct [[gnu::packed]] BlockQ4_0 {
  static constexpr size_t kElements = 32;
  uint16_t scale;
  uint8_t quants[16];  // byte i: weight i in the low half, weight i + 16 in the high half
};
static_assert(sizeof(BlockQ4_0) == 18);

struct [[gnu::packed]] BlockQ4_1 {
  static constexpr size_t kElements = 32;
  uint16_t scale;
  uint16_t offset;
  uint8_t quants[16];
};
static_assert(sizeof(BlockQ4_1) == 20);

struct [[gnu::packed]] BlockQ5_0 {
  static constexpr size_t kElements = 32;
  uint16_t scale;
  uint32_t high_bits;  // bit i: the fifth bit of weight i
  uint8_t quants[16];
};
static_assert(sizeof(BlockQ5_0) == 22);

struct [[gnu::packed]] BlockQ5_1 {
  static constexpr size_t kElements = 32;
  uint16_t scale;
  uint16_t offset;
  uint32_t high_bits;
  uint8_t quants[16];
};
static_assert(sizeof(BlockQ5_1) == 24);

struct [[gnu::packed]] BlockQ8_0 {
  static constexpr size_t kElements = 32;
  uint16_t scale;
  int8_t quants[32];
};
static_assert(sizeof(BlockQ8_0) == 34);

struct [[gnu::packed]] BlockQ8_1 {
  static constexpr size_t kElements = 32;
  uint16_t scale;
  uint16_t scaled_sum;  // scale times the sum of the quants: for dot products only
  int8_t quants[32];
};
static_assert(sizeof(BlockQ8_1) == 36);

struct [[gnu::packed]] BlockQ2_K {
  static constexpr size_t kElements = kSuperBlock;
  uint8_t scales[16];  // a group of 16: scale in the low half, minimum in the high half
  uint8_t quants[64];
  uint16_t scale;
  uint16_t min_scale;
};
static_assert(sizeof(BlockQ2_K) == 84);

struct [[gnu::packed]] BlockQ3_K {
  static constexpr size_t kElements = kSuperBlock;
  uint8_t high_bits[32];  // bit k of byte i: the third bit of weight 32 k + i
  uint8_t quants[64];
  uint8_t scales[12];  // sixteen 6-bit numbers, see Scales6Of
  uint16_t scale;
};
static_assert(sizeof(BlockQ3_K) == 110);

struct [[gnu::packed]] BlockQ4_K {
  static constexpr size_t kElements = kSuperBlock;
  uint16_t scale;
  uint16_t min_scale;
  uint8_t scales[12];  // eight 6-bit scales and eight 6-bit minima, see ScalesAndMins
  uint8_t quants[128];
};
static_assert(sizeof(BlockQ4_K) == 144);

struct [[gnu::packed]] BlockQ5_K {
  static constexpr size_t kElements = kSuperBlock;
  uint16_t scale;
  uint16_t min_scale;
  uint8_t scales[12];
  uint8_t high_bits[32];  // bit k of byte i: the fifth bit of weight 32 k + i
  uint8_t quants[128];
};
static_assert(sizeof(BlockQ5_K) == 176);

struct [[gnu::packed]] BlockQ6_K {
  static constexpr size_t kElements = kSuperBlock;
  uint8_t low_bits[128];
  uint8_t high_bits[64];
  int8_t scales[16];
  uint16_t scale;
};
static_assert(sizeof(BlockQ6_K) == 210);

struct [[gnu::packed]] BlockQ8_K {
  static constexpr size_t kElements = kSuperBlock;
  float scale;
  int8_t quants[256];
  int16_t sums[16];  // of 16 quants each: for dot products only
};
static_assert(sizeof(BlockQ8_K) == 292);

struct [[gnu::packed]] BlockTQ1_0 {
  static constexpr size_t kElements = kSuperBlock;
  uint8_t fives[48];  // five ternary digits a byte
  uint8_t fours[4];   // four ternary digits a byte
  uint16_t scale;
};
static_assert(sizeof(BlockTQ1_0) == 54);

struct [[gnu::packed]] BlockTQ2_0 {
  static constexpr size_t kElements = kSuperBlock;
  uint8_t quants[64];
  uint16_t scale;
};
static_assert(sizeof(BlockTQ2_0) == 66);

// Eight groups of 32 weights: four grid indices of 8 bits, then four times seven signs and a scale
// of 4 bits.
struct [[gnu::packed]] BlockIQ2_XXS {
  static constexpr size_t kElements = kSuperBlock;
  uint16_t scale;
  struct [[gnu::packed]] Group {
    uint8_t points[4];
    uint32_t signs_and_scale;
  } groups[8];
};
static_assert(sizeof(BlockIQ2_XXS) == 66);

struct [[gnu::packed]] BlockIQ2_XS {
  static constexpr size_t kElements = kSuperBlock;
  uint16_t scale;
  uint8_t points_and_signs[64];  // 32 little-endian pairs of bytes: 9 bits of grid index, 7 signs
  uint8_t scales[8];
};
static_assert(sizeof(BlockIQ2_XS) == 74);

struct [[gnu::packed]] BlockIQ2_S {
  static constexpr size_t kElements = kSuperBlock;
  uint16_t scale;
  uint8_t points[32];
  uint8_t signs[32];
  uint8_t point_high_bits[8];
  uint8_t scales[8];
};
static_assert(sizeof(BlockIQ2_S) == 82);

struct [[gnu::packed]] BlockIQ3_XXS {
  static constexpr size_t kElements = kSuperBlock;
  uint16_t scale;
  uint8_t points[64];
  uint8_t signs_and_scales[32];  // eight little-endian words: four times seven signs, 4-bit scale
};
static_assert(sizeof(BlockIQ3_XXS) == 98);

struct [[gnu::packed]] BlockIQ3_S {
  static constexpr size_t kElements = kSuperBlock;
  uint16_t scale;
  uint8_t points[64];
  uint8_t point_high_bits[8];
  uint8_t signs[32];
  uint8_t scales[4];
};
static_assert(sizeof(BlockIQ3_S) == 110);

struct [[gnu::packed]] BlockIQ1_S {
  static constexpr size_t kElements = kSuperBlock;
  uint16_t scale;
  uint8_t points[32];
  uint8_t
      high_bits[16];  // eight little-endian pairs: 4 x 3 bits of index, 3-bit scale, offset sign
};
static_assert(sizeof(BlockIQ1_S) == 50);

struct [[gnu::packed]] BlockIQ1_M {
  static constexpr size_t kElements = kSuperBlock;
  uint8_t points[32];
  uint8_t high_bits[16];  // per half: 3 bits of index, offset sign
  uint8_t scales[8];      // four pairs: four 3-bit scales and a quarter of the block's f16 scale
};
static_assert(sizeof(BlockIQ1_M) == 56);

struct [[gnu::packed]] BlockIQ4_NL {
  static constexpr size_t kElements = 32;
  uint16_t scale;
  uint8_t quants[16];
};
static_assert(sizeof(BlockIQ4_NL) == 18);

struct [[gnu::packed]] BlockIQ4_XS {
  static constexpr size_t kElements = kSuperBlock;
  uint16_t scale;
  uint16_t scales_high;   // two bits a group
  uint8_t scales_low[4];  // four bits a group
  uint8_t quants[128];
};
static_assert(sizeof(BlockIQ4_XS) == 136);

struct [[gnu::packed]] BlockMXFP4 {
  static constexpr size_t kElements = 32;
  uint8_t exponent;  // E8M0
  uint8_t quants[16];
};
static_assert(sizeof(BlockMXFP4) == 17);

struct [[gnu::packed]] BlockNVFP4 {
  static constexpr size_t kElements = 64;
  uint8_t scales[4];  // UE4M3, for a group of 16 each
  uint8_t quants[32];
};
static_assert(sizeof(BlockNVFP4) == 36);

// Twice the sixteen values of a 4-bit float (E2M1), by bit pattern.
inline constexpr int8_t kFp4Doubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// The sixteen levels of IQ4_NL and IQ4_XS, denser near zero, where most weights are.
inline constexpr int8_t kIq4Levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                          1,    13,   25,  38,  53,  69,  89,  113};

}  // namespace aster::quant
