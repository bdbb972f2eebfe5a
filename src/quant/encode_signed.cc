// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The K types whose groups have a scale only: Q3_K, Q6_K.
#include <algorithm>
#include <array>
#include <cmath>

#include "quant/encode.h"
#include "quant/fit.h"
#include "quant/scales.h"

namespace aster::quant {
namespace {

constexpr size_t kGroupSize = 16;
constexpr size_t kGroupCount = kSuperBlock / kGroupSize;

// Levels and group scales are whole numbers from minus their limit to one below it.
struct SignedFormat {
  int level_limit;
  int scale_limit;
};

// The scales of a super-block: a half, and a small whole number a group.
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

  // For each group the whole number near its own fit that has the least error.
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

  // The super-block scale that fits best to the levels and group scales chosen so far.
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
  float step_ = 0;  // what the half reads back as
};

// The low two bits of 128 h + 32 p + i go to byte 32 h + i, at bit 2 p.
void PackLowTwoBits(const uint8_t* levels, uint8_t* bytes) {
  for (size_t i = 0; i < 64; ++i) {
    const uint8_t* level = levels + i / 32 * 128 + i % 32;
    bytes[i] = static_cast<uint8_t>((level[0] & 3) | (level[32] & 3) << 2 | (level[64] & 3) << 4 |
                                    (level[96] & 3) << 6);
  }
}

}  // namespace

void Encode(const BlockInput& input, BlockQ3_K& block) {
  uint8_t levels[kSuperBlock];
  const SignedScales scales = SignedEncoder(input, {4, 32}).Encode(levels);
  block.scale = scales.scale;
  PackScales6(scales.scales, block.scales);
  PackLowTwoBits(levels, block.quants);
  for (size_t i = 0; i < 32; ++i) {
    int bits = 0;
    for (size_t k = 0; k < 8; ++k) bits |= levels[32 * k + i] >> 2 << k;
    block.high_bits[i] = static_cast<uint8_t>(bits);
  }
}

void Encode(const BlockInput& input, BlockQ6_K& block) {
  uint8_t levels[kSuperBlock];
  const SignedScales scales = SignedEncoder(input, {32, 128}).Encode(levels);
  block.scale = scales.scale;
  std::copy(scales.scales.begin(), scales.scales.end(), block.scales);
  for (size_t i = 0; i < 128; ++i) {
    const uint8_t* level = levels + i / 64 * 128 + i % 64;
    block.low_bits[i] = static_cast<uint8_t>((level[0] & 15) | (level[64] & 15) << 4);
  }
  uint8_t high[kSuperBlock];
  for (size_t i = 0; i < kSuperBlock; ++i) high[i] = levels[i] >> 4;
  PackLowTwoBits(high, block.high_bits);
}

}  // namespace aster::quant
