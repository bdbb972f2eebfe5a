// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The searches behind quantisation: which scale (and offset), stored in few bits, makes whole
// numbers of few bits come closest to a group of weights. "Closest" is least squares, each weight
// with its importance. Must not know block layouts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "quant/lanes.h"

namespace aster::quant {

// A group of weights and how much each of them counts; `count` is a multiple of eight.
struct Group {
  const float* x;
  const float* importance;
  size_t count;
};

// Whole numbers from low to high stand for scale times themselves.
struct Levels {
  float low;
  float high;
};

// The one of largest magnitude, with its sign; the first of several, 0 of none.
float LargestByMagnitude(std::span<const float> values);

// The scale that makes scale * level come closest to x, levels being whole numbers from -limit to
// limit - 1; negative where the largest magnitude is better served so. 0 where all weights are.
float FitScale(const Group& group, float limit);

// What a least-squares fit of a scale needs from a group whose levels are chosen: sums over its
// weights, each counted by its importance.
struct ScaleSums {
  float level_level = 0;
  float level_x = 0;
};
ScaleSums SumScale(const Group& group, float scale, Levels levels);

// Every weight's best level for one scale, with -levels.low added so that it is not negative.
void ScaleLevels(const Group& group, float scale, Levels levels, uint8_t* out);

// The squared error of `group` for each of eight scales, every weight taking its best level.
Lanes ErrorOfScales(const Group& group, Lanes scales, Levels levels);

// x is close to scale * level - min, levels being whole numbers from 0 to `highest`. Neither is
// negative: what the K types can store.
struct Affine {
  float scale = 0;
  float min = 0;
};
Affine FitAffine(const Group& group, float highest);

// The squared error of `group` for eight pairs of scale and min.
Lanes ErrorOfAffines(const Group& group, Lanes scales, Lanes mins, float highest);

// What a least-squares fit of scale and min needs from a group whose levels are chosen: sums over
// its weights, each counted by its importance.
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
