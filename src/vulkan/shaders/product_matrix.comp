#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Products of 128 outputs with kRows rows of activations by cooperative matrices of bytes
// (matrix.glsl), for prefill. A step is 64 columns: while its bytes are multiplied out of shared
// memory, those of the next one are read from memory.
//
// Where a unit is one group of 32 columns, a tile's integers live only until the floats of the
// reference are made of them (ScaledProduct of src/kernels/ref/matmul_ref.cc). Where it has groups
// with integer scales, weights are multiplied with them when they are staged, and the products,
// which take two bytes, become two matrices: 256 * high + low. Minima and the sums of the groups'
// activations are then one more step of the same kind. So nothing but bytes is multiplied until the
// unit ends (SuperProduct there).
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
// RecordProductPush of kernels/product_push.cc gives these. An invocation has eight elements of a
// tile on every device; the shape differs, and which of the eight are of the same output or row.
#ifdef EMULATED
const uint kTileOutputs = 8u, kTileRows = 8u, kTileColumns = 8u;
#else
layout(constant_id = 2) const uint kTileOutputs = 8u;
layout(constant_id = 3) const uint kTileRows = 8u;
layout(constant_id = 4) const uint kTileColumns = 8u;
#endif
const uint kRows = ROWS;  // 64, or 128
// Element n has the same output, or row, as the first that has: the number in four bits from bit
// 4 * n on.
layout(constant_id = 5) const uint kSameOutput = 0x76543210u;
layout(constant_id = 6) const uint kSameRow = 0x76543210u;
const uint kElements = 8u;
// Workgroups with the same weights follow each other, so that memory is read once.
#define ROW_GROUP gl_WorkGroupID.x
#define OUTPUT_GROUP gl_WorkGroupID.y
#include "product_rows.glsl"
#include "weights.glsl"
#include "activations.glsl"

const uint kThreads = 256u;
const uint kLanes = 16u;
const uint kOutputs = 128u;
// A step's columns are halves of 32 each: of weights, a thread has one of an output.
const uint kHalves = 2u;
const uint kHalfGroups = 8u / kQuads;
#ifdef PER_32
const uint kSteps = 1u;
const uint kParts = 1u;
const uint kScales = kHalves;  // of an output in a step
#else
const uint kWeightSteps = kUnitColumns / 64u;
#ifdef MINS
const uint kSteps = kWeightSteps + 1u;
#else
const uint kSteps = kWeightSteps;
#endif
const uint kParts = 2u;
const uint kScales = 1u;
#endif

// Rows of 64 bytes, and 16 more, so that eight rows start in other banks; in pieces of 16 bytes.
const uint kStride = 5u;
const uint kWeightPieces = kOutputs * kStride;  // of a part
const uint kActivationPieces = kRows * kStride;
const uint kVectors = 2u;  // of a piece; the least tiles have rows of eight bytes
shared uvec2 weights[kParts * kWeightPieces * kVectors];
shared uvec2 activations[kActivationPieces * kVectors];
shared float weight_scales[kScales * kOutputs];
shared float activation_scales[kScales * kRows];
shared uint has_small_scale;
shared int numbers[16];
const uint kVectorWords = 4u / kVectors;
#include "matrix.glsl"

// Tiles of a subgroup, as many as its share of the workgroup's elements.
const uint kMostGrid = 8u;
const uint kGridRows = 2u;
const uint kGridOutputs = kOutputs * kRows / kThreads / kElements / kGridRows;
const uint kMostTiles = 4u;  // side by side in a half
const uint kTiles = 32u / kTileColumns;

// What a thread has read of a step, as it stands in memory.
struct Staged {
  uint weights[8];  // words of quads, or of minima
  uint group_scale;
  uint scale;
  uvec4 rows[2];  // quads, or sums
  uint row_scale;
};

// --- Weights: a thread has half a step of one output.

// The last panel again beyond the end.
Unit unit_of_output(uint output_, uint unit) {
  const uint panels = (push.outputs + kLanes - 1u) / kLanes;
  return unit_of(min(OUTPUT_GROUP * (kOutputs / kLanes) + output_ / kLanes, panels - 1u), unit);
}
#ifdef PER_32
Unit unit_of_step(uint output_, uint n, uint half_) {
  return unit_of_output(output_, kHalves * n + half_);
}
#else
Unit unit_of_step(uint output_, uint n, uint half_) { return unit_of_output(output_, n / kSteps); }
#endif
// The first group of a thread, of its unit.
uint first_group(uint n, uint half_) {
#ifdef PER_32
  return 0u;
#else
  return (n % kSteps * kHalves + half_) * kHalfGroups;
#endif
}

