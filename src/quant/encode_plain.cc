// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Types with one scale per block and no super-blocks.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "quant/encode.h"
#include "quant/fit.h"

namespace aster::quant {
namespace {

constexpr size_t kCount = 32;  // weights per block, for all types of this file

Group GroupOf(const BlockInput& input) { return {input.x, input.importance, kCount}; }

// Weights i and i + 16 share byte i; only the low four bits of a level.
void PackHalves(const uint8_t* levels, uint8_t* quants) {
  for (size_t i = 0; i < kCount / 2; ++i) {
    quants[i] = static_cast<uint8_t>((levels[i] & 15) | (levels[i + 16] & 15) << 4);
  }
}

uint32_t FifthBits(const uint8_t* levels) {
  uint32_t bits = 0;
  for (size_t i = 0; i < kCount; ++i) bits |= static_cast<uint32_t>(levels[i] >> 4) << i;
  return bits;
}

template <typename Block>
void EncodeSigned(const BlockInput& input, float limit, Block& block, uint8_t* levels) {
  const Group group = GroupOf(input);
  block.scale = input.StoreScale(FitScale(group, limit));
  ScaleLevels(group, input.ReadScale(block.scale), {-limit, limit - 1}, levels);
  PackHalves(levels, block.quants);
}

// The offset may have either sign here, so the weights are shifted down until the largest is zero:
// then FitAffine's condition that the minimum is not negative does not matter.
template <typename Block>
void EncodeOffset(const BlockInput& input, float highest, Block& block, uint8_t* levels) {
  const float top = *std::max_element(input.x, input.x + kCount);
  float moved[kCount];
  for (size_t i = 0; i < kCount; ++i) moved[i] = input.x[i] - top;
  const Affine fit = FitAffine({moved, input.importance, kCount}, highest);
  block.scale = input.StoreScale(fit.scale);
  block.offset = input.StoreScale(top - fit.min);
  const Affine stored = {input.ReadScale(block.scale), -input.ReadScale(block.offset)};
  AffineLevels(GroupOf(input), stored, highest, levels);
  PackHalves(levels, block.quants);
}

// To the nearest whole number, halves away from zero, for |value| < 2^23.
int RoundHalfAway(float value) {
  const float magnitude = std::fabs(value);
  const int whole = static_cast<int>(magnitude);
  const int rounded = whole + (magnitude - static_cast<float>(whole) >= 0.5f ? 1 : 0);
  return value < 0 ? -rounded : rounded;
}

Lanes Magnitude(Lanes value) { return Max(value, Lanes() - value); }

// The nearest of the doubled magnitudes of a 4-bit float: 0 1 2 3 4 6 8 12. Steps of one up to 4,
// of two up to 8, of four up to 12; the borders are levels, so each part rounds separately.
Lanes NearestFp4(Lanes magnitude) {
  const Lanes ones = RoundToEven(Min(magnitude, Lanes(4)));
  const Lanes twos = RoundToEven((Clamp(magnitude, Lanes(4), Lanes(8)) - Lanes(4)) * Lanes(0.5f));
  const Lanes fours =
      RoundToEven((Clamp(magnitude, Lanes(8), Lanes(12)) - Lanes(8)) * Lanes(0.25f));
  return ones + twos * Lanes(2) + fours * Lanes(4);
}

float Fp4Error(const BlockInput& input, float half_scale) {
  const Lanes scale(half_scale);
  const Lanes reciprocal(1 / half_scale);
  Lanes error;
  for (size_t i = 0; i < kCount; i += kLanes) {
    const Lanes magnitude = Magnitude(Lanes::Load(input.x + i));
    const Lanes difference = NearestFp4(magnitude * reciprocal) * scale - magnitude;
    error += Lanes::Load(input.importance + i) * difference * difference;
  }
  return error.Sum();
}

void Fp4Patterns(const BlockInput& input, float half_scale, uint8_t* patterns) {
  constexpr uint8_t kPatternOf[13] = {0, 1, 2, 3, 4, 0, 5, 0, 6, 0, 0, 0, 7};  // of a doubled value
  const Lanes reciprocal(1 / half_scale);
  for (size_t i = 0; i < kCount; i += kLanes) {
    const auto levels = NearestFp4(Magnitude(Lanes::Load(input.x + i)) * reciprocal).ToArray();
    for (size_t k = 0; k < kLanes; ++k) {
      const uint8_t pattern = kPatternOf[static_cast<int>(levels[k])];
      patterns[i + k] = input.x[i + k] < 0 ? pattern | 8 : pattern;
    }
  }
}

int ExponentOf(float power_of_two) {
  return static_cast<int>(std::bit_cast<uint32_t>(power_of_two) >> 23 & 255) - 127;
}

}  // namespace

void Encode(const BlockInput& input, BlockQ4_0& block) {
  uint8_t levels[kCount];
  EncodeSigned(input, 8, block, levels);
}

void Encode(const BlockInput& input, BlockQ5_0& block) {
  uint8_t levels[kCount];
  EncodeSigned(input, 16, block, levels);
  block.high_bits = FifthBits(levels);
}

void Encode(const BlockInput& input, BlockQ4_1& block) {
  uint8_t levels[kCount];
  EncodeOffset(input, 15, block, levels);
}

void Encode(const BlockInput& input, BlockQ5_1& block) {
  uint8_t levels[kCount];
  EncodeOffset(input, 31, block, levels);
  block.high_bits = FifthBits(levels);
}

// No search: at eight bits the plain rule is as good, and files of all tools agree.
void Encode(const BlockInput& input, BlockQ8_0& block) {
  Lanes largest;
  for (size_t i = 0; i < kCount; i += kLanes) {
    largest = Max(largest, Magnitude(Lanes::Load(input.x + i)));
  }
  const auto largests = largest.ToArray();
  const float scale = *std::max_element(largests.begin(), largests.end()) / 127;
  const float reciprocal = scale != 0 ? 1 / scale : 0;
  block.scale = input.StoreScale(scale);
  for (size_t i = 0; i < kCount; ++i) {
    block.quants[i] = static_cast<int8_t>(RoundHalfAway(input.x[i] * reciprocal));
  }
}

void Encode(const BlockInput& input, BlockMXFP4& block) {
  // Weights are near 1, so the largest is between 8 and 16 times the middle candidate's half scale;
  // the highest level is 12.
  float best_half_scale = 0;
  float best_error = INFINITY;
  for (const float half_scale : {0.125f, 0.25f, 0.0625f}) {
    const float error = Fp4Error(input, half_scale);
    if (error < best_error) {
      best_error = error;
      best_half_scale = half_scale;
    }
  }
  const int exponent = ExponentOf(best_half_scale) + ExponentOf(input.unit) + 128;
  block.exponent = static_cast<uint8_t>(std::clamp(exponent, 0, 254));
  uint8_t patterns[kCount];
  Fp4Patterns(input, best_half_scale, patterns);
  PackHalves(patterns, block.quants);
}

}  // namespace aster::quant
