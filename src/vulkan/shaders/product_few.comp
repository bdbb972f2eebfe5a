#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Products of one panel (sixteen outputs) with one to eight rows of activations, for decoding: every
// weight is read once for all of the rows. A workgroup takes eight units of columns at a time:
// a thread makes the integers of one unit and one output for every row, in any order, since they are
// exact; then a thread a row and output adds their floats to its chain, in the order of the
// reference (ScaledProduct and SuperProduct of src/kernels/ref/matmul_ref.cc).
#include "memory.glsl"
#include "exact.glsl"
#include "conversions.glsl"
#include "rows.glsl"
#include "dot.glsl"

layout(local_size_x = 128) in;
layout(constant_id = 2) const uint kRows = 1;  // up to kUnits
#include "product_rows.glsl"
#include "weights.glsl"
#include "activations.glsl"

const uint kUnits = 8u;
const uint kLanes = 16u;
shared float dots[kUnits][kRows][kLanes], scales[kUnits][kRows][kLanes];
#ifdef MINS
shared float lows[kUnits][kRows][kLanes], low_scales[kUnits][kRows][kLanes];
#endif

void make_unit(uint slot, uint lane, uint index, uint row_numbers[kRows]) {
  const Unit unit = unit_of(gl_WorkGroupID.x, index);
  RowPlace rows[kRows];
  int sums[kRows];
#ifdef MINS
  int minima[kRows];
#endif
  for (uint r = 0u; r < kRows; ++r) {
    rows[r] = row_at(row_numbers[r]);
    sums[r] = unit_start(rows[r], index);
#ifdef MINS
    minima[r] = 0;
#endif
  }
  for (uint g = 0u; g < kGroups; ++g) {
    uint quads[kQuads];
    load_group(unit, g, lane, quads);
    const int scale = group_scale(unit, g, lane);
#ifdef MINS
    const int minimum = group_minimum(unit, g, lane);
#endif
    for (uint r = 0u; r < kRows; ++r) {
      const uint at = quads_at(rows[r], index, g);
      int dot = 0;
      for (uint t = 0u; t < kQuads; ++t) dot += dot4(quads[t], push.activations.at[at + t]);
      sums[r] += scale * dot;
#ifdef MINS
      minima[r] += minimum * group_sum(rows[r], index, g);
#endif
    }
  }
  for (uint r = 0u; r < kRows; ++r) {
    const float activation = activation_scale(rows[r], index);
    dots[slot][r][lane] = float(sums[r]);
    scales[slot][r][lane] = unit_scale(unit, lane, activation);
#ifdef MINS
    lows[slot][r][lane] = -float(minima[r]);
    low_scales[slot][r][lane] = unit_min_scale(unit, lane, activation);
#endif
  }
}

void main() {
  const uint lane = gl_LocalInvocationID.x % kLanes, slot = gl_LocalInvocationID.x / kLanes;
  const uint units = (push.columns + 63u) / 64u * 64u / kUnitColumns;
  float acc = 0.0;
  if (!choose_matrix()) return;
  uint row_numbers[kRows];
  for (uint r = 0u; r < kRows; ++r) row_numbers[r] = row_index(r);
  for (uint first = 0u; first < units; first += kUnits) {
    if (first + slot < units) make_unit(slot, lane, first + slot, row_numbers);
    barrier();
    if (slot < kRows) {
      for (uint i = 0u; i < min(kUnits, units - first); ++i) {
        acc = fused(dots[i][slot][lane], scales[i][slot][lane], acc);
#ifdef MINS
        acc = fused(lows[i][slot][lane], low_scales[i][slot][lane], acc);
#endif
      }
    }
    barrier();
  }
  const uint output_ = gl_WorkGroupID.x * kLanes + lane;
  if (slot >= kRows || output_ >= push.outputs) return;
  const uint row = result_row(slot);
  if (row != kNoRow) push.result.at[row * push.out_stride + output_] = acc;
}
