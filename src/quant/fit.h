// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The searches of quantisation: the scale (and offset), stored in few bits, with which whole
// numbers of few bits approximate a group of weights best: by least squares, weighted by
// importance. Must not know block layouts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "quant/lanes.h"

namespace aster::quant {

// A group of weights and their importance; `count` is a multiple of eight.
struct Group {
  const float* x;
  const float* importance;
  size_t count;
};

// Whole numbers from low to high represent scale times themselves.
struct Levels {
  float low;
  float high;
};

// The value of largest magnitude, with its sign; the first of equal ones, 0 if there is none.
float LargestByMagnitude(std::span<const float> values);

// The scale with which scale * level approximates x best; levels are whole numbers from -limit to
// limit - 1. Negative if that suits the largest magnitude better. 0 if all weights are 0.
float FitScale(const Group& group, float limit);

// Sums over a group with given levels, weighted by importance, for a least-squares scale.
struct ScaleSums {
  float level_level = 0;
  float level_x = 0;
};
ScaleSums SumScale(const Group& group, float scale, Levels levels);

// Every weight's best level for one scale, minus levels.low, so that it is not negative.
void ScaleLevels(const Group& group, float scale, Levels levels, uint8_t* out);

// The squared error of `group` for each of eight scales, if every weight has its best level.
Lanes ErrorOfScales(const Group& group, Lanes scales, Levels levels);

// Approximates x by scale * level - min; levels are whole numbers from 0 to `highest`. Neither
// scale nor min is negative, as the K types require.
struct Affine {
  float scale = 0;
  float min = 0;
};
Affine FitAffine(const Group& group, float highest);

// The squared error of `group` for eight pairs of scale and min.
Lanes ErrorOfAffines(const Group& group, Lanes scales, Lanes mins, float highest);

// The same for a least-squares fit of scale and min.
struct AffineSums {
  float weight = 0;
  float level = 0;
  float level_level = 0;
  float x = 0;
  float level_x = 0;
};
AffineSums SumAffine(const Group& group, Affine affine, float highest);

// Every weight's best level for one scale and min.
void AffineLevels(const Group& group, Affine affine, float highest, uint8_t* levels);

}  // namespace aster::quant
