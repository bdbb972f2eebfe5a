#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Products of 128 outputs with kRows rows of activations by cooperative matrices of bytes
// (matrix.glsl), for prefill. A step is 32 columns: while its bytes are multiplied out of shared
// memory, those of the next one are read from memory.
//
// Where a unit is one group, each step ends with the floats of the reference (ScaledProduct of
// src/kernels/ref/matmul_ref.cc). Where it has groups with integer scales, weights are multiplied
// with them when they are staged, and the products, which take two bytes, become two matrices: 256 *
// high + low. Minima and the sums of the groups' activations are then one more step of the same kind.
// So nothing but bytes is multiplied until the unit ends (SuperProduct there).
#ifndef EMULATED
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#endif
#include "memory.glsl"
#include "exact.glsl"
#include "conversions.glsl"
#include "rows.glsl"
#include "dot.glsl"

layout(local_size_x = 256) in;
const uint kRows = 64u;
// RecordMatrixProduct of kernels/product_push.cc gives these: of the device's tiles only the shape
// differs, as each has eight elements an invocation.
#ifdef EMULATED
const uint kTileOutputs = 8u, kTileRows = 8u, kTileColumns = 8u;
#else
layout(constant_id = 2) const uint kTileOutputs = 8u;
layout(constant_id = 3) const uint kTileRows = 8u;
layout(constant_id = 4) const uint kTileColumns = 8u;
#endif
const uint kElements = 8u;
#include "product_rows.glsl"
#include "weights.glsl"
#include "activations.glsl"

const uint kLanes = 16u;
const uint kOutputs = 128u;
const uint kStageThreads = 128u;  // for weights, and as many for activations
const uint kStepQuads = 8u;
const uint kStepGroups = kStepQuads / kQuads;
const uint kWeightSteps = kUnitColumns / 32u;
#ifdef MINS
const uint kSteps = kWeightSteps + 1u;
#else
const uint kSteps = kWeightSteps;
#endif
#if defined(PER_256) || defined(MINS)
#define TWO_PARTS
const uint kParts = 2u;
#else
const uint kParts = 1u;
#endif

// Rows of 32 bytes, and 16 more, so that eight rows start in other banks.
const uint kStride = 12u;
const uint kWeightWords = kOutputs * kStride;  // of a part
const uint kActivationWords = kRows * kStride;
// Two of each: one is multiplied while the other is written.
shared uint weights[2u * kParts * kWeightWords];
shared uint activations[2u * kActivationWords];
shared float weight_scales[2u * kOutputs];
shared float activation_scales[2u * kRows];
shared uint small_scales[2];
shared int numbers[64];
#include "matrix.glsl"

// Tiles of a subgroup, as many as its share of the workgroup's elements.
const uint kGridRows = 2u;
const uint kGridOutputs = kOutputs * kRows / 256u / kElements / kGridRows;
const uint kGrid = kGridOutputs * kGridRows;

// What a thread has read of the next step, as it stands in memory: words of quads, or of sums;
// the group scales; the float scale.
const uint kGroupScale = 8u;
const uint kFloatScale = 9u;
uint staged[10];

// --- Threads of weights: one output each.

// The last panel again beyond the end.
Unit unit_of_output(uint output_, uint unit) {
  const uint panels = (push.outputs + kLanes - 1u) / kLanes;
  return unit_of(min(gl_WorkGroupID.x * (kOutputs / kLanes) + output_ / kLanes, panels - 1u), unit);
}

void read_weights(Unit unit, uint lane, uint step_) {
#ifdef MINS
  if (step_ == kWeightSteps) {
#ifdef PER_256
    UNROLL for (uint p = 0u; p < kGroups / 2u; ++p)
      staged[p] = pair_word(unit.at + kMinimumPairs, 2u * p, lane);
#endif
    staged[kFloatScale] = minimum_word(unit, lane);
    return;
  }
#endif
  UNROLL for (uint h = 0u; h < kStepGroups; ++h) {
    uint raw[kRawWords];
    load_raw(unit, step_ * kStepGroups + h, lane, raw);
    UNROLL for (uint t = 0u; t < kRawWords; ++t) staged[h * kRawWords + t] = raw[t];
  }
#if defined(PER_256) && WEIGHTS != IQ2_XXS
  staged[kGroupScale] = pair_word(unit.at + kScalePairs, step_ * kStepGroups, lane);
#endif
  if (step_ == kWeightSteps - 1u) staged[kFloatScale] = scale_word(unit, lane);
}

