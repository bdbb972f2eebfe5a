// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Grid types: indices of points instead of single weights.
#include "base/bytes.h"
#include "quant/decode.h"
#include "quant/half.h"
#include "quant/lattice.h"

namespace aster::quant {
namespace {

// Bit i of `signs` makes coordinate i negative.
template <size_t kCount>
void DecodePoint(const std::array<int8_t, kCount>& point, uint32_t signs, float scale, float* out) {
  for (size_t i = 0; i < kCount; ++i) {
    const float magnitude = scale * static_cast<float>(point[i]);
    out[i] = (signs >> i & 1) != 0 ? -magnitude : magnitude;
  }
}

uint16_t PairAt(const uint8_t* bytes, size_t index) {
  return LoadUnaligned<uint16_t>(bytes + 2 * index);
}

// The scale of a group; the stored one means the middle of a step.
float MiddleScale(float scale, uint32_t stored) {
  return scale * (0.5f + static_cast<float>(stored));
}

// The one-bit types: a point of -1, 0 and 1, shifted by an eighth.
void DecodeShifted(const Point8& point, bool down, float scale, float* out) {
  const float shift = down ? -0.125f : 0.125f;
  for (size_t i = 0; i < 8; ++i) out[i] = scale * (static_cast<float>(point[i]) + shift);
}

}  // namespace

void Decode(const BlockIQ2_XXS& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  for (size_t group = 0; group < 8; ++group) {
    const uint32_t signs_and_scale = block.groups[group].signs_and_scale;
    const float group_scale = MiddleScale(scale, signs_and_scale >> 28) * 0.25f;
    for (size_t i = 0; i < 4; ++i) {
      const uint32_t signs = EvenSigns(signs_and_scale >> (7 * i) & 127);
      DecodePoint(kIq2XxsGrid[block.groups[group].points[i]], signs, group_scale, out);
      out += 8;
    }
  }
}

void Decode(const BlockIQ2_XS& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  for (size_t i = 0; i < 32; ++i) {
    const uint32_t stored = block.scales[i / 4] >> (i / 2 % 2 * 4) & 15;
    const uint32_t pair = PairAt(block.points_and_signs, i);
    DecodePoint(kIq2XsGrid[pair & 511], EvenSigns(pair >> 9), MiddleScale(scale, stored) * 0.25f,
                out + 8 * i);
  }
}

void Decode(const BlockIQ2_S& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  for (size_t i = 0; i < 32; ++i) {
    const uint32_t stored = block.scales[i / 4] >> (i / 2 % 2 * 4) & 15;
    const uint32_t high = block.point_high_bits[i / 4] >> (i % 4 * 2) & 3;
    DecodePoint(kIq2SGrid[block.points[i] | high << 8], block.signs[i],
                MiddleScale(scale, stored) * 0.25f, out + 8 * i);
  }
}

void Decode(const BlockIQ3_XXS& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  for (size_t i = 0; i < 64; ++i) {  // four weights each
    const auto word = LoadUnaligned<uint32_t>(block.signs_and_scales + i / 8 * 4);
    const uint32_t signs = EvenSigns(word >> (7 * (i / 2 % 4)) & 127) >> (i % 2 * 4);
    DecodePoint(kIq3XxsGrid[block.points[i]], signs, MiddleScale(scale, word >> 28) * 0.5f,
                out + 4 * i);
  }
}

void Decode(const BlockIQ3_S& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  for (size_t i = 0; i < 64; ++i) {  // four weights each
    const int stored = block.scales[i / 16] >> (i / 8 % 2 * 4) & 15;
    const uint32_t high = block.point_high_bits[i / 8] >> (i % 8) & 1;
    const uint32_t signs = block.signs[i / 2] >> (i % 2 * 4);
    DecodePoint(kIq3SGrid[block.points[i] | high << 8], signs,
                scale * static_cast<float>(1 + 2 * stored), out + 4 * i);
  }
}

void Decode(const BlockIQ1_S& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  for (size_t i = 0; i < 32; ++i) {
    const uint32_t pair = PairAt(block.high_bits, i / 4);
    const float group_scale = scale * static_cast<float>(2 * (pair >> 12 & 7) + 1);
    const uint32_t high = pair >> (i % 4 * 3) & 7;
    DecodeShifted(kIq1Grid[block.points[i] | high << 8], (pair & 0x8000) != 0, group_scale,
                  out + 8 * i);
  }
}

void Decode(const BlockIQ1_M& block, float* out) {
  uint32_t scale_bits = 0;
  for (size_t i = 0; i < 4; ++i) scale_bits |= PairAt(block.scales, i) >> 12 << (4 * i);
  const float scale = HalfToFloat(static_cast<uint16_t>(scale_bits));
  for (size_t i = 0; i < 32; ++i) {
    const uint32_t stored = PairAt(block.scales, i / 8) >> (i / 2 % 4 * 3) & 7;
    const uint32_t nibble = block.high_bits[i / 2] >> (i % 2 * 4) & 15;
    DecodeShifted(kIq1Grid[block.points[i] | (nibble & 7) << 8], (nibble & 8) != 0,
                  scale * static_cast<float>(2 * stored + 1), out + 8 * i);
  }
}

}  // namespace aster::quant
