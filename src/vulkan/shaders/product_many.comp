#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Products of four panels (64 outputs) with 32 rows of activations, for prefill: a workgroup takes
// 32 columns at a time into shared memory, and a thread has one output of each panel for four rows,
// so sixteen chains. Integers of a unit come first, then its floats, in the order of the reference
// (ScaledProduct and SuperProduct of src/kernels/ref/matmul_ref.cc).
#include "memory.glsl"
#include "exact.glsl"
#include "conversions.glsl"
#include "rows.glsl"
#include "dot.glsl"

layout(local_size_x = 128) in;
const uint kRowsOfThread = 4u;
const uint kThreadRows = 8u;  // threads of one lane
const uint kRows = kRowsOfThread * kThreadRows;
#include "product_rows.glsl"
#include "weights.glsl"
#include "activations.glsl"

const uint kLanes = 16u;
const uint kPanels = 4u;
const uint kStepQuads = 8u;
const uint kStepGroups = kStepQuads / kQuads;       // 1 or 2 groups a step
const uint kStepsOfUnit = kUnitColumns / 32u;

shared uint weights[kPanels][kStepQuads][kLanes];
shared int group_scales[kPanels][kStepGroups][kLanes];
shared uint activations[kRows][kStepQuads + 1u];  // one more, so that rows start in other banks
shared float scales[kRows];                       // of the activations
#ifdef MINS
shared int minima[kPanels][kStepGroups][kLanes];
shared int sums[kRows][kStepGroups];
#endif

// The last panel again beyond the end.
Unit unit_of_panel(uint p, uint unit) {
  const uint panels = (push.outputs + kLanes - 1u) / kLanes;
  return unit_of(min(gl_WorkGroupID.x * kPanels + p, panels - 1u), unit);
}

// Threads 0 to 63: one lane of one panel each.
void stage_weights(uint thread, uint unit, uint step_) {
  const uint p = thread / kLanes, lane = thread % kLanes;
  const Unit at = unit_of_panel(p, unit);
  for (uint h = 0u; h < kStepGroups; ++h) {
    const uint group = step_ * kStepGroups + h;
    uint quads[kQuads];
    load_group(at, group, lane, quads);
    for (uint t = 0u; t < kQuads; ++t) weights[p][h * kQuads + t][lane] = quads[t];
    group_scales[p][h][lane] = group_scale(at, group, lane);
#ifdef MINS
    minima[p][h][lane] = group_minimum(at, group, lane);
#endif
  }
}

// Threads 0 to 63: half a row each.
void stage_activations(uint thread, RowPlace row, uint unit, uint step_) {
  const uint r = thread / 2u, half_ = thread & 1u;
  for (uint h = 0u; h < kStepGroups; ++h) {
    const uint group = step_ * kStepGroups + h, at = quads_at(row, unit, group);
    for (uint t = half_; t < kQuads; t += 2u)
      activations[r][h * kQuads + t] = push.activations.at[at + t];
#ifdef MINS
    if (half_ == 0u) sums[r][h] = group_sum(row, unit, group);
#endif
  }
  if (half_ == 1u) scales[r] = activation_scale(row, unit);
}

void main() {
  if (!choose_matrix()) return;
  const uint thread = gl_LocalInvocationID.x;
  const uint lane = thread % kLanes, first_row = thread / kLanes;
  const RowPlace staged_row = row_at(row_index((thread & 63u) / 2u));
  RowPlace rows[kRowsOfThread];
  for (uint j = 0u; j < kRowsOfThread; ++j)
    rows[j] = row_at(row_index(first_row + kThreadRows * j));
  const uint units = (push.columns + 63u) / 64u * 64u / kUnitColumns;
  float acc[kPanels][kRowsOfThread];
  for (uint p = 0u; p < kPanels; ++p)
    for (uint j = 0u; j < kRowsOfThread; ++j) acc[p][j] = 0.0;
  for (uint unit = 0u; unit < units; ++unit) {
    int dots[kPanels][kRowsOfThread];
#ifdef MINS
    int lows[kPanels][kRowsOfThread];
#endif
    for (uint j = 0u; j < kRowsOfThread; ++j) {
      const int start = unit_start(rows[j], unit);
      for (uint p = 0u; p < kPanels; ++p) {
        dots[p][j] = start;
#ifdef MINS
        lows[p][j] = 0;
#endif
      }
    }
    for (uint step_ = 0u; step_ < kStepsOfUnit; ++step_) {
      if (thread < 64u) stage_weights(thread, unit, step_);
      else stage_activations(thread - 64u, staged_row, unit, step_);
      barrier();
      for (uint h = 0u; h < kStepGroups; ++h) {
        for (uint p = 0u; p < kPanels; ++p) {
          for (uint j = 0u; j < kRowsOfThread; ++j) {
            const uint r = first_row + kThreadRows * j;
            int dot = 0;
            for (uint t = 0u; t < kQuads; ++t)
              dot += dot4(weights[p][h * kQuads + t][lane], activations[r][h * kQuads + t]);
            dots[p][j] += group_scales[p][h][lane] * dot;
#ifdef MINS
            lows[p][j] += minima[p][h][lane] * sums[r][h];
#endif
          }
        }
      }
      barrier();
    }
    for (uint p = 0u; p < kPanels; ++p) {
      const Unit at = unit_of_panel(p, unit);
      for (uint j = 0u; j < kRowsOfThread; ++j) {
        const float activation = scales[first_row + kThreadRows * j];
        acc[p][j] = fused(float(dots[p][j]), unit_scale(at, lane, activation), acc[p][j]);
#ifdef MINS
        const float low_scale = unit_min_scale(at, lane, activation);
        acc[p][j] = fused(-float(lows[p][j]), low_scale, acc[p][j]);
#endif
      }
    }
    barrier();
  }
  for (uint p = 0u; p < kPanels; ++p) {
    const uint output_ = (gl_WorkGroupID.x * kPanels + p) * kLanes + lane;
    for (uint j = 0u; j < kRowsOfThread; ++j) {
      const uint row = result_row(first_row + kThreadRows * j);
      if (row != kNoRow && output_ < push.outputs)
        push.result.at[row * push.out_stride + output_] = acc[p][j];
    }
  }
}
