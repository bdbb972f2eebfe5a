// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Super-blocks whose weights are one of at most sixteen small integers, times an integer scale of
// sixteen neighbours and a float of the block. Q3_K, IQ4_XS and all grid types can be read so:
// sixteen signed coordinates are enough for each grid. Nothing is rounded. Must not know any
// computation with them.
#pragma once

#include <array>
#include <cstdint>

#include "quant/blocks.h"

namespace aster::quant {

// The levels and the factor of all blocks of a type.
struct LevelTable {
  std::array<int8_t, 16> levels;
  float factor;  // a power of two
};

// weight i = scale * factor * scales[i / 16] * levels[codes[i]]
struct LevelBlock {
  uint8_t codes[kSuperBlock];
  int8_t scales[kSuperBlock / 16];
  uint16_t scale;  // f16
};

const LevelTable& LevelsOf(const BlockQ3_K&);
const LevelTable& LevelsOf(const BlockIQ4_XS&);
const LevelTable& LevelsOf(const BlockIQ3_XXS&);
const LevelTable& LevelsOf(const BlockIQ3_S&);
const LevelTable& LevelsOf(const BlockIQ2_XS&);
const LevelTable& LevelsOf(const BlockIQ2_S&);
const LevelTable& LevelsOf(const BlockIQ1_S&);
const LevelTable& LevelsOf(const BlockIQ1_M&);

void ReadLevels(const BlockQ3_K& block, LevelBlock& out);
void ReadLevels(const BlockIQ4_XS& block, LevelBlock& out);
void ReadLevels(const BlockIQ3_XXS& block, LevelBlock& out);
void ReadLevels(const BlockIQ3_S& block, LevelBlock& out);
void ReadLevels(const BlockIQ2_XS& block, LevelBlock& out);
void ReadLevels(const BlockIQ2_S& block, LevelBlock& out);
void ReadLevels(const BlockIQ1_S& block, LevelBlock& out);
void ReadLevels(const BlockIQ1_M& block, LevelBlock& out);

}  // namespace aster::quant