void read_weights(out Staged staged, uint output_, uint half_, uint n) {
  const Unit unit = unit_of_step(output_, n, half_);
  const uint lane = output_ % kLanes;
#ifdef MINS
  if (n % kSteps == kWeightSteps) {
    UNROLL for (uint p = 0u; p < kGroups / 2u; ++p)
      staged.weights[p] = pair_word(unit.at + kMinimumPairs, 2u * p, lane);
    staged.scale = minimum_word(unit, lane);
    return;
  }
#endif
  const uint group = first_group(n, half_);
  UNROLL for (uint h = 0u; h < kHalfGroups; ++h) {
    uint raw[kRawWords];
    load_raw(unit, group + h, lane, raw);
    UNROLL for (uint t = 0u; t < kRawWords; ++t) staged.weights[h * kRawWords + t] = raw[t];
  }
#ifdef PAIRED_SCALES
  staged.group_scale = pair_word(unit.at + kScalePairs, group, lane);
#endif
#ifdef PER_256
  if (n % kSteps == kWeightSteps - 1u)
#endif
    staged.scale = scale_word(unit, lane);
}

#ifdef PER_256
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
void note_scale(float scale, float least) {
  if (scale != 0.0 && !(abs(scale) >= least)) has_small_scale = 1u;
}

// Sixteen bytes, piece `at` of the array.
#define PUT(array, at, a, b, c, d)             \
  {                                            \
    array[kVectors * (at)] = uvec2(a, b);      \
    array[kVectors * (at) + 1u] = uvec2(c, d); \
  }

void write_weights(Staged staged, uint output_, uint half_, uint n) {
  const Unit unit = unit_of_step(output_, n, half_);
  const uint lane = output_ % kLanes;
  const uint to = output_ * kStride + half_ * 2u;
#ifdef MINS
  if (n % kSteps == kWeightSteps) {
    // Low bytes of sums stand before high ones, and zeros fill the other half up.
    uint minima[4];
    UNROLL for (uint t = 0u; t < 4u; ++t) {
      minima[t] = 0u;
      UNROLL for (uint i = 0u; i < 4u; ++i) {
        const uint group = 4u * t + i;
        if (group < kGroups && half_ == 0u)
          minima[t] |= uint(minimum_in(staged.weights[group / 2u & 7u], group, lane)) << 8u * i;
      }
    }
    PUT(weights, to, minima[0], minima[1], minima[2], minima[3]);
    PUT(weights, to + 1u, 0u, 0u, 0u, 0u);
    PUT(weights, to + kWeightPieces, 0u, 0u, 0u, 0u);
    PUT(weights, to + kWeightPieces + 1u, minima[0], minima[1], minima[2], minima[3]);
    if (half_ == 0u) weight_scales[output_] = weight_minimum(staged.scale, lane);
    return;
  }
#endif
  uint low[8];
#ifdef PER_256
  uint high[8];
#endif
  UNROLL for (uint h = 0u; h < kHalfGroups; ++h) {
    uint raw[kRawWords], quads[kQuads];
    UNROLL for (uint t = 0u; t < kRawWords; ++t) raw[t] = staged.weights[h * kRawWords + t];
    unpack(unit, raw, quads);
#if WEIGHTS == IQ2_XXS
    const int scale = scale_of_raw(raw);
#elif defined(PER_256)
    const int scale = scale_in(staged.group_scale, first_group(n, half_) + h, lane);
#endif
    UNROLL for (uint t = 0u; t < kQuads; ++t) {
      const uint quad = h * kQuads + t;
#ifdef PER_256
      split_products(quads[t], scale, low[quad], high[quad]);
#elif defined(START_WORD)
      low[quad] = offset_bytes(quads[t], 8u);  // in place of the start of a dot product
#else
      low[quad] = quads[t];
#endif
    }
  }
  PUT(weights, to, low[0], low[1], low[2], low[3]);
  PUT(weights, to + 1u, low[4], low[5], low[6], low[7]);
#ifdef PER_256
  PUT(weights, to + kWeightPieces, high[0], high[1], high[2], high[3]);
  PUT(weights, to + kWeightPieces + 1u, high[4], high[5], high[6], high[7]);
  if (n % kSteps != kWeightSteps - 1u || half_ != 0u) return;
#endif
  const float scale = weight_scale(unit, staged.scale, lane);
#ifdef PER_32
  weight_scales[half_ * kOutputs + output_] = scale;
#else
  weight_scales[output_] = scale;
#endif
  note_scale(scale, kLeastWeightScale);
}

