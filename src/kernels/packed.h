// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The memory layout of packed weights: one copy that serves every instruction set. Sixteen rows (a
// panel) are interleaved; a panel is a run of blocks, in the order of its columns, and a matrix is
// a run of panels. Only layouts and constants, so that kernel sources may include this;
// docs/arithmetic.md says what the numbers mean. Must not know the layouts of files.
// | Four neighbouring columns of a row, a quad, are stored together; quad t of a group is columns 4
// t to 4 t + 3. The same quad of the other rows follows. So [kPanelRows][4] bytes are one 512-bit
// register, one row per 32-bit lane, and sixteen consecutive quads are one tile of AMX.
#pragma once

#include <cstddef>
#include <cstdint>

namespace aster::kernels {

inline constexpr size_t kPanelRows = 16;

// Packed weights start at a multiple of this.
inline constexpr size_t kPackedAlignment = 64;

// One quad of 8-bit numbers of each row; or two of 4 bits (t in the low half, t + half the group's
// quads in the high half); or four of 2 bits (from bit 2 t); or eight of 1 bit (bit t).
using PackedQuads = uint8_t[kPanelRows][4];

struct PackedF32 {
  static constexpr size_t kColumns = 1;
  float values[kPanelRows];
};

// Two columns, so that the size stays a multiple of a cache line.
struct PackedF16 {
  static constexpr size_t kColumns = 2;
  uint16_t values[2][kPanelRows];
};

struct PackedBF16 {
  static constexpr size_t kColumns = 32;
  uint16_t pairs[16][kPanelRows][2];  // [pair of columns]
};

// The types with a scale per 32 weights are packed two groups at a time.
struct PackedQ8_0 {
  static constexpr size_t kColumns = 64;
  uint16_t scales[2][kPanelRows];  // [group], f16
  PackedQuads quants[2][8];        // [group][quad], 128 added
};
static_assert(sizeof(PackedQ8_0) == 1088);

struct PackedQ4_0 {
  static constexpr size_t kColumns = 64;
  uint16_t scales[2][kPanelRows];
  PackedQuads quants[2][4];  // quads t and t + 4, 8 added
};
static_assert(sizeof(PackedQ4_0) == 576);

struct PackedMXFP4 {
  static constexpr size_t kColumns = 64;
  uint8_t exponents[2][kPanelRows];
  PackedQuads quants[2][4];  // quads t and t + 4, the bits of an E2M1 float each
};
static_assert(sizeof(PackedMXFP4) == 544);

struct PackedIQ4_NL {
  static constexpr size_t kColumns = 64;
  uint16_t scales[2][kPanelRows];
  PackedQuads quants[2][4];  // quads t and t + 4, indices of levels
};
static_assert(sizeof(PackedIQ4_NL) == 576);

struct PackedQ5_1 {
  static constexpr size_t kColumns = 64;
  uint16_t scales[2][kPanelRows];
  uint16_t offsets[2][kPanelRows];  // f16
  struct {
    PackedQuads low[4];  // quads t and t + 4
    PackedQuads high;    // the fifth bit of eight quads
  } groups[2];
};
static_assert(sizeof(PackedQ5_1) == 768);

// The K types: super-blocks of 256 weights. Integer scales and minima of two neighbouring groups
// are stored side by side, so that two products with them are one instruction.
using PackedPair = uint8_t[kPanelRows][2];

struct PackedQ2_K {
  static constexpr size_t kColumns = 256;
  uint16_t scale[kPanelRows];
  uint16_t min_scale[kPanelRows];
  PackedPair scales[8];    // sixteen groups of 16: scale in the low half, minimum in the high half
  PackedQuads quants[16];  // [group], four quads of 2 bits
};
static_assert(sizeof(PackedQ2_K) == 1344);

struct PackedQ4_K {
  static constexpr size_t kColumns = 256;
  uint16_t scale[kPanelRows];
  uint16_t min_scale[kPanelRows];
  PackedPair scales[4];  // eight groups of 32
  PackedPair mins[4];
  PackedQuads quants[8][4];  // [group], quads t and t + 4
};
static_assert(sizeof(PackedQ4_K) == 2368);

struct PackedQ5_K {
  static constexpr size_t kColumns = 256;
  uint16_t scale[kPanelRows];
  uint16_t min_scale[kPanelRows];
  PackedPair scales[4];
  PackedPair mins[4];
  struct {
    PackedQuads low[4];  // quads t and t + 4
    PackedQuads high;    // the fifth bit of eight quads
  } groups[8];
};
static_assert(sizeof(PackedQ5_K) == 2880);

struct PackedQ6_K {
  static constexpr size_t kColumns = 256;
  uint16_t scale[kPanelRows];
  uint8_t unused[32];
  PackedPair scales[8];  // sixteen groups of 16, signed
  struct {
    PackedQuads low[2];  // quads t and t + 2, 32 added to the whole
    PackedQuads high;    // the upper two bits of four quads
  } groups[16];
};
static_assert(sizeof(PackedQ6_K) == 3392);

// Weights with one of sixteen levels (quant/levels.h).
struct PackedLevels {
  static constexpr size_t kColumns = 256;
  uint16_t scale[kPanelRows];
  alignas(16) uint8_t levels[16];  // int8
  float factor;                    // of all scales
  uint8_t unused[12];
  PackedPair scales[8];       // sixteen groups of 16, signed
  PackedQuads quants[16][2];  // [group], quads t and t + 2, indices of levels
};
static_assert(sizeof(PackedLevels) == 2368);

// Quad t of a group is half h = t % 2 of point p = t / 2. Bit Iq2SignBit(t) of byte i of a word of
// signs is 1 if weight i of the quad is negative. Four of these 32 bits follow from the others, as
// a point has an even number of signs: their place, the upper four bits, has the scale.
constexpr int Iq2SignBit(int t) { return 4 * (t % 2) + 3 - t / 2; }

struct PackedIQ2_XXS {
  static constexpr size_t kColumns = 256;
  uint16_t scale[kPanelRows];
  struct {
    uint32_t signs_and_scale[kPanelRows];
    uint8_t points[kPanelRows][4];  // the grid index of eight columns
  } groups[8];
};
static_assert(sizeof(PackedIQ2_XXS) == 1056);

}  // namespace aster::kernels
