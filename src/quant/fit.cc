// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "quant/fit.h"

#include <algorithm>
#include <cmath>

namespace aster::quant {
namespace {

// The reciprocal of a scale; 0 for a scale of 0 (all levels are then 0, which is as good as any).
float Reciprocal(float scale) { return scale != 0 ? 1 / scale : 0; }

Lanes Reciprocal(Lanes scales) {
  std::array<float, kLanes> values = scales.ToArray();
  for (float& value : values) value = Reciprocal(value);
  return Lanes::Load(values.data());
}

Lanes LevelOf(Lanes x, Lanes reciprocal, Levels levels) {
  return RoundToEven(Clamp(x * reciprocal, Lanes(levels.low), Lanes(levels.high)));
}

// Finds the scale of one group by trying assignments of levels, eight at once.
class ScaleSearch {
 public:
  ScaleSearch(const Group& group, Levels levels) : group_(group), levels_(levels) {}

  // Assigns levels by each reciprocal scale, then fits the scale to the levels.
  void Try(Lanes reciprocals) {
    Lanes level_x;
    Lanes level_level;
    for (size_t i = 0; i < group_.count; ++i) {
      const Lanes x(group_.x[i]);
      const Lanes assigned = LevelOf(x, reciprocals, levels_);
      const Lanes weighted = Lanes(group_.importance[i]) * assigned;
      level_x += weighted * x;
      level_level += weighted * assigned;
    }
    const Lanes scale = level_x / level_level;
    const auto gains = (scale * level_x).ToArray();
    for (size_t i = 0; i < kLanes; ++i) {
      if (!(gains[i] > best_gain_)) continue;  // NaN, if all levels are 0, is no gain
      best_gain_ = gains[i];
      best_scale_ = scale.ToArray()[i];
    }
  }

  float best_scale() const { return best_scale_; }

 private:
  const Group& group_;
  const Levels levels_;
  float best_scale_ = 0;
  float best_gain_ = 0;  // how much the best scale lowers the squared error, compared with zeros
};

}  // namespace

float LargestByMagnitude(std::span<const float> values) {
  float largest = 0;
  // A separate variable, because clang 19 otherwise confuses |largest| with largest.
  float largest_magnitude = 0;
  for (const float value : values) {
    const float magnitude = std::fabs(value);
    if (magnitude <= largest_magnitude) continue;
    largest_magnitude = magnitude;
    largest = value;
  }
  return largest;
}

float FitScale(const Group& group, float limit) {
  const float largest = LargestByMagnitude({group.x, group.count});
  if (largest == 0) return 0;
  ScaleSearch search(group, {-limit, limit - 1});
  for (int half = 0; half < 2; ++half) {
    float reciprocals[kLanes];
    for (size_t i = 0; i < kLanes; ++i) {
      const float over = -1.2f + 0.15f * static_cast<float>(i + 8 * half);
      reciprocals[i] = -(limit + over) / largest;
    }
    search.Try(Lanes::Load(reciprocals));
  }
  return search.best_scale();
}

Lanes ErrorOfScales(const Group& group, Lanes scales, Levels levels) {
  const Lanes reciprocals = Reciprocal(scales);
  Lanes error;
  for (size_t i = 0; i < group.count; ++i) {
    const Lanes x(group.x[i]);
    const Lanes level = LevelOf(x, reciprocals, levels);
    const Lanes difference = scales * level - x;
    error += Lanes(group.importance[i]) * difference * difference;
  }
  return error;
}

ScaleSums SumScale(const Group& group, float scale, Levels levels) {
  const Lanes reciprocal(Reciprocal(scale));
  Lanes level_level;
  Lanes level_x;
  for (size_t i = 0; i < group.count; i += kLanes) {
    const Lanes x = Lanes::Load(group.x + i);
    const Lanes assigned = LevelOf(x, reciprocal, levels);
    const Lanes weighted = Lanes::Load(group.importance + i) * assigned;
    level_level += weighted * assigned;
    level_x += weighted * x;
  }
  return {level_level.Sum(), level_x.Sum()};
}

void ScaleLevels(const Group& group, float scale, Levels levels, uint8_t* out) {
  const Lanes reciprocal(Reciprocal(scale));
  for (size_t i = 0; i < group.count; i += kLanes) {
    const Lanes level = LevelOf(Lanes::Load(group.x + i), reciprocal, levels);
    const auto stored = (level - Lanes(levels.low)).ToArray();
    for (size_t k = 0; k < kLanes; ++k)
      out[i + k] = static_cast<uint8_t>(static_cast<int>(stored[k]));
  }
}

namespace {

// The best level of each lane's weight. A scale of 0 has the reciprocal 0, and level 0.
Lanes AffineLevel(Lanes x, Lanes reciprocal, Lanes min, float highest) {
  return RoundToEven(Clamp((x + min) * reciprocal, Lanes(), Lanes(highest)));
}

// Finds the scale and min of one group by trying assignments of levels, eight at once.
class AffineSearch {
 public:
  AffineSearch(const Group& group, float highest) : group_(group), highest_(highest) {
    Lanes weight;
    Lanes weight_x;
    for (size_t i = 0; i < group.count; i += kLanes) {
      const Lanes importance = Lanes::Load(group.importance + i);
      weight += importance;
      weight_x += importance * Lanes::Load(group.x + i);
    }
    weight_ = weight.Sum();
    weight_x_ = weight_x.Sum();
    if (weight_x_ < 0) {
      best_ = {0, -weight_x_ / weight_};  // no scale at all: every weight is -min
      best_gain_ = weight_x_ * weight_x_ / weight_;
    }
  }

