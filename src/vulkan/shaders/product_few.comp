#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Products of panels (sixteen outputs each) with one to eight rows of activations, for decoding:
// every weight is read once for all of the rows. A workgroup goes over the columns of one panel after
// the other in steps. In a step, a maker has one output and one unit, or a part of a unit of 256
// columns, and computes its integer products for every row, in any order, since they are exact.
// Meanwhile an adder for each row and output adds the floats of the step before to its chain, in the
// order of the reference (ScaledProduct and SuperProduct of src/kernels/ref/matmul_ref.cc). The words
// of the next two steps are loaded meanwhile, also across panels.
#include "memory.glsl"
#include "exact.glsl"
#include "conversions.glsl"
#include "rows.glsl"
#include "dot.glsl"

layout(local_size_x_id = 3) in;  // kLanes for each of kSlots and of the adders
layout(constant_id = 2) const uint kRows = 1;   // up to kMostRows
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

// Slots below kSlots are makers; each later one has the adders of a row.
uint slot() { return gl_LocalInvocationID.x / kLanes; }
uint lane() { return gl_LocalInvocationID.x % kLanes; }
uint first_group() { return slot() % kParts * kPartGroups; }
uint unit_count() { return (push.columns + 63u) / 64u * 64u / kUnitColumns; }

// The weights that a maker reads, as in memory.
struct Part {
  uint raw[kPartGroups][kRawWords];
  uint scale;
#ifdef MINS
  uint minimum;
#endif
#ifdef PAIRED_SCALES
  uint scale_pairs[kPartGroups / 2u];
#ifdef MINS
  uint minimum_pairs[kPartGroups / 2u];
#endif
#endif
};

// A step of this workgroup: its panel, and the first of its units.
struct Step {
  uint panel;
  uint first;
};
uint first_panel() { return gl_WorkGroupID.x * push.panels; }
uint end_panel() {
  return min(first_panel() + push.panels, (push.outputs + kLanes - 1u) / kLanes);
}
void advance(inout Step step_) {
  step_.first += kStepUnits;
  if (step_.first < unit_count()) return;
  step_.first = 0u;
  ++step_.panel;
}

// Loads a maker's weights, if there is such a step.
void load_part(Step step_, inout Part part) {
  if (step_.panel >= end_panel()) return;
  // Beyond the end, the last unit again: some drivers read before they know the condition.
  const Unit unit = unit_of(min(step_.panel, end_panel() - 1u),
                            min(step_.first + slot() / kParts, unit_count() - 1u));
  UNROLL for (uint g = 0u; g < kPartGroups; ++g)
    load_raw(unit, first_group() + g, lane(), part.raw[g]);
  part.scale = scale_word(unit, lane());
#ifdef MINS
  part.minimum = minimum_word(unit, lane());
#endif
#ifdef PAIRED_SCALES
  UNROLL for (uint p = 0u; p < kPartGroups / 2u; ++p) {
    part.scale_pairs[p] = pair_word(unit.at + kScalePairs, first_group() + 2u * p, lane());
#ifdef MINS
    part.minimum_pairs[p] = pair_word(unit.at + kMinimumPairs, first_group() + 2u * p, lane());
#endif
  }
#endif
}

int scale_of_group(Part part, uint g) {
#if defined(PAIRED_SCALES)
  return scale_in(part.scale_pairs[g / 2u], g, lane());
#elif WEIGHTS == IQ2_XXS
  return scale_of_raw(part.raw[g]);
#else
  return 1;
#endif
}
#ifdef MINS
int minimum_of_group(Part part, uint g) {
#ifdef PAIRED_SCALES
  return minimum_in(part.minimum_pairs[g / 2u], g, lane());
#else
  return 1;
#endif
}
#endif

void make_part(uint buffer_, Step step_, Part part, RowPlace rows[kMostRows]) {
  const uint index = step_.first + slot() / kParts;
  if (index >= unit_count()) return;
  const Unit unit = unit_of(step_.panel, index);
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
    uint quads[kQuads];
    unpack(unit, part.raw[i], quads);
    EACH_ROW(r) {
      const uint at = quads_at(rows[r], index, group) / 4u;
      int dot = 0;
      UNROLL for (uint t = 0u; t < kQuads / 4u; ++t) {
        const uvec4 four = Vectors(push.activations).at[at + t];
        UNROLL for (uint i = 0u; i < 4u; ++i) dot += dot4(quads[4u * t + i], four[i]);
      }
      sums[r] += scale_of_group(part, i) * dot;
#ifdef MINS
      minima[r] += minimum_of_group(part, i) * group_sum(rows[r], index, group);
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
      scales[buffer_][slot() / kParts][r][lane()] =
          TIMES_ACTIVATION(mul, weight_scale(unit, part.scale, lane()), activation);
#ifdef MINS
      low_scales[buffer_][slot() / kParts][r][lane()] =
          mul(weight_minimum(part.minimum, lane()), activation);
#endif
    }
  }
}