// --- Activations: a thread has some pieces of a row.

const uint kRowThreads = kThreads / kRows;
const uint kRowPieces = 4u / kRowThreads;

// Piece `part` and every one kRowThreads further; of sums, the low bytes or the high ones.
void read_activations(inout Staged staged, RowPlace row, uint part, uint n) {
#ifdef PER_32
  const uint piece = n;
  if (part < kHalves)
    staged.row_scale = unit_word(row, kHalves * n + part, kPer32Scale);
#else
  const uint unit = n / kSteps, step_ = n % kSteps, piece = unit * kWeightSteps + step_;
  if (step_ >= kWeightSteps - 1u) staged.row_scale = unit_word(row, unit, 0u);
#ifdef MINS
  if (step_ == kWeightSteps) {
    UNROLL for (uint i = 0u; i < kGroups / 2u; ++i)
      staged.rows[i / 4u][i % 4u] =
          unit_word(row, unit, (kGroups == 8u ? kPer256Sums32 : kPer256Sums16) + i);
    return;
  }
#endif
#endif
  const uint at = (row.pieces + piece * row.group_rows * kPieceWords) / 4u + part;
  UNROLL for (uint i = 0u; i < 2u; ++i) {
    if (i < kRowPieces) staged.rows[i] = Vectors(push.activations).at[at + i * kRowThreads];
  }
}

void write_activations(Staged staged, uint row, uint part, uint n) {
  const uint to = row * kStride + part;
#ifdef PER_32
  if (part < kHalves) {
    const float scale = FLOAT(staged.row_scale);
    activation_scales[part * kRows + row] = scale;
    note_scale(scale, kLeastActivationScale);
  }
#else
  const uint step_ = n % kSteps;
  if (step_ >= kWeightSteps - 1u && part == 0u) {
    const float scale = FLOAT(staged.row_scale);
    activation_scales[row] = scale;
    note_scale(scale, kLeastActivationScale);
  }
#ifdef MINS
  if (step_ == kWeightSteps) {
    if (part > 1u) return;
    uint bytes[4];
    UNROLL for (uint t = 0u; t < 4u; ++t) {
      bytes[t] = 0u;
      UNROLL for (uint i = 0u; i < 4u; ++i) {
        const uint group = 4u * t + i;
        if (group < kGroups) {
          const uint word = staged.rows[group / 8u & 1u][group / 2u & 3u];
          const int sum = bitfieldExtract(int(word), int(group & 1u) * 16, 16);
          const int byte_ = part == 0u ? sum : sum + 128 >> 8;
          bytes[t] |= uint(byte_ & 255) << 8u * i;
        }
      }
    }
    PUT(activations, to, bytes[0], bytes[1], bytes[2], bytes[3]);
    return;
  }
#endif
#endif
  UNROLL for (uint i = 0u; i < 2u; ++i) {
    const uvec4 words = staged.rows[i];
    if (i < kRowPieces)
      PUT(activations, to + i * kRowThreads, words.x, words.y, words.z, words.w);
  }
}

// --- All threads.

// Where the elements of the subgroup's first tile stand in the workgroup.
uint output_of[kElements];
uint row_of[kElements];

void find_elements(uint first_output, uint first_row) {
  INTS outputs, rows;
  SPREAD_OUTPUTS(outputs, numbers, 0u);
  SPREAD_ROWS(rows, numbers, 0u);
  UNROLL for (uint n = 0u; n < kElements; ++n) {
    output_of[n] = first_output + uint(ELEMENT(outputs, kSameOutput >> 4u * n & 7u));
    row_of[n] = first_row + uint(ELEMENT(rows, kSameRow >> 4u * n & 7u));
  }
}
// What belongs to each element's output, or row: loaded once for those of the same.
#define LOAD_ELEMENTS(elements, array, at, places, same)   \
  UNROLL for (uint n = 0u; n < kElements; ++n) {           \
    const uint first = same >> 4u * n & 7u;                \
    if (first == n) elements[n] = array[(at) + places[n]]; \
    else elements[n] = elements[first];                    \
  }

float mul_normal(float a, float b) { return flushed(mul_unflushed(a, b)); }