#ifdef TWO_PARTS
// Bytes 0 and 2 of a quad times a scale, each in 16 bits.
uint two_products(uint quad, int scale) {
#ifdef MINS
  return (quad & 0x00ff00ffu) * uint(scale);
#else
  const int first = bitfieldExtract(int(quad), 0, 8), second = bitfieldExtract(int(quad), 16, 8);
  const uint products = uint((first + (second << 16)) * scale);
  return products + ((products & 0x8000u) << 1);  // what a negative first one took from the second
#endif
}
// Adds 128 to each of two numbers of 16 bits.
uint rounded_up(uint pair) {
#ifdef MINS
  return pair + 0x00800080u;
#else
  return ((pair & 0x7fff7fffu) + 0x00800080u) ^ (pair & 0x80008000u);
#endif
}
// A quad's products with a scale as 256 * high + low, of signed bytes.
void split_products(uint quad, int scale, out uint low, out uint high) {
  const uint even = two_products(quad, scale), odd = two_products(quad >> 8, scale);
  low = even & 0x00ff00ffu | (odd & 0x00ff00ffu) << 8;
  high = rounded_up(even) >> 8 & 0x00ff00ffu | rounded_up(odd) & 0xff00ff00u;
}
#endif

// Of a scale of weights and one of activations that are zero or at least these, the product is a
// multiple of 2^-126, as a float has 24 bits: nothing that is made of such products is denormal.
const float kLeastWeightScale = 9.313225746154785e-10;      // 2^-30
const float kLeastActivationScale = 8.470329472543003e-22;  // 2^-70
void note_scale(float scale, float least, uint buffer_) {
  if (scale != 0.0 && !(abs(scale) >= least)) small_scales[buffer_] = 1u;
}

void write_weights(Unit unit, uint output_, uint lane, uint step_, uint buffer_) {
  const uint to = buffer_ * kParts * kWeightWords + output_ * kStride;
#ifdef MINS
  if (step_ == kWeightSteps) {
    // Low bytes of sums stand before high ones.
    UNROLL for (uint t = 0u; t < kStepQuads / 2u; ++t) {
      uint minima = 0u;
#ifdef PER_256
      UNROLL for (uint i = 0u; i < 4u; ++i) {
        const uint group = 4u * t + i;
        if (group < kGroups)
          minima |= uint(minimum_in(staged[group / 2u & 7u], group, lane)) << 8u * i;
      }
#else
      if (t == 0u) minima = 1u;
#endif
      weights[to + t] = minima;
      weights[to + t + 4u] = 0u;
      weights[to + kWeightWords + t] = 0u;
      weights[to + kWeightWords + t + 4u] = minima;
    }
    weight_scales[buffer_ * kOutputs + output_] = weight_minimum(staged[kFloatScale], lane);
    return;
  }
#endif
  UNROLL for (uint h = 0u; h < kStepGroups; ++h) {
    uint raw[kRawWords], quads[kQuads];
    UNROLL for (uint t = 0u; t < kRawWords; ++t) raw[t] = staged[h * kRawWords + t];
    unpack(unit, raw, quads);
#ifdef TWO_PARTS
#if WEIGHTS == IQ2_XXS
    const int scale = scale_of_raw(raw);
#elif defined(PER_256)
    const int scale = scale_in(staged[kGroupScale], step_ * kStepGroups + h, lane);
#else
    const int scale = 1;
#endif
#endif
    UNROLL for (uint t = 0u; t < kQuads; ++t) {
      const uint at = to + h * kQuads + t;
#ifdef TWO_PARTS
      uint low, high;
      split_products(quads[t], scale, low, high);
      weights[at] = low;
      weights[at + kWeightWords] = high;
#elif defined(START_WORD)
      weights[at] = offset_bytes(quads[t], 8u);  // in place of the start of a dot product
#else
      weights[at] = quads[t];
#endif
    }
  }
  if (step_ == kWeightSteps - 1u) {
    const float scale = weight_scale(unit, staged[kFloatScale], lane);
    weight_scales[buffer_ * kOutputs + output_] = scale;
    note_scale(scale, kLeastWeightScale, buffer_);
  }
}

// --- Threads of activations: some quads of a row each.

const uint kThreadQuads = kRows * kStepQuads / kStageThreads;
const uint kRowThreads = kStepQuads / kThreadQuads;

// The word that has the sum of a group, in its lower or upper half.
uint sum_word(RowPlace row, uint unit, uint group) {
#ifdef PER_256
  return unit_word(row, unit, (kGroups == 8u ? kPer256Sums32 : kPer256Sums16) + group / 2u);
#else
  return unit_word(row, unit, kPer32Start8);
#endif
}
uint scale_word_of_row(RowPlace row, uint unit) { return BITS(activation_scale(row, unit)); }

