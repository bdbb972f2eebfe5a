// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The K types whose groups have only a scale: Q3_K, Q6_K.
#include <algorithm>
#include <array>
#include <cmath>

#include "quant/encode.h"
#include "quant/fit.h"
#include "quant/scales.h"
#include "quant/super_bits.h"

namespace aster::quant {
namespace {

constexpr size_t kGroupSize = 16;
constexpr size_t kGroupCount = kSuperBlock / kGroupSize;

// Levels and group scales are whole numbers from minus their limit to one below it.
struct SignedFormat {
  int level_limit;
  int scale_limit;
};

// The scales of a super-block: one in f16, and a small whole number per group.
struct SignedScales {
  uint16_t scale = 0;
  std::array<int8_t, kGroupCount> scales = {};
};

class SignedEncoder {
 public:
  SignedEncoder(const BlockInput& input, const SignedFormat& format)
      : input_(input),
        format_(format),
        levels_{static_cast<float>(-format.level_limit),
                static_cast<float>(format.level_limit - 1)} {}

  // Returns the scales, and in `levels` [kSuperBlock] every weight's level with the limit added.
  SignedScales Encode(uint8_t* levels) {
    for (size_t i = 0; i < kGroupCount; ++i) {
      fits_[i] = FitScale(GroupAt(i), static_cast<float>(format_.level_limit));
    }
    // The largest group scale takes the lowest whole number, which has no positive counterpart.
    SetSuperScale(-LargestByMagnitude(fits_) / static_cast<float>(format_.scale_limit));
    ChooseGroupScales();
    Refit();
    ChooseGroupScales();
    ChooseLevels(levels);
    return scales_;
  }

 private:
  Group GroupAt(size_t i) const {
    return {input_.x + i * kGroupSize, input_.importance + i * kGroupSize, kGroupSize};
  }

  void SetSuperScale(float scale) {
    scales_.scale = input_.StoreScale(scale);
    step_ = input_.ReadScale(scales_.scale);
  }

  // For each group, the whole number near its own fit with the least error.
  void ChooseGroupScales() {
    for (size_t i = 0; i < kGroupCount; ++i) {
      const float limit = static_cast<float>(format_.scale_limit);
      const float ideal = step_ != 0 ? std::clamp(fits_[i] / step_, -limit, limit - 1) : 0;
      const int first = static_cast<int>(std::floor(ideal)) - 3;
      std::array<int8_t, kLanes> candidates;
      float values[kLanes];
      for (size_t k = 0; k < kLanes; ++k) {
        const int candidate =
            std::clamp(first + static_cast<int>(k), -format_.scale_limit, format_.scale_limit - 1);
        candidates[k] = static_cast<int8_t>(candidate);
        values[k] = step_ * static_cast<float>(candidate);
      }
      const auto errors = ErrorOfScales(GroupAt(i), Lanes::Load(values), levels_).ToArray();
      scales_.scales[i] =
          candidates[std::min_element(errors.begin(), errors.end()) - errors.begin()];
    }
  }

  // The super-block scale that fits best to the chosen levels and group scales.
  void Refit() {
    double level_level = 0;
    double level_x = 0;
    for (size_t i = 0; i < kGroupCount; ++i) {
      const double scale = scales_.scales[i];
      const ScaleSums sums = SumScale(GroupAt(i), GroupScale(i), levels_);
      level_level += scale * scale * sums.level_level;
      level_x += scale * sums.level_x;
    }
    if (level_level > 0) SetSuperScale(static_cast<float>(level_x / level_level));
  }

  float GroupScale(size_t i) const { return step_ * static_cast<float>(scales_.scales[i]); }

  void ChooseLevels(uint8_t* levels) const {
    for (size_t i = 0; i < kGroupCount; ++i) {
      ScaleLevels(GroupAt(i), GroupScale(i), levels_, levels + i * kGroupSize);
    }
  }

  const BlockInput& input_;
  const SignedFormat format_;
  const Levels levels_;
  std::array<float, kGroupCount> fits_;
  SignedScales scales_;
  float step_ = 0;  // the value of the f16 scale
};

}  // namespace

void Encode(const BlockInput& input, BlockQ3_K& block) {
  uint8_t levels[kSuperBlock];
  const SignedScales scales = SignedEncoder(input, {4, 32}).Encode(levels);
  block.scale = scales.scale;
  PackScales6(scales.scales, block.scales);
  PackLevels(levels, block);
}

void Encode(const BlockInput& input, BlockQ6_K& block) {
  uint8_t levels[kSuperBlock];
  const SignedScales scales = SignedEncoder(input, {32, 128}).Encode(levels);
  block.scale = scales.scale;
  std::copy(scales.scales.begin(), scales.scales.end(), block.scales);
  PackLevels(levels, block);
}

}  // namespace aster::quant