// Operands are never denormal, and neither are results, unless there was a small scale: all others
// are a multiple of 2^-126 then, and so are their sums.
#ifdef EMULATED
float fused_step(float a, float b, float c, bool flush) { return fused_normal(a, b, c); }
float scale_step(float scale, float activation, bool flush) {
  return TIMES_ACTIVATION(mul_normal, scale, activation);
}
float minimum_step(float scale, float activation, bool flush) {
  return mul_normal(scale, activation);
}
#else
// A device with matrices has a native fma.
float fused_step(float a, float b, float c, bool flush) {
  precise float sum = fma(a, b, c);
  return flush ? flushed(sum) : sum;
}
float scale_step(float scale, float activation, bool flush) {
  if (flush) return TIMES_ACTIVATION(mul_normal, scale, activation);
  return TIMES_ACTIVATION(mul_unflushed, scale, activation);
}
float minimum_step(float scale, float activation, bool flush) {
  const float product = mul_unflushed(scale, activation);
  return flush ? flushed(product) : product;
}
#endif

FLOATS sums[kMostGrid];

#ifdef PER_32
// An integer below 2^22 beside this one is a float: 1.5 * 2^23 plus the integer.
const int kFloatBase = 0x4b400000;

void multiply_units(uint first_output, uint first_row, bool flush) {
  EACH for (uint half_ = 0u; half_ < kHalves; ++half_) {
    RIGHT rows[kGridRows * kMostTiles];
    float by_row[kGridRows][kElements];
    EACH for (uint j = 0u; j < kGridRows; ++j) {
      EACH for (uint k = 0u; k < kTiles; ++k)
        LOAD_RIGHT(rows[j * kMostTiles + k],
                   (first_row + j * kTileRows) * kStride + 2u * half_, k);
      LOAD_ELEMENTS(by_row[j], activation_scales, half_ * kRows + j * kTileRows, row_of, kSameRow)
    }
    EACH for (uint i = 0u; i < kGridOutputs; ++i) {
      LEFT outputs[kMostTiles];
      float by_output[kElements];
      EACH for (uint k = 0u; k < kTiles; ++k)
        LOAD_LEFT(outputs[k], (first_output + i * kTileOutputs) * kStride + 2u * half_, k);
      LOAD_ELEMENTS(by_output, weight_scales, half_ * kOutputs + i * kTileOutputs, output_of,
                    kSameOutput)
      EACH for (uint j = 0u; j < kGridRows; ++j) {
        const uint tile = i * kGridRows + j;
        INTS dots = FILLED(INTS, kFloatBase);
        EACH for (uint k = 0u; k < kTiles; ++k)
          MULTIPLY(outputs[k], rows[j * kMostTiles + k], dots);
        EACH for (uint n = 0u; n < kElements; ++n)
          ELEMENT(sums[tile], n) =
              fused_step(sub_unflushed(FLOAT(ELEMENT(dots, n)), FLOAT(kFloatBase)),
                         scale_step(by_output[n], by_row[j][n], flush),
                         ELEMENT(sums[tile], n), flush);
      }
    }
  }
}
#else
INTS dots[kMostGrid];

void clear_dots() {
  EACH for (uint i = 0u; i < kGridOutputs * kGridRows; ++i) dots[i] = FILLED(INTS, 0);
}

void multiply(uint first_output, uint first_row) {
  RIGHT rows[kGridRows * kHalves * kMostTiles];
  EACH for (uint j = 0u; j < kGridRows; ++j) {
    EACH for (uint half_ = 0u; half_ < kHalves; ++half_) {
      EACH for (uint k = 0u; k < kTiles; ++k)
        LOAD_RIGHT(rows[(j * kHalves + half_) * kMostTiles + k],
                   (first_row + j * kTileRows) * kStride + 2u * half_, k);
    }
  }
  EACH for (uint i = 0u; i < kGridOutputs; ++i) {
    const uint at = (first_output + i * kTileOutputs) * kStride;
    LEFT low[kHalves * kMostTiles], high[kHalves * kMostTiles];
    EACH for (uint half_ = 0u; half_ < kHalves; ++half_) {
      EACH for (uint k = 0u; k < kTiles; ++k) {
        LOAD_LEFT(high[half_ * kMostTiles + k], at + kWeightPieces + 2u * half_, k);
        LOAD_LEFT(low[half_ * kMostTiles + k], at + 2u * half_, k);
      }
    }
    EACH for (uint j = 0u; j < kGridRows; ++j) {
      const uint tile = i * kGridRows + j;
      INTS highs = FILLED(INTS, 0);
      EACH for (uint half_ = 0u; half_ < kHalves; ++half_) {
        EACH for (uint k = 0u; k < kTiles; ++k)
          MULTIPLY(high[half_ * kMostTiles + k], rows[(j * kHalves + half_) * kMostTiles + k],
                   highs);
      }
      EACH for (uint n = 0u; n < kElements; ++n)
        ELEMENT(dots[tile], n) += ELEMENT(highs, n) << 8;
      EACH for (uint half_ = 0u; half_ < kHalves; ++half_) {
        EACH for (uint k = 0u; k < kTiles; ++k)
          MULTIPLY(low[half_ * kMostTiles + k], rows[(j * kHalves + half_) * kMostTiles + k],
                   dots[tile]);
      }
    }
  }
}

