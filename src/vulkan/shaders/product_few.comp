#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Products of one panel (sixteen outputs) with one to eight rows of activations, for decoding: every
// weight is read once for all of the rows. A workgroup goes over the columns in steps. In a step, a
// thread has one output and one unit, or of a unit of 256 columns a part, and makes its integers for
// every row, in any order, since they are exact. Then a thread a row and output adds the step's
// floats to its chain, in the order of the reference (ScaledProduct and SuperProduct of
// src/kernels/ref/matmul_ref.cc). While it does, the words of the step after the next are on their
// way, and the others go on: integers of two steps have room.
#include "memory.glsl"
#include "exact.glsl"
#include "conversions.glsl"
#include "rows.glsl"
#include "dot.glsl"

layout(local_size_x_id = 3) in;  // kSlots * kLanes
layout(constant_id = 2) const uint kRows = 1;   // up to kMostRows and kSlots
layout(constant_id = 4) const uint kSlots = 8;  // parts of units that a step has, a power of two
#include "product_rows.glsl"
#include "weights.glsl"
#include "activations.glsl"

const uint kMostRows = 8u;
const uint kLanes = 16u;
#ifdef PER_32
const uint kParts = 1u;
#else
const uint kParts = 4u;
#endif
const uint kPartGroups = kGroups / kParts;
const uint kStepUnits = kSlots / kParts;

#define EACH_ROW(r) UNROLL for (uint r = 0u; r < kMostRows; ++r) if (r < kRows)

shared int dots[2][kSlots][kRows][kLanes];
shared float scales[2][kStepUnits][kRows][kLanes];
#ifdef MINS
shared int lows[2][kSlots][kRows][kLanes];
shared float low_scales[2][kStepUnits][kRows][kLanes];
#endif

uint slot() { return gl_LocalInvocationID.x / kLanes; }
uint lane() { return gl_LocalInvocationID.x % kLanes; }
uint first_group() { return slot() % kParts * kPartGroups; }
uint unit_count() { return (push.columns + 63u) / 64u * 64u / kUnitColumns; }

void load_part(uint index, out uint raw[kPartGroups][kRawWords]) {
  const Unit unit = unit_of(gl_WorkGroupID.x, min(index, unit_count() - 1u));
  UNROLL for (uint g = 0u; g < kPartGroups; ++g) load_raw(unit, first_group() + g, lane(), raw[g]);
}

void make_part(uint buffer_, uint index, uint raw[kPartGroups][kRawWords],
               RowPlace rows[kMostRows]) {
  const Unit unit = unit_of(gl_WorkGroupID.x, index);
  int sums[kMostRows];
#ifdef MINS
  int minima[kMostRows];
#endif
  EACH_ROW(r) {
    sums[r] = unit_start(rows[r], index);
#ifdef MINS
    minima[r] = 0;
#endif
  }
  UNROLL for (uint i = 0u; i < kPartGroups; ++i) {
    const uint group = first_group() + i;
    const int scale = group_scale(unit, group, lane());
#ifdef MINS
    const int minimum = group_minimum(unit, group, lane());
#endif
    uint quads[kQuads];
    unpack(unit, raw[i], quads);
    EACH_ROW(r) {
      const uint at = quads_at(rows[r], index, group) / 4u;
      int dot = 0;
      UNROLL for (uint t = 0u; t < kQuads / 4u; ++t) {
        const uvec4 four = Vectors(push.activations).at[at + t];
        UNROLL for (uint i = 0u; i < 4u; ++i) dot += dot4(quads[4u * t + i], four[i]);
      }
      sums[r] += scale * dot;
#ifdef MINS
      minima[r] += minimum * group_sum(rows[r], index, group);
#endif
    }
  }
  EACH_ROW(r) {
    dots[buffer_][slot()][r][lane()] = sums[r];
#ifdef MINS
    lows[buffer_][slot()][r][lane()] = minima[r];
#endif
    if (slot() % kParts == 0u) {
      const float activation = activation_scale(rows[r], index);
      scales[buffer_][slot() / kParts][r][lane()] = unit_scale(unit, lane(), activation);
#ifdef MINS
      low_scales[buffer_][slot() / kParts][r][lane()] = unit_min_scale(unit, lane(), activation);
#endif
    }
  }
}

// Of row `r`, which is the number of this thread's slot.
float add_units(uint buffer_, uint units, float acc) {
  const uint r = slot();
  for (uint u = 0u; u < units; ++u) {
    int dot = 0;
    UNROLL for (uint p = 0u; p < kParts; ++p) dot += dots[buffer_][u * kParts + p][r][lane()];
    acc = fused_normal(float(dot), scales[buffer_][u][r][lane()], acc);
#ifdef MINS
    int low = 0;
    UNROLL for (uint p = 0u; p < kParts; ++p) low += lows[buffer_][u * kParts + p][r][lane()];
    acc = fused_normal(-float(low), low_scales[buffer_][u][r][lane()], acc);
#endif
  }
  return acc;
}

void main() {
  if (!choose_matrix()) return;
  RowPlace rows[kMostRows];
  EACH_ROW(r) rows[r] = row_at(row_index(r));
  const uint units = unit_count(), own_unit = slot() / kParts;
  const bool has_chain = slot() < kRows;
  float acc = 0.0;
  uint raw[kPartGroups][kRawWords];
  load_part(own_unit, raw);
  uint buffer_ = 0u;
  for (uint first = 0u; first < units; first += kStepUnits) {
    uint next[kPartGroups][kRawWords];
    load_part(first + kStepUnits + own_unit, next);
    if (has_chain && first > 0u) acc = add_units(buffer_ ^ 1u, kStepUnits, acc);
    if (first + own_unit < units) make_part(buffer_, first + own_unit, raw, rows);
    raw = next;
    barrier();
    buffer_ ^= 1u;
  }
  if (!has_chain) return;
  acc = add_units(buffer_ ^ 1u, (units - 1u) % kStepUnits + 1u, acc);
  const uint output_ = gl_WorkGroupID.x * kLanes + lane();
  if (output_ >= push.outputs) return;
  const uint row = result_row(slot());
  if (row == kNoRow) return;
  push.result.at[row * push.out_stride + output_] = acc;
  if (push.sum_stride == 0u) return;
  const uint at = row * push.sum_stride + output_;
  push.sum.at[at] = add(push.sum.at[at], acc);
}
