// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Types whose sixteen levels are not evenly spaced: IQ4_NL, IQ4_XS.
#include <algorithm>
#include <array>
#include <cmath>

#include "quant/encode.h"
#include "quant/fit.h"

namespace aster::quant {
namespace {

constexpr size_t kBlockCount = 32;  // weights that share a scale

// The nearest level for every whole number -128..127.
constexpr std::array<uint8_t, 256> NearestLevels() {
  std::array<uint8_t, 256> nearest = {};
  for (int value = -128; value < 128; ++value) {
    int best = 0;
    for (int i = 1; i < 16; ++i) {
      const int distance = value < kIq4Levels[i] ? kIq4Levels[i] - value : value - kIq4Levels[i];
      const int best_distance =
          value < kIq4Levels[best] ? kIq4Levels[best] - value : value - kIq4Levels[best];
      if (distance < best_distance) best = i;
    }
    nearest[value + 128] = static_cast<uint8_t>(best);
  }
  return nearest;
}

// The index of the level nearest to `value`, within the half step of a whole number.
size_t NearestLevel(float value) {
  static constexpr std::array<uint8_t, 256> kNearest = NearestLevels();
  const float shifted = std::clamp(value, -128.0f, 127.0f) + 128.5f;
  return kNearest[static_cast<size_t>(shifted)];
}

struct Sums {
  float level_level = 0;
  float level_x = 0;
};

Sums SumLevels(const float* x, const float* importance, float reciprocal) {
  Sums sums;
  for (size_t i = 0; i < kBlockCount; ++i) {
    const float level = kIq4Levels[NearestLevel(x[i] * reciprocal)];
    const float weighted = importance[i] * level;
    sums.level_level += weighted * level;
    sums.level_x += weighted * x[i];
  }
  return sums;
}

float ErrorOf(const float* x, const float* importance, float scale) {
  const float reciprocal = scale != 0 ? 1 / scale : 0;
  float error = 0;
  for (size_t i = 0; i < kBlockCount; ++i) {
    const float difference = scale * kIq4Levels[NearestLevel(x[i] * reciprocal)] - x[i];
    error += importance[i] * difference * difference;
  }
  return error;
}

// The scale that fits best; of either sign, as the levels are not symmetric.
float FitCodebook(const float* x, const float* importance) {
  const float largest = LargestByMagnitude({x, kBlockCount});
  if (largest == 0) return 0;
  float best_scale = 0;
  float best_gain = 0;
  for (const float end : {-127.0f, 113.0f}) {
    for (int trial = 0; trial < 6; ++trial) {
      const float reciprocal = end * (0.8f + 0.08f * static_cast<float>(trial)) / largest;
      const Sums sums = SumLevels(x, importance, reciprocal);
      if (sums.level_x * sums.level_x > best_gain * sums.level_level) {
        best_scale = sums.level_x / sums.level_level;
        best_gain = best_scale * sums.level_x;
      }
    }
  }
  return best_scale;
}

void PackLevels(const float* x, float scale, uint8_t* quants) {
  const float reciprocal = scale != 0 ? 1 / scale : 0;
  for (size_t i = 0; i < kBlockCount / 2; ++i) {
    quants[i] = static_cast<uint8_t>(NearestLevel(x[i] * reciprocal) |
                                     NearestLevel(x[i + 16] * reciprocal) << 4);
  }
}

// The super-block of IQ4_XS: eight groups with scales of -32..31.
class CodebookEncoder {
 public:
  explicit CodebookEncoder(const BlockInput& input) : input_(input) {}

  void Encode(BlockIQ4_XS& block) {
    for (size_t i = 0; i < kGroups; ++i) fits_[i] = FitCodebook(X(i), Importance(i));
    // The largest group scale takes the lowest whole number, which has no positive counterpart.
    SetSuperScale(-LargestByMagnitude(fits_) / 32);
    for (size_t i = 0; i < kGroups; ++i) ChooseScale(i);
    Refit();
    for (size_t i = 0; i < kGroups; ++i) ChooseScale(i);
    Store(block);
  }

 private:
  static constexpr size_t kGroups = 8;

  const float* X(size_t i) const { return input_.x + i * kBlockCount; }
  const float* Importance(size_t i) const { return input_.importance + i * kBlockCount; }
  float ValueOf(int scale) const { return step_ * static_cast<float>(scale); }

  void SetSuperScale(float scale) {
    super_scale_ = input_.StoreScale(scale);
    step_ = input_.ReadScale(super_scale_);
  }

  // The best of the whole numbers next to the group's own fit.
  void ChooseScale(size_t i) {
    const int below =
        step_ != 0 ? static_cast<int>(std::floor(std::clamp(fits_[i] / step_, -32.0f, 31.0f))) : 0;
    float best_error = INFINITY;
    for (int scale = std::max(below - 1, -32); scale <= std::min(below + 2, 31); ++scale) {
      const float error = ErrorOf(X(i), Importance(i), ValueOf(scale));
      if (error < best_error) {
        best_error = error;
        scales_[i] = scale;
      }
    }
  }

  // The super-block scale that fits best to the chosen levels and group scales.
  void Refit() {
    double level_level = 0;
    double level_x = 0;
    for (size_t i = 0; i < kGroups; ++i) {
      const float value = ValueOf(scales_[i]);
      const Sums sums = SumLevels(X(i), Importance(i), value != 0 ? 1 / value : 0);
      level_level += static_cast<double>(scales_[i]) * scales_[i] * sums.level_level;
      level_x += static_cast<double>(scales_[i]) * sums.level_x;
    }
    if (level_level > 0) SetSuperScale(static_cast<float>(level_x / level_level));
  }

  void Store(BlockIQ4_XS& block) const {
    uint32_t scales_high = 0;
    uint32_t scales_low = 0;
    for (size_t i = 0; i < kGroups; ++i) {
      const auto stored = static_cast<uint32_t>(scales_[i] + 32);
      scales_low |= (stored & 15) << (4 * i);
      scales_high |= (stored >> 4) << (2 * i);
      PackLevels(X(i), ValueOf(scales_[i]), block.quants + 16 * i);
    }
    block.scale = super_scale_;
    block.scales_high = static_cast<uint16_t>(scales_high);
    for (size_t i = 0; i < 4; ++i)
      block.scales_low[i] = static_cast<uint8_t>(scales_low >> (8 * i));
  }

  const BlockInput& input_;
  std::array<float, kGroups> fits_;
  std::array<int, kGroups> scales_ = {};
  uint16_t super_scale_ = 0;
  float step_ = 0;  // the value of the f16 scale
};

}  // namespace

void Encode(const BlockInput& input, BlockIQ4_NL& block) {
  block.scale = input.StoreScale(FitCodebook(input.x, input.importance));
  PackLevels(input.x, input.ReadScale(block.scale), block.quants);
}

void Encode(const BlockInput& input, BlockIQ4_XS& block) { CodebookEncoder(input).Encode(block); }

}  // namespace aster::quant