// The floats of a unit, or of its minima.
#define ADD_UNIT(product_step, sign, flush)                                                    \
  {                                                                                            \
    float by_row[kGridRows][kElements];                                                        \
    EACH for (uint j = 0u; j < kGridRows; ++j)                                                 \
      LOAD_ELEMENTS(by_row[j], activation_scales, j * kTileRows, row_of, kSameRow)             \
    EACH for (uint i = 0u; i < kGridOutputs; ++i) {                                            \
      float by_output[kElements];                                                              \
      LOAD_ELEMENTS(by_output, weight_scales, i * kTileOutputs, output_of, kSameOutput)        \
      EACH for (uint j = 0u; j < kGridRows; ++j) {                                             \
        const uint tile = i * kGridRows + j;                                                   \
        EACH for (uint n = 0u; n < kElements; ++n)                                             \
          ELEMENT(sums[tile], n) = fused_step(sign float(ELEMENT(dots[tile], n)),              \
              product_step(by_output[n], by_row[j][n], flush), ELEMENT(sums[tile], n), flush); \
      }                                                                                        \
    }                                                                                          \
  }
#define ADD(product_step, sign)                               \
  if (kFlush && has_small) ADD_UNIT(product_step, sign, true) \
  else ADD_UNIT(product_step, sign, false)

void add_unit(bool has_small) {
  ADD(scale_step, )
}
#ifdef MINS
void add_minima(bool has_small) {
  ADD(minimum_step, -)
}
#endif
#endif

bool has_small = false;

void multiply_step(uint first_output, uint first_row, uint n) {
  has_small = has_small || has_small_scale != 0u;
#ifdef PER_32
  if (kFlush && has_small) multiply_units(first_output, first_row, true);
  else multiply_units(first_output, first_row, false);
#else
  multiply(first_output, first_row);
  const uint step_ = n % kSteps;
  if (step_ < kWeightSteps - 1u) return;
#ifdef MINS
  if (step_ == kWeightSteps) add_minima(has_small);
  else
#endif
    add_unit(has_small);
  clear_dots();
#endif
}

void main() {
  if (!choose_matrix()) return;
  const uint thread = gl_LocalInvocationID.x;
  const uint block_outputs = kGridOutputs * kTileOutputs, block_rows = kGridRows * kTileRows;
  const uint row_blocks = kRows / block_rows;
  const uint first_output = SUBGROUP / row_blocks * block_outputs;
  const uint first_row = SUBGROUP % row_blocks * block_rows;
  const uint output_ = thread % kOutputs, half_ = thread / kOutputs;
  const uint staged_row = thread / kRowThreads, part = thread % kRowThreads;
  const RowPlace row = row_at(row_index(staged_row));
#ifdef PER_32
  const uint steps = (push.columns + 63u) / 64u;
#else
  const uint steps = push.columns / kUnitColumns * kSteps;
#endif

  Staged staged;
  read_weights(staged, output_, half_, 0u);
  read_activations(staged, row, part, 0u);
  if (thread < 16u) numbers[thread] = int(thread);
  if (thread == 0u) has_small_scale = 0u;
  EACH for (uint i = 0u; i < kGridOutputs * kGridRows; ++i) sums[i] = FILLED(FLOATS, 0.0);
#ifdef PER_256
  clear_dots();
#endif
  barrier();
  find_elements(first_output, first_row);

  for (uint n = 0u; n < steps; ++n) {
    write_weights(staged, output_, half_, n);
    write_activations(staged, staged_row, part, n);
    barrier();
    if (n + 1u < steps) {
      read_weights(staged, output_, half_, n + 1u);
      read_activations(staged, row, part, n + 1u);
    }
    multiply_step(first_output, first_row, n);
    barrier();
  }

  EACH for (uint i = 0u; i < kGridOutputs; ++i) {
    EACH for (uint j = 0u; j < kGridRows; ++j) {
      EACH for (uint n = 0u; n < kElements; ++n) {
        const uint out_ = OUTPUT_GROUP * kOutputs + i * kTileOutputs + output_of[n];
        const uint row_ = result_row(j * kTileRows + row_of[n]);
        if (row_ != kNoRow && out_ < push.outputs)
          push.result.at[row_ * push.out_stride + out_] = ELEMENT(sums[i * kGridRows + j], n);
      }
    }
  }
}