void read_activations(RowPlace row, uint first, uint unit, uint step_) {
  if (step_ == kWeightSteps - 1u) staged[kFloatScale] = scale_word_of_row(row, unit);
#ifdef MINS
  if (step_ == kWeightSteps) {
    staged[kFloatScale] = scale_word_of_row(row, unit);
    UNROLL for (uint i = 0u; i < min(kThreadQuads, 4u); ++i) {
      const uint group = 4u * ((first + i) & 3u);  // beyond the last, minima are zero
      staged[2u * i] = group < kGroups ? sum_word(row, unit, group) : 0u;
      staged[2u * i + 1u] = group < kGroups ? sum_word(row, unit, group + 2u) : 0u;
    }
    return;
  }
#endif
  const uint at = quads_at(row, unit, step_ * kStepGroups) + first;
  UNROLL for (uint i = 0u; i < kThreadQuads; ++i) staged[i] = push.activations.at[at + i];
}

void write_activations(uint row, uint first, uint step_, uint buffer_) {
  const uint to = buffer_ * kActivationWords + row * kStride + first;
  if (step_ >= kWeightSteps - 1u && first == 0u) {
    const float scale = FLOAT(staged[kFloatScale]);
    activation_scales[buffer_ * kRows + row] = scale;
    note_scale(scale, kLeastActivationScale, buffer_);
  }
#ifdef MINS
  if (step_ == kWeightSteps) {
    UNROLL for (uint i = 0u; i < kThreadQuads; ++i) {
      uint quad = 0u;
      UNROLL for (uint j = 0u; j < 4u; ++j) {
        const uint word = staged[2u * (i & 3u) + j / 2u];
        const int sum = bitfieldExtract(int(word), int(j & 1u) * 16, 16);
        const int part = first + i < 4u ? sum : sum + 128 >> 8;
        quad |= uint(part & 255) << 8u * j;
      }
      activations[to + i] = quad;
    }
    return;
  }
#endif
  UNROLL for (uint i = 0u; i < kThreadQuads; ++i) activations[to + i] = staged[i];
}

// --- All threads.

// An integer below 2^22 beside this one is a float: 1.5 * 2^23 plus the integer.
const int kFloatBase = 0x4b400000;

FLOATS sums[kGrid];
INTS dots[kParts * kGrid];

void clear_dots() {
#ifdef TWO_PARTS
  const int start = 0;
#else
  const int start = kFloatBase;
#endif
  EACH for (uint i = 0u; i < kParts * kGrid; ++i) dots[i] = FILLED(INTS, start);
}

void multiply(uint first_output, uint first_row, uint buffer_) {
  EACH for (uint k = 0u; k < 32u / kTileColumns; ++k) {
    const uint column = k * (kTileColumns / 4u);
    RIGHT rows[kGridRows];
    EACH for (uint j = 0u; j < kGridRows; ++j)
      LOAD_RIGHT(rows[j], buffer_ * kActivationWords + (first_row + j * kTileRows) * kStride + column);
    EACH for (uint part = 0u; part < kParts; ++part) {
      EACH for (uint i = 0u; i < kGridOutputs; ++i) {
        LEFT outputs;
        LOAD_LEFT(outputs, (buffer_ * kParts + part) * kWeightWords +
                               (first_output + i * kTileOutputs) * kStride + column);
        EACH for (uint j = 0u; j < kGridRows; ++j)
          MULTIPLY(outputs, rows[j], dots[part * kGrid + i * kGridRows + j]);
      }
    }
  }
}

float mul_normal(float a, float b) { return flushed(mul_unflushed(a, b)); }

// The floats of a unit, or of its minima. Operands are never denormal, and neither are results,
// unless there was a small scale: all others are a multiple of 2^-126 then, and so are their sums.
#ifdef TWO_PARTS
#define DOT(tile, n) \
  float(256 * ELEMENT(dots[kGrid + tile], n) + ELEMENT(dots[tile], n))
#else
#define DOT(tile, n) sub_unflushed(FLOAT(ELEMENT(dots[tile], n)), FLOAT(kFloatBase))
#endif
#define ADD_UNIT(multiply_, fused_, product_, sign)                                          \
  {                                                                                          \
    FLOATS by_row[kGridRows];                                                                \
    EACH for (uint j = 0u; j < kGridRows; ++j)                                         \
      SPREAD_ROWS(by_row[j], activation_scales, buffer_ * kRows + first_row + j * kTileRows); \
    EACH for (uint i = 0u; i < kGridOutputs; ++i) {                                    \
      FLOATS by_output;                                                                      \
      SPREAD_OUTPUTS(by_output, weight_scales,                                               \
                     buffer_ * kOutputs + first_output + i * kTileOutputs);                  \
      EACH for (uint j = 0u; j < kGridRows; ++j) {                                     \
        const uint tile = i * kGridRows + j;                                                 \
        EACH for (uint n = 0u; n < kElements; ++n)                               \
          ELEMENT(sums[tile], n) = fused_(sign DOT(tile, n),                                 \
              product_(multiply_, ELEMENT(by_output, n), ELEMENT(by_row[j], n)),             \
              ELEMENT(sums[tile], n));                                                       \
      }                                                                                      \
    }                                                                                        \
  }