// The terms of a unit in a chain: dot * scale, and then, with MINS, low * low_scale.
struct Terms {
  float dot;
  float scale;
#ifdef MINS
  float low;
  float low_scale;
#endif
};
Terms terms_of(uint buffer_, uint u, uint r) {
  Terms terms;
  int dot = 0;
  UNROLL for (uint p = 0u; p < kParts; ++p) dot += dots[buffer_][u * kParts + p][r][lane()];
  terms.dot = float(dot);
  terms.scale = scales[buffer_][u][r][lane()];
#ifdef MINS
  int low = 0;
  UNROLL for (uint p = 0u; p < kParts; ++p) low += lows[buffer_][u * kParts + p][r][lane()];
  terms.low = -float(low);
  terms.low_scale = low_scales[buffer_][u][r][lane()];
#endif
  return terms;
}

float add_flushed(uint buffer_, uint units, uint r, float acc) {
  for (uint u = 0u; u < units; ++u) {
    const Terms terms = terms_of(buffer_, u, r);
    acc = fused_normal(terms.dot, terms.scale, acc);
#ifdef MINS
    acc = fused_normal(terms.low, terms.low_scale, acc);
#endif
  }
  return acc;
}

// Adds without flushing denormals, which takes a third of the time and is nearly always enough; if a
// sum was denormal, adds again with flushing.
float add_units(uint buffer_, uint units, uint r, float acc) {
  if (!kNativeFma) return add_flushed(buffer_, units, r, acc);
  const uint kBatch = kStepUnits < 8u ? kStepUnits : 8u;
  const float start = acc;
  uint least = kInfBits;  // of the sums' magnitudes, less one: zero is the greatest
  for (uint first = 0u; first < units; first += kBatch) {
    Terms terms[8];
    UNROLL for (uint i = 0u; i < 8u; ++i)
      if (i < kBatch) terms[i] = terms_of(buffer_, min(first + i, units - 1u), r);
    UNROLL for (uint i = 0u; i < 8u; ++i) {
      if (i < kBatch && first + i < units) {
        acc = fused_unflushed(terms[i].dot, terms[i].scale, acc);
        least = min(least, (BITS(acc) & ~kSign) - 1u);
#ifdef MINS
        acc = fused_unflushed(terms[i].low, terms[i].low_scale, acc);
        least = min(least, (BITS(acc) & ~kSign) - 1u);
#endif
      }
    }
  }
  return kFlush && least < kMantissa ? add_flushed(buffer_, units, r, start) : acc;
}

void write_result(uint panel, uint r, float result) {
  const uint output_ = panel * kLanes + lane(), row = result_row(r);
  if (output_ >= push.outputs || row == kNoRow) return;
  push.result.at[row * push.out_stride + output_] = result;
  if (push.sum_stride == 0u) return;
  const uint at = row * push.sum_stride + output_;
  push.sum.at[at] = add(push.sum.at[at], result);
}

// Adds the products of a step; after a panel's last one, its results are complete.
void add_step(uint buffer_, Step step_, uint r, inout float acc) {
  const uint units = min(kStepUnits, unit_count() - step_.first);
  acc = add_units(buffer_, units, r, step_.first == 0u ? 0.0 : acc);
  if (step_.first + units == unit_count()) write_result(step_.panel, r, acc);
}

void main() {
  if (!choose_matrix() || first_panel() >= end_panel()) return;
  const bool makes = slot() < kSlots, adds = !makes && slot() - kSlots < kRows;
  const uint r = adds ? slot() - kSlots : 0u;
  RowPlace rows[kMostRows];
  EACH_ROW(r) rows[r] = row_at(row_index(r));
  float acc = 0.0;
  Step step_ = Step(first_panel(), 0u), loaded = step_, before = step_;
  const uint steps =
      (end_panel() - first_panel()) * ((unit_count() + kStepUnits - 1u) / kStepUnits);
  // The variables of a finished step get the words of the next but one. Moving words between variables
  // would wait for them.
  Part even, odd;
  if (makes) {
    load_part(loaded, even);
    advance(loaded);
    load_part(loaded, odd);
  }
  for (uint n = 0u; n < steps; n += 2u) {
    if (makes) {
      advance(loaded);
      make_part(0u, step_, even, rows);
      load_part(loaded, even);
    } else if (adds && n > 0u) {
      add_step(1u, before, r, acc);
    }
    barrier();
    before = step_;
    advance(step_);
    if (n + 1u == steps) break;
    if (makes) {
      advance(loaded);
      make_part(1u, step_, odd, rows);
      load_part(loaded, odd);
    } else if (adds) {
      add_step(0u, before, r, acc);
    }
    barrier();
    before = step_;
    advance(step_);
  }
  if (adds) add_step((steps - 1u) % 2u, before, r, acc);
}
