// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// IQ2_XXS: eight weights are a scale, a point of a grid of 256, and signs of which an even number
// is negative. The search tries all points: with fixed weights, the squared error of a point g
// under scale s is a constant - s * (gain of g - s * (norm of g)), and gain and norm do not depend
// on s. So they are computed once for each point, and trying a scale costs three operations per
// point.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "quant/encode.h"
#include "quant/lanes.h"
#include "quant/lattice.h"

namespace aster::quant {
namespace {

constexpr size_t kPoints = 256;
constexpr size_t kWidth = 8;  // weights per point
constexpr size_t kGroups = 8;
constexpr size_t kVectorsPerGroup = 4;
constexpr int kHighestScale = 15;  // of a group

// The grid with separate coordinates, for eight points at once.
struct GridColumns {
  float levels[kWidth][kPoints];
  float squares[kWidth][kPoints];
};

GridColumns TransposeGrid() {
  GridColumns columns;
  for (size_t point = 0; point < kPoints; ++point) {
    for (size_t i = 0; i < kWidth; ++i) {
      const auto level = static_cast<float>(kIq2XxsGrid[point][i]);
      columns.levels[i][point] = level;
      columns.squares[i][point] = level * level;
    }
  }
  return columns;
}

uint32_t NegativeSigns(const float* x) {
  uint32_t signs = 0;
  for (size_t i = 0; i < kWidth; ++i) signs |= static_cast<uint32_t>(x[i] < 0) << i;
  return signs;
}

bool HasOddSigns(const float* x) { return std::popcount(NegativeSigns(x)) % 2 != 0; }

// Gain and norm of every point for eight weights.
class PointTable {
 public:
  void Fill(const float* x, const float* importance) {
    static const GridColumns kGrid = TransposeGrid();
    const bool odd = HasOddSigns(x);
    for (size_t point = 0; point < kPoints; point += kLanes) {
      Lanes gain;
      Lanes norm;
      Lanes least(INFINITY);
      for (size_t i = 0; i < kWidth; ++i) {
        const Lanes part =
            Lanes(2 * importance[i] * std::fabs(x[i])) * Lanes::Load(kGrid.levels[i] + point);
        gain += part;
        least = Min(least, part);
        norm += Lanes(importance[i]) * Lanes::Load(kGrid.squares[i] + point);
      }
      // One sign has to be wrong: the cheapest one.
      if (odd) gain = gain - Lanes(2) * least;
      gain.Store(gains_ + point);
      norm.Store(norms_ + point);
    }
  }

  // The largest gain - scale * norm of any point, for each of eight scales.
  Lanes BestScores(Lanes scales) const {
    const auto scores = [&](size_t point) {
      return Lanes(gains_[point]) - scales * Lanes(norms_[point]);
    };
    Lanes best_even(-INFINITY);  // two, so that comparisons do not wait for each other
    Lanes best_odd(-INFINITY);
    for (size_t point = 0; point < kPoints; point += 2) {
      best_even = Max(best_even, scores(point));
      best_odd = Max(best_odd, scores(point + 1));
    }
    return Max(best_even, best_odd);
  }

  size_t BestPoint(float scale) const {
    Lanes best(-INFINITY);
    for (size_t point = 0; point < kPoints; point += kLanes) best = Max(best, Scores(point, scale));
    const auto bests = best.ToArray();
    const float highest = *std::max_element(bests.begin(), bests.end());
    for (size_t point = 0; point < kPoints; ++point) {
      if (gains_[point] - scale * norms_[point] == highest) return point;
    }
    return 0;
  }

  float gain(size_t point) const { return gains_[point]; }
  float norm(size_t point) const { return norms_[point]; }

 private:
  Lanes Scores(size_t point, float scale) const {
    return Lanes::Load(gains_ + point) - Lanes(scale) * Lanes::Load(norms_ + point);
  }

  float gains_[kPoints];  // twice the product with the weights, with the best signs
  float norms_[kPoints];  // the squared length
};

// 32 weights that share a scale. With chosen points, the squared error under scale s is a constant
// - s * gain + s * s * norm.
struct LatticeGroup {
  std::array<PointTable, kVectorsPerGroup> tables;
  std::array<uint8_t, kVectorsPerGroup> points;
  float gain = 0;
  float norm = 0;
  int scale = 0;

  // How much each of eight scales lowers the squared error, compared with all zeros.
  Lanes Improvements(Lanes scales) const {
    Lanes score;
    for (const PointTable& table : tables) score += table.BestScores(scales);
    return scales * score;
  }

  void ChoosePoints(float value) {
    gain = 0;
    norm = 0;
    for (size_t i = 0; i < kVectorsPerGroup; ++i) {
      const size_t point = tables[i].BestPoint(value);
      points[i] = static_cast<uint8_t>(point);
      gain += tables[i].gain(point);
      norm += tables[i].norm(point);
    }
  }
  float BestScale() const { return gain / (2 * norm); }
};

size_t IndexOfLargest(const std::array<float, kLanes>& values) {
  return std::max_element(values.begin(), values.end()) - values.begin();
}

class LatticeEncoder {
 public:
  explicit LatticeEncoder(const BlockInput& input) : input_(input) {}

  void Encode(BlockIQ2_XXS& block) {
    for (size_t i = 0; i < kGroups; ++i) FitGroup(i);
    SetSuperScale(ChooseSuperScale());
    for (size_t i = 0; i < kGroups; ++i) {
      groups_[i].scale = std::min(static_cast<int>(IdealScale(i)), kHighestScale);
    }
    Refit();
    for (size_t i = 0; i < kGroups; ++i) {
      ChooseScale(i);
      Store(i, block.groups[i]);
    }
    block.scale = super_scale_;
  }