#define MINIMUM_PRODUCT(multiply, scale, activation) multiply(scale, activation)

#ifdef EMULATED
#define ADD(product, sign) ADD_UNIT(mul_normal, fused_normal, product, sign)
#else
// A device with matrices has a native fma.
float fused_natively(float a, float b, float c) {
  precise float sum = fma(a, b, c);
  return sum;
}
#define FUSED_FLUSHED(a, b, c) flushed(fused_natively(a, b, c))
#define ADD(product, sign)                                                     \
  if (kFlush && has_small) ADD_UNIT(mul_normal, FUSED_FLUSHED, product, sign) \
  else ADD_UNIT(mul_unflushed, fused_natively, product, sign)
#endif

void add_unit(uint first_output, uint first_row, uint buffer_, bool has_small) {
  ADD(TIMES_ACTIVATION, )
}
#ifdef MINS
void add_minima(uint first_output, uint first_row, uint buffer_, bool has_small) {
  ADD(MINIMUM_PRODUCT, -)
}
#endif

void main() {
  if (!choose_matrix()) return;
  const uint thread = gl_LocalInvocationID.x;
  const uint block_outputs = kGridOutputs * kTileOutputs, block_rows = kGridRows * kTileRows;
  const uint row_blocks = kRows / block_rows;
  const uint first_output = SUBGROUP / row_blocks * block_outputs;
  const uint first_row = SUBGROUP % row_blocks * block_rows;
  const bool has_weights = thread < kStageThreads;
  const uint output_ = thread % kStageThreads, lane = output_ % kLanes;
  const uint staged_row = output_ / kRowThreads, first_quad = output_ % kRowThreads * kThreadQuads;
  const RowPlace row = row_at(row_index(staged_row));
  const uint steps = (push.columns + 63u) / 64u * 64u / kUnitColumns * kSteps;

  if (thread < 64u) numbers[thread] = int(thread);
  if (thread < 2u) small_scales[thread] = 0u;
  if (has_weights) read_weights(unit_of_output(output_, 0u), lane, 0u);
  else read_activations(row, first_quad, 0u, 0u);
  barrier();
  if (has_weights) write_weights(unit_of_output(output_, 0u), output_, lane, 0u, 0u);
  else write_activations(staged_row, first_quad, 0u, 0u);
  EACH for (uint i = 0u; i < kGrid; ++i) sums[i] = FILLED(FLOATS, 0.0);
  clear_dots();
  bool has_small = false;
  barrier();

  uint step_ = 0u, next_unit = 0u;
  for (uint n = 0u; n < steps; ++n) {
    const uint buffer_ = n & 1u, next_step = step_ + 1u == kSteps ? 0u : step_ + 1u;
    if (next_step == 0u) ++next_unit;
    const bool has_next = n + 1u < steps;
    const Unit next = unit_of_output(output_, next_unit);
    if (has_next) {
      if (has_weights) read_weights(next, lane, next_step);
      else read_activations(row, first_quad, next_unit, next_step);
    }
    multiply(first_output, first_row, buffer_);
    has_small = has_small || small_scales[buffer_] != 0u;
    if (step_ >= kWeightSteps - 1u) {
#ifdef MINS
      if (step_ == kWeightSteps) add_minima(first_output, first_row, buffer_, has_small);
      else
#endif
        add_unit(first_output, first_row, buffer_, has_small);
      clear_dots();
    }
    if (has_next) {
      if (has_weights) write_weights(next, output_, lane, next_step, buffer_ ^ 1u);
      else write_activations(staged_row, first_quad, next_step, buffer_ ^ 1u);
    }
    barrier();
    step_ = next_step;
  }

  INTS outputs_of, rows_of;
  SPREAD_OUTPUTS(outputs_of, numbers, 0u);
  SPREAD_ROWS(rows_of, numbers, 0u);
  EACH for (uint i = 0u; i < kGridOutputs; ++i) {
    EACH for (uint j = 0u; j < kGridRows; ++j) {
      EACH for (uint n = 0u; n < kElements; ++n) {
        const uint out_ = gl_WorkGroupID.x * kOutputs + first_output + i * kTileOutputs +
                          uint(ELEMENT(outputs_of, n));
        const uint row_ = result_row(first_row + j * kTileRows + uint(ELEMENT(rows_of, n)));
        if (row_ != kNoRow && out_ < push.outputs)
          push.result.at[row_ * push.out_stride + out_] = ELEMENT(sums[i * kGridRows + j], n);
      }
    }
  }
}
