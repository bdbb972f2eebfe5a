// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "quant/levels.h"

#include <algorithm>

#include "base/bytes.h"
#include "quant/lattice.h"
#include "quant/scales.h"
#include "quant/super_bits.h"

namespace aster::quant {
namespace {

// --- Levels. Those of a grid with signs: the magnitudes, then their negatives.

constexpr LevelTable kQ3KLevels = {{-4, -3, -2, -1, 0, 1, 2, 3}, 1.0f};
constexpr LevelTable kIq4XsLevels = {std::to_array(kIq4Levels), 1.0f};
constexpr LevelTable kIq3XxsLevelTable = {
    {4, 12, 20, 28, 36, 44, 52, 62, -4, -12, -20, -28, -36, -44, -52, -62}, 0.25f};
constexpr LevelTable kIq3SLevelTable = {
    {1, 3, 5, 7, 9, 11, 13, 15, -1, -3, -5, -7, -9, -11, -13, -15}, 1.0f};
constexpr LevelTable kIq2LevelTable = {{8, 25, 43, 0, 0, 0, 0, 0, -8, -25, -43}, 0.125f};
// Eight times -1, 0 and 1, each shifted by an eighth down or up.
constexpr LevelTable kIq1LevelTable = {{-9, -7, -1, 1, 7, 9}, 0.125f};

constexpr uint8_t kNegative = 8;

// --- Codes of the coordinates of points.

uint8_t CodeOfIq3Xxs(int magnitude) { return static_cast<uint8_t>(magnitude / 8); }  // 4, 12 ... 62
uint8_t CodeOfIq3S(int magnitude) { return static_cast<uint8_t>(magnitude / 2); }    // 1, 3 ... 15
uint8_t CodeOfIq2(int magnitude) { return static_cast<uint8_t>(magnitude / 16); }    // 8, 25, 43
uint8_t CodeOfIq1(int coordinate) { return static_cast<uint8_t>(2 * coordinate + 2); }

template <size_t kPoints, size_t kCount, typename CodeOf>
auto CodesOf(const std::array<std::array<int8_t, kCount>, kPoints>& grid, const CodeOf& code_of) {
  std::array<std::array<uint8_t, kCount>, kPoints> codes;
  for (size_t point = 0; point < kPoints; ++point) {
    for (size_t i = 0; i < kCount; ++i) codes[point][i] = code_of(grid[point][i]);
  }
  return codes;
}

// Bit i of `signs` makes coordinate i negative.
template <size_t kCount>
void SetCodes(const std::array<uint8_t, kCount>& point, uint32_t signs, uint8_t* out) {
  for (size_t i = 0; i < kCount; ++i) {
    out[i] = static_cast<uint8_t>(point[i] | ((signs >> i & 1) != 0 ? kNegative : 0));
  }
}

// The grid of both one-bit types.
const std::array<std::array<uint8_t, 8>, 2048>& Iq1Codes() {
  static const auto kCodes = CodesOf(kIq1Grid, CodeOfIq1);
  return kCodes;
}

// A point of that grid, shifted.
void SetMovedCodes(const std::array<uint8_t, 8>& point, bool down, uint8_t* out) {
  for (size_t i = 0; i < 8; ++i) out[i] = static_cast<uint8_t>(point[i] + (down ? 0 : 1));
}

int8_t OddScale(uint32_t stored) { return static_cast<int8_t>(2 * stored + 1); }

uint32_t Nibble(const uint8_t* bytes, size_t index) {
  return static_cast<uint32_t>(bytes[index / 2] >> (index % 2 * 4) & 15);
}

uint16_t PairOf(const uint8_t* bytes, size_t index) {
  return LoadUnaligned<uint16_t>(bytes + 2 * index);
}

}  // namespace

const LevelTable& LevelsOf(const BlockQ3_K&) { return kQ3KLevels; }
const LevelTable& LevelsOf(const BlockIQ4_XS&) { return kIq4XsLevels; }
const LevelTable& LevelsOf(const BlockIQ3_XXS&) { return kIq3XxsLevelTable; }
const LevelTable& LevelsOf(const BlockIQ3_S&) { return kIq3SLevelTable; }
const LevelTable& LevelsOf(const BlockIQ2_XS&) { return kIq2LevelTable; }
const LevelTable& LevelsOf(const BlockIQ2_S&) { return kIq2LevelTable; }
const LevelTable& LevelsOf(const BlockIQ1_S&) { return kIq1LevelTable; }
const LevelTable& LevelsOf(const BlockIQ1_M&) { return kIq1LevelTable; }

void ReadLevels(const BlockQ3_K& block, LevelBlock& out) {
  out.scale = block.scale;
  std::ranges::copy(UnpackScales6(block.scales), out.scales);
  for (size_t i = 0; i < kSuperBlock; ++i) out.codes[i] = static_cast<uint8_t>(LevelOf(block, i));
}

void ReadLevels(const BlockIQ4_XS& block, LevelBlock& out) {
  out.scale = block.scale;
  for (size_t group = 0; group < 8; ++group) {
    const uint32_t high = block.scales_high >> (2 * group) & 3u;
    const auto scale = static_cast<int8_t>((Nibble(block.scales_low, group) | high << 4) - 32);
    out.scales[2 * group] = out.scales[2 * group + 1] = scale;
    for (size_t i = 0; i < 16; ++i) {
      const uint8_t both = block.quants[16 * group + i];
      out.codes[32 * group + i] = both & 15;
      out.codes[32 * group + 16 + i] = both >> 4;
    }
  }
}

void ReadLevels(const BlockIQ3_XXS& block, LevelBlock& out) {
  static const auto kCodes = CodesOf(kIq3XxsGrid, CodeOfIq3Xxs);
  out.scale = block.scale;
  for (size_t group = 0; group < 8; ++group) {
    const auto word = LoadUnaligned<uint32_t>(block.signs_and_scales + 4 * group);
    out.scales[2 * group] = out.scales[2 * group + 1] = OddScale(word >> 28);
    for (size_t i = 0; i < 8; ++i) {  // four weights each
      const uint32_t signs = EvenSigns(word >> (7 * (i / 2)) & 127) >> (i % 2 * 4);
      SetCodes(kCodes[block.points[8 * group + i]], signs, out.codes + 32 * group + 4 * i);
    }
  }
}

void ReadLevels(const BlockIQ3_S& block, LevelBlock& out) {
  static const auto kCodes = CodesOf(kIq3SGrid, CodeOfIq3S);
  out.scale = block.scale;
  for (size_t i = 0; i < 16; ++i) out.scales[i] = OddScale(Nibble(block.scales, i / 2));
  for (size_t i = 0; i < 64; ++i) {  // four weights each
    const size_t high = block.point_high_bits[i / 8] >> (i % 8) & 1u;
    const uint32_t signs = block.signs[i / 2] >> (i % 2 * 4);
    SetCodes(kCodes[block.points[i] | high << 8], signs, out.codes + 4 * i);
  }
}

void ReadLevels(const BlockIQ2_XS& block, LevelBlock& out) {
  static const auto kCodes = CodesOf(kIq2XsGrid, CodeOfIq2);
  out.scale = block.scale;
  for (size_t i = 0; i < 16; ++i) out.scales[i] = OddScale(Nibble(block.scales, i));
  for (size_t i = 0; i < 32; ++i) {
    const uint32_t pair = PairOf(block.points_and_signs, i);
    SetCodes(kCodes[pair & 511], EvenSigns(pair >> 9), out.codes + 8 * i);
  }
}

void ReadLevels(const BlockIQ2_S& block, LevelBlock& out) {
  static const auto kCodes = CodesOf(kIq2SGrid, CodeOfIq2);
  out.scale = block.scale;
  for (size_t i = 0; i < 16; ++i) out.scales[i] = OddScale(Nibble(block.scales, i));
  for (size_t i = 0; i < 32; ++i) {
    const size_t high = block.point_high_bits[i / 4] >> (i % 4 * 2) & 3u;
    SetCodes(kCodes[block.points[i] | high << 8], block.signs[i], out.codes + 8 * i);
  }
}

void ReadLevels(const BlockIQ1_S& block, LevelBlock& out) {
  const auto& codes = Iq1Codes();
  out.scale = block.scale;
  for (size_t group = 0; group < 8; ++group) {
    const uint32_t pair = PairOf(block.high_bits, group);
    out.scales[2 * group] = out.scales[2 * group + 1] = OddScale(pair >> 12 & 7);
    for (size_t i = 0; i < 4; ++i) {
      const uint32_t high = pair >> (3 * i) & 7;
      SetMovedCodes(codes[block.points[4 * group + i] | high << 8], (pair & 0x8000) != 0,
                    out.codes + 32 * group + 8 * i);
    }
  }
}

void ReadLevels(const BlockIQ1_M& block, LevelBlock& out) {
  const auto& codes = Iq1Codes();
  uint32_t scale = 0;
  for (size_t i = 0; i < 4; ++i) scale |= PairOf(block.scales, i) >> 12 << (4 * i);
  out.scale = static_cast<uint16_t>(scale);
  for (size_t i = 0; i < 16; ++i) {
    out.scales[i] = OddScale(PairOf(block.scales, i / 4) >> (3 * (i % 4)) & 7);
  }
  for (size_t i = 0; i < 32; ++i) {
    const uint32_t nibble = Nibble(block.high_bits, i);
    SetMovedCodes(codes[block.points[i] | (nibble & 7) << 8], (nibble & 8) != 0, out.codes + 8 * i);
  }
}

}  // namespace aster::quant