 private:
  const float* GroupX(size_t i) const { return input_.x + i * kVectorsPerGroup * kWidth; }

  // Fills the group's tables and finds its own best scale.
  void FitGroup(size_t i) {
    LatticeGroup& group = groups_[i];
    const float* x = GroupX(i);
    const float* importance = input_.importance + (x - input_.x);
    float largest = 0;
    for (size_t k = 0; k < kVectorsPerGroup; ++k) {
      group.tables[k].Fill(x + k * kWidth, importance + k * kWidth);
    }
    for (size_t k = 0; k < kVectorsPerGroup * kWidth; ++k) {
      largest = std::max(largest, std::fabs(x[k]));
    }
    // Relative to the scale at which the highest level equals the largest weight: values around it,
    // and those at which the middle and the lowest level do, for weights of about one size.
    constexpr float kTrials[kLanes] = {0.5f,  0.62f, 0.74f,      0.86f,
                                       0.98f, 1.1f,  43 / 25.0f, 43 / 8.0f};
    float scales[kLanes];
    for (size_t k = 0; k < kLanes; ++k) scales[k] = largest / 43 * kTrials[k];
    const Lanes improvements = group.Improvements(Lanes::Load(scales));
    group.ChoosePoints(scales[IndexOfLargest(improvements.ToArray())]);
    fits_[i] = group.BestScale();
  }

  void SetSuperScale(float scale) {
    super_scale_ = input_.StoreScale(scale);
    step_ = input_.ReadScale(super_scale_) * 0.25f;
  }

  // A scale of the super-block for which the possible whole numbers suit all groups.
  float ChooseSuperScale() const {
    const float largest = *std::max_element(fits_.begin(), fits_.end());
    if (!(largest > 0)) return 0;
    constexpr float kTops[kLanes] = {12, 13, 14, 14.5f, 15, 15.5f, 16, 16.5f};
    const Lanes steps = Lanes(largest) / Lanes::Load(kTops);
    Lanes improvement;
    for (size_t i = 0; i < kGroups; ++i) {
      const Lanes whole =
          RoundToEven(Clamp(Lanes(fits_[i]) / steps - Lanes(0.5f), Lanes(), Lanes(kHighestScale)));
      const Lanes scale = (whole + Lanes(0.5f)) * steps;
      improvement += scale * (Lanes(groups_[i].gain) - scale * Lanes(groups_[i].norm));
    }
    return 4 * steps.ToArray()[IndexOfLargest(improvement.ToArray())];
  }

  // The group's own fit in steps: whole numbers mean the middles of their steps.
  float IdealScale(size_t i) const {
    return step_ > 0 ? std::min(fits_[i] / step_, kHighestScale + 1.0f) : 0;
  }
  float ValueOf(int scale) const { return step_ * (0.5f + static_cast<float>(scale)); }

  // The best of eight whole numbers around the group's own fit, and the points for it.
  void ChooseScale(size_t i) {
    LatticeGroup& group = groups_[i];
    const int first = std::clamp(static_cast<int>(IdealScale(i)) - 4, 0, kHighestScale - 7);
    float scales[kLanes];
    for (size_t k = 0; k < kLanes; ++k) scales[k] = ValueOf(first + static_cast<int>(k));
    const Lanes improvements = group.Improvements(Lanes::Load(scales));
    group.scale = first + static_cast<int>(IndexOfLargest(improvements.ToArray()));
    group.ChoosePoints(ValueOf(group.scale));
  }

  // The super-block scale that fits best to the chosen points and group scales.
  void Refit() {
    double gain = 0;
    double norm = 0;
    for (const LatticeGroup& group : groups_) {
      const double factor = 0.5 + group.scale;
      gain += factor * group.gain;
      norm += factor * factor * group.norm;
    }
    if (gain > 0) SetSuperScale(static_cast<float>(4 * gain / (2 * norm)));
  }

  void Store(size_t i, BlockIQ2_XXS::Group& stored) const {
    const LatticeGroup& group = groups_[i];
    uint32_t signs_and_scale = static_cast<uint32_t>(group.scale) << 28;
    for (size_t k = 0; k < kVectorsPerGroup; ++k) {
      stored.points[k] = group.points[k];
      const size_t begin = (i * kVectorsPerGroup + k) * kWidth;
      signs_and_scale |= (SignsFor(begin, kIq2XxsGrid[group.points[k]]) & 127) << (7 * k);
    }
    stored.signs_and_scale = signs_and_scale;
  }

  // Signs of the weights; if an odd number is negative, the cheapest one is changed.
  uint32_t SignsFor(size_t begin, const Point8& point) const {
    const float* x = input_.x + begin;
    const uint32_t signs = NegativeSigns(x);
    if (std::popcount(signs) % 2 == 0) return signs;
    size_t cheapest = 0;
    float least = INFINITY;
    for (size_t i = 0; i < kWidth; ++i) {
      const float cost =
          input_.importance[begin + i] * std::fabs(x[i]) * static_cast<float>(point[i]);
      if (cost < least) {
        least = cost;
        cheapest = i;
      }
    }
    return signs ^ 1u << cheapest;
  }

  const BlockInput& input_;
  std::array<LatticeGroup, kGroups> groups_;
  std::array<float, kGroups> fits_;
  uint16_t super_scale_ = 0;
  float step_ = 0;  // a quarter of the f16 scale's value
};

}  // namespace

void Encode(const BlockInput& input, BlockIQ2_XXS& block) { LatticeEncoder(input).Encode(block); }

}  // namespace aster::quant
