// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Operations on rows of floats: norms, softmax, activations, RoPE, conversions, sums in fixed
// point. One table of functions per instruction set; all tables give the same bits, those of
// ref/ops.cc, which defines every formula. Must not know layers, threads or where rows come from.
// Nothing allocates or fails. Plain data: sources of one instruction set include this.
// | Reductions run in sixteen virtual lanes: element i belongs to lane i mod 16, each lane takes
// its elements in ascending order, and a fixed tree joins the lanes (i with i+8, i+4, i+2, i+1).
// | Threads that call these are in the compute float mode (base/float_mode.h). Pointers need no
// alignment. An output may be the same array as an input, but must not overlap it otherwise.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/isa.h"

namespace aster::kernels {

// Which two elements of a row RoPE turns together.
enum class RopeLayout : uint8_t {
  kAdjacent,  // 2i and 2i+1
  kHalves,    // i and i + pairs
};

// y[i] = f(x[i])
using MapFunction = void (*)(const float* x, size_t count, float* y);

struct OpsTable {
  // ref/math.h has the errors in ulp against the exact value, and the behaviour at the ends.
  MapFunction exp;
  MapFunction sigmoid;
  MapFunction silu;
  MapFunction softplus;
  MapFunction sqrt_softplus;

  // y = silu(min(gate, limit)) * clamp(up, -limit, limit); infinity is no limit.
  void (*swiglu)(const float* gate, const float* up, size_t count, float limit, float* y);
  // y = g * sigmoid(1.702 * g) * (u + 1), where g and u are gate and up within the same limits.
  void (*swiglu_oai)(const float* gate, const float* up, size_t count, float limit, float* y);

  // The same as swiglu with gelu (its tanh form) in place of silu.
  void (*geglu)(const float* gate, const float* up, size_t count, float limit, float* y);
  // y = cap * tanh(x / cap), for a finite cap above zero.
  void (*softcap)(const float* x, size_t count, float cap, float* y);

  void (*add)(const float* a, const float* b, size_t count, float* y);       // a + b
  void (*multiply)(const float* a, const float* b, size_t count, float* y);  // a * b
  void (*scale)(const float* x, size_t count, float factor, float* y);       // x * factor
  void (*add_scaled)(const float* x, size_t count, float factor, float* y);  // y += x * factor

  // For each of `rows` rows of `count`: y = x / sqrt(mean(x^2) + epsilon), times weight[count]
  // unless that is null. Heads are rows, too.
  void (*rms_norm)(const float* x, size_t x_stride, size_t rows, size_t count, const float* weight,
                   float epsilon, float* y, size_t y_stride);

  // y = e^(x - max) / sum. All zero if every x is minus infinity.
  MapFunction softmax;

  // Index of the largest element, the lowest of equal ones; NaN is never chosen. 0 if none is above
  // minus infinity. Count below 2^31.
  size_t (*argmax)(const float* x, size_t count);

  // Turns 2 * pairs elements of each row by angles given by their cosines and sines [pairs]
  // (rope.h); backwards if `inverse`. To rotate a part of a row, x points to that part.
  void (*rope)(float* x, size_t stride, size_t rows, size_t pairs, const float* cosines,
               const float* sines, RopeLayout layout, bool inverse);

  // Multiplies each row by the Hadamard matrix in Sylvester's order over sqrt(count), in place.
  // Count is a power of two up to 2^20.
  void (*hadamard)(float* x, size_t stride, size_t rows, size_t count);

  // To nearest even. NaN becomes the quiet NaN of its sign (f16), or keeps its upper bits (bf16).
  void (*to_f16)(const float* x, size_t count, uint16_t* y);
  void (*to_bf16)(const float* x, size_t count, uint16_t* y);
  void (*from_f16)(const uint16_t* x, size_t count, float* y);
  void (*from_bf16)(const uint16_t* x, size_t count, float* y);

  // Bytes with an f16 scale for every 32 (the last group may be shorter): scale = f16(max / 127),
  // quant = nearest even of x / scale within ±127. A group with a value that is not finite, or with
  // a scale too large for f16, has scale NaN and zeros.
  void (*to_q8)(const float* x, size_t count, int8_t* quants, uint16_t* scales);
  void (*from_q8)(const int8_t* quants, const uint16_t* scales, size_t count, float* y);

  // Sums whose terms may come from different machines, in any order: each term weight * y is
  // rounded once to a multiple of 2^-32 (to nearest even) and added as an integer. A term is
  // limited to ±2^18; one that is not finite makes the sum NaN. At most 63 terms.
  void (*fixed_accumulate)(int64_t* sums, const float* y, size_t count, float weight);
  void (*fixed_add)(int64_t* sums, const int64_t* more, size_t count);
  void (*fixed_finish)(const int64_t* sums, size_t count, float* y);
};

// For an instruction set that this machine has (isa_choice.h).
const OpsTable& Ops(Isa isa);

extern const OpsTable kOpsRef;
extern const OpsTable kOpsAvx2;
extern const OpsTable kOpsAvx512;
extern const OpsTable kOpsNeon;

}  // namespace aster::kernels