  // Assigns levels by each reciprocal scale, then fits scale and min to the levels.
  void Try(Lanes reciprocals, float min) {
    Lanes level;
    Lanes level_level;
    Lanes level_x;
    for (size_t i = 0; i < group_.count; ++i) {
      const Lanes x(group_.x[i]);
      const Lanes assigned = AffineLevel(x, reciprocals, Lanes(min), highest_);
      const Lanes weighted = Lanes(group_.importance[i]) * assigned;
      level += weighted;
      level_level += weighted * assigned;
      level_x += weighted * x;
    }
    Solve(level, level_level, level_x);
  }

  Affine best() const { return best_; }

 private:
  // Minimises the squared error of scale * level - min over both; over the scale alone if the min
  // would be negative. Keeps the best, compared with all zeros.
  void Solve(Lanes level, Lanes level_level, Lanes level_x) {
    const Lanes weight(weight_);
    const Lanes weight_x(weight_x_);
    const Lanes determinant = weight * level_level - level * level;
    const Lanes scale = (weight * level_x - weight_x * level) / determinant;
    const Lanes min = (level * level_x - level_level * weight_x) / determinant;
    const Lanes lone_scale = level_x / level_level;
    const auto gains = (scale * level_x - min * weight_x).ToArray();
    const auto lone_gains = (lone_scale * level_x).ToArray();
    const auto mins = min.ToArray();
    for (size_t i = 0; i < kLanes; ++i) {
      if (mins[i] >= 0) {
        Keep(gains[i], scale.ToArray()[i], mins[i]);
      } else {
        Keep(lone_gains[i], lone_scale.ToArray()[i], 0);
      }
    }
  }

  // NaN, from a determinant of 0, is no gain.
  void Keep(float gain, float scale, float min) {
    if (!(gain > best_gain_ && scale > 0)) return;
    best_gain_ = gain;
    best_ = {scale, min};
  }

  const Group& group_;
  const float highest_;
  float weight_ = 0;
  float weight_x_ = 0;
  Affine best_;
  float best_gain_ = 0;
};

// The smallest and the largest weight, including zero.
struct Extremes {
  float low;
  float high;
};

Extremes ExtremesOf(const Group& group) {
  Lanes low;
  Lanes high;
  for (size_t i = 0; i < group.count; i += kLanes) {
    low = Min(low, Lanes::Load(group.x + i));
    high = Max(high, Lanes::Load(group.x + i));
  }
  const auto lows = low.ToArray();
  const auto highs = high.ToArray();
  return {*std::min_element(lows.begin(), lows.end()),
          *std::max_element(highs.begin(), highs.end())};
}

}  // namespace

Affine FitAffine(const Group& group, float highest) {
  const Extremes extremes = ExtremesOf(group);
  if (extremes.high <= extremes.low) return {};
  AffineSearch search(group, highest);
  for (int half = 0; half < 2; ++half) {
    float reciprocals[kLanes];
    for (size_t i = 0; i < kLanes; ++i) {
      const float over = -1.2f + 0.2f * static_cast<float>(i + 8 * half);
      reciprocals[i] = (highest + over) / (extremes.high - extremes.low);
    }
    search.Try(Lanes::Load(reciprocals), -extremes.low);
  }
  return search.best();
}

Lanes ErrorOfAffines(const Group& group, Lanes scales, Lanes mins, float highest) {
  const Lanes reciprocals = Reciprocal(scales);
  Lanes error;
  for (size_t i = 0; i < group.count; ++i) {
    const Lanes x(group.x[i]);
    const Lanes level = AffineLevel(x, reciprocals, mins, highest);
    const Lanes difference = (scales * level - mins) - x;
    error += Lanes(group.importance[i]) * difference * difference;
  }
  return error;
}

AffineSums SumAffine(const Group& group, Affine affine, float highest) {
  const Lanes reciprocal(Reciprocal(affine.scale));
  Lanes weight;
  Lanes level;
  Lanes level_level;
  Lanes weight_x;
  Lanes level_x;
  for (size_t i = 0; i < group.count; i += kLanes) {
    const Lanes x = Lanes::Load(group.x + i);
    const Lanes importance = Lanes::Load(group.importance + i);
    const Lanes assigned = AffineLevel(x, reciprocal, Lanes(affine.min), highest);
    weight += importance;
    level += importance * assigned;
    level_level += importance * assigned * assigned;
    weight_x += importance * x;
    level_x += importance * assigned * x;
  }
  return {weight.Sum(), level.Sum(), level_level.Sum(), weight_x.Sum(), level_x.Sum()};
}

void AffineLevels(const Group& group, Affine affine, float highest, uint8_t* levels) {
  const Lanes reciprocal(Reciprocal(affine.scale));
  for (size_t i = 0; i < group.count; i += kLanes) {
    const Lanes x = Lanes::Load(group.x + i);
    const auto values = AffineLevel(x, reciprocal, Lanes(affine.min), highest).ToArray();
    for (size_t lane = 0; lane < kLanes; ++lane) {
      levels[i + lane] = static_cast<uint8_t>(static_cast<int>(values[lane]));
    }
  }
}

}  // namespace aster::quant
