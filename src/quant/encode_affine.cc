// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The K types whose groups have a scale and a minimum: Q2_K, Q4_K, Q5_K.
#include <algorithm>
#include <array>
#include <cmath>

#include "quant/encode.h"
#include "quant/fit.h"
#include "quant/scales.h"
#include "quant/super_bits.h"

namespace aster::quant {
namespace {

// The limits of a format.
struct AffineFormat {
  size_t group_size;
  float highest_level;
  int highest_scale;  // of a group, also for the minimum
};

constexpr size_t kMaxGroups = 16;

// The scales of a super-block: two in f16, and two small whole numbers per group.
struct AffineScales {
  uint16_t scale = 0;
  uint16_t min_scale = 0;
  std::array<uint8_t, kMaxGroups> scales = {};
  std::array<uint8_t, kMaxGroups> mins = {};
};

class AffineEncoder {
 public:
  AffineEncoder(const BlockInput& input, const AffineFormat& format)
      : input_(input), format_(format), group_count_(kSuperBlock / format.group_size) {}

  // Returns the scales, and in `levels` [kSuperBlock] every weight's level.
  AffineScales Encode(uint8_t* levels) {
    Affine largest;
    for (size_t i = 0; i < group_count_; ++i) {
      fits_[i] = FitAffine(GroupAt(i), format_.highest_level);
      largest.scale = std::max(largest.scale, fits_[i].scale);
      largest.min = std::max(largest.min, fits_[i].min);
    }
    const auto highest = static_cast<float>(format_.highest_scale);
    SetSuperScales(largest.scale / highest, largest.min / highest);
    ChooseGroupScales();
    Refit();
    ChooseGroupScales();
    for (size_t i = 0; i < group_count_; ++i) {
      AffineLevels(GroupAt(i), GroupAffine(i), format_.highest_level,
                   levels + i * format_.group_size);
    }
    return scales_;
  }

 private:
  Group GroupAt(size_t i) const {
    const size_t begin = i * format_.group_size;
    return {input_.x + begin, input_.importance + begin, format_.group_size};
  }

  Affine GroupAffine(size_t i) const {
    return {step_.scale * static_cast<float>(scales_.scales[i]),
            step_.min * static_cast<float>(scales_.mins[i])};
  }

  void SetSuperScales(float scale, float min_scale) {
    scales_.scale = input_.StoreScale(scale);
    scales_.min_scale = input_.StoreScale(min_scale);
    step_ = {input_.ReadScale(scales_.scale), input_.ReadScale(scales_.min_scale)};
  }

  // For each group, the pair of whole numbers near its own fit with the least error: two scales
  // with four minima each.
  void ChooseGroupScales() {
    for (size_t i = 0; i < group_count_; ++i) {
      const int scale_below = Below(fits_[i].scale, step_.scale);
      const int min_below = Below(fits_[i].min, step_.min);
      std::array<uint8_t, kLanes> scales;
      std::array<uint8_t, kLanes> mins;
      float scale_values[kLanes];
      float min_values[kLanes];
      for (int k = 0; k < static_cast<int>(kLanes); ++k) {
        scales[k] = ToScale(scale_below + k % 2);
        mins[k] = ToScale(min_below - 1 + k / 2);
        scale_values[k] = step_.scale * static_cast<float>(scales[k]);
        min_values[k] = step_.min * static_cast<float>(mins[k]);
      }
      const auto errors = ErrorOfAffines(GroupAt(i), Lanes::Load(scale_values),
                                         Lanes::Load(min_values), format_.highest_level)
                              .ToArray();
      const size_t best = std::min_element(errors.begin(), errors.end()) - errors.begin();
      scales_.scales[i] = scales[best];
      scales_.mins[i] = mins[best];
    }
  }

  static int Below(float value, float step) {
    return step > 0 ? static_cast<int>(std::min(value / step, 255.0f)) : 0;
  }
  uint8_t ToScale(int value) const {
    return static_cast<uint8_t>(std::clamp(value, 0, format_.highest_scale));
  }

  // The two super-block scales that fit best to the chosen levels and group scales.
  void Refit() {
    // The normal equations: s is a weight's level times its group's scale, m its group's min.
    double ss = 0;
    double sm = 0;
    double mm = 0;
    double sx = 0;
    double mx = 0;
    for (size_t i = 0; i < group_count_; ++i) {
      const AffineSums sums = SumAffine(GroupAt(i), GroupAffine(i), format_.highest_level);
      const double s = scales_.scales[i];
      const double m = scales_.mins[i];
      ss += s * s * sums.level_level;
      sm += s * m * sums.level;
      mm += m * m * sums.weight;
      sx += s * sums.level_x;
      mx += m * sums.x;
    }
    const double determinant = ss * mm - sm * sm;
    if (determinant > 1e-9 * ss * mm) {
      const double scale = (sx * mm - sm * mx) / determinant;
      const double min = (sm * sx - ss * mx) / determinant;
      if (scale > 0 && min >= 0) {
        SetSuperScales(static_cast<float>(scale), static_cast<float>(min));
      }
    } else if (mm == 0 && ss > 0 && sx > 0) {
      SetSuperScales(static_cast<float>(sx / ss), 0);
    }
  }

  const BlockInput& input_;
  const AffineFormat format_;
  const size_t group_count_;
  std::array<Affine, kMaxGroups> fits_;
  AffineScales scales_;
  Affine step_;  // the values of the two f16 scales
};

// For five-bit levels, too: their low four bits.
void PackFourBits(const uint8_t* levels, uint8_t* quants) {
  for (size_t i = 0; i < 128; ++i) {
    const uint8_t* level = levels + i / 32 * 64 + i % 32;
    quants[i] = static_cast<uint8_t>((level[0] & 15) | (level[32] & 15) << 4);
  }
}

template <typename Block>
void StoreScales(const AffineScales& scales, Block& block) {
  block.scale = scales.scale;
  block.min_scale = scales.min_scale;
  ScalesAndMins groups;
  std::copy_n(scales.scales.begin(), 8, groups.scales.begin());
  std::copy_n(scales.mins.begin(), 8, groups.mins.begin());
  PackScalesAndMins(groups, block.scales);
}

}  // namespace

void Encode(const BlockInput& input, BlockQ2_K& block) {
  uint8_t levels[kSuperBlock];
  const AffineScales scales = AffineEncoder(input, {16, 3, 15}).Encode(levels);
  block.scale = scales.scale;
  block.min_scale = scales.min_scale;
  for (size_t i = 0; i < 16; ++i) {
    block.scales[i] = static_cast<uint8_t>(scales.scales[i] | scales.mins[i] << 4);
  }
  PackTwoBits(levels, 0, block.quants);
}

void Encode(const BlockInput& input, BlockQ4_K& block) {
  uint8_t levels[kSuperBlock];
  StoreScales(AffineEncoder(input, {32, 15, 63}).Encode(levels), block);
  PackFourBits(levels, block.quants);
}

void Encode(const BlockInput& input, BlockQ5_K& block) {
  uint8_t levels[kSuperBlock];
  StoreScales(AffineEncoder(input, {32, 31, 63}).Encode(levels), block);
  PackFourBits(levels, block.quants);
  for (size_t i = 0; i < 32; ++i) {
    int bits = 0;
    for (size_t group = 0; group < 8; ++group) bits |= levels[32 * group + i] >> 4 << group;
    block.high_bits[i] = static_cast<uint8_t>(bits);
  }
}

}  // namespace aster::quant
