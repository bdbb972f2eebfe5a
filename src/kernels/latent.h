// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Attention over rows that are both keys and values, listed one by one, as DeepSeek V4 does with
// its window and its compressed rows. Also how these rows are written in few bits, compressed, and
// ranked by an index. ref/latent.cc is the plain form of every function; docs/deepseek-v4.md has
// the formulas. Must not know models, positions, threads or owners of memory. Plain data: sources
// of one instruction set include this.
// | Lanes are heads or elements of a row here, never terms of one sum. Threads are in the compute
// float mode (base/float_mode.h). Nothing allocates.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/isa.h"

namespace aster::kernels {

// Widths below are multiples of this many floats.
inline constexpr int kLatentLanes = 16;
// No row is longer.
inline constexpr int kMaxLatentDim = 1024;
// Rows of a block, whose weights are computed together. Blocks are merged in ascending order.
inline constexpr int kLatentBlock = 128;
// Terms of a sum in fixed point (ops.h).
inline constexpr uint32_t kMaxTerms = 63;

enum class LatentRows : uint8_t {
  kF16,  // f16
  // The part without RoPE in bytes of 8-bit floats (e4m3) with an exponent for each 64; the part
  // with RoPE after it in f16.
  kF8,
  kF4,  // four-bit floats (e2m1) with an exponent for each 32, for all elements
  // DeepSeek V4.1's, also for all elements: bytes with an exponent for each 32, and four-bit floats
  // with a scale for each 16, an 8-bit float itself.
  kF8Fine,
  kF4Scaled,
};

inline constexpr int kF8Group = 64;
inline constexpr int kF8FineGroup = 32;
inline constexpr int kF4Group = 32;
inline constexpr int kF4ScaledGroup = 16;

struct LatentFormat {
  LatentRows type;
  int32_t dim;        // elements; a multiple of 16, for kF4 and kF4Scaled of 32
  int32_t unrotated;  // elements before those with RoPE; a multiple of 16
};

size_t LatentRowBytes(const LatentFormat& format);

// Writes a row in the format: every value is rounded to the nearest that it can hold, ties to even;
// exponents are the smallest that fit the largest value of a group. A group with a value that is
// not finite becomes NaN.
void EncodeLatentRow(const LatentFormat& format, const float* values, uint8_t* row);

// c[m][n] = the sum over k, ascending, of a[m * a_row + k * a_step] * b[k * b_row + n].
struct LatentProduct {
  const float* a;
  size_t a_row;
  size_t a_step;
  const float* b;
  size_t b_row;
  float* c;
  size_t c_row;
  size_t rows;     // m
  size_t depth;    // k
  size_t columns;  // n; a multiple of 16
};

// Results of heads over the blocks so far.
struct LatentState {
  float* max;     // [heads], of scores in units of log 2
  float* sum;     // [heads]
  float* values;  // [heads][dim]
};

// The results of one block of rows, to be merged.
struct LatentBlock {
  const float* max;     // [heads]
  const float* sum;     // [heads]
  const float* values;  // [heads][dim]
  size_t heads;         // heads that are there, from the first
  size_t dim;
};

struct LatentTable {
  // Rows to floats, `out_row` floats apart.
  void (*decode)(const LatentFormat& format, const uint8_t* const* rows, size_t count, float* out,
                 size_t out_row);

  void (*multiply)(const LatentProduct& product);

  // Turns scores [rows][heads] into weights 2^(score - max); max and sum over the rows of each
  // head, ascending. Heads are a multiple of 16.
  void (*weigh)(float* scores, size_t rows, size_t heads, float* max, float* sum);

  // Merges a block into the state.
  void (*merge)(const LatentBlock& block, const LatentState& state);

  // out = values / sum, [heads][dim]; sinks[heads] are logits of a further weight per head, which
  // counts in the sum only.
  void (*finish)(const LatentState& state, const float* sinks, size_t heads, size_t dim,
                 float* out);

  // out[i] = the mean of values[t][i] over `count` rows t, weighted by e^(scores[t][i] - the
  // largest of them). Count is at least 1, width a multiple of 16.
  void (*pool)(const float* const* values, const float* const* scores, size_t count, size_t width,
               float* out);

  // out[r] = the sum over heads h of max(products[r][h], 0) * weights[h], in sixteen lanes. Heads
  // are a multiple of 16.
  void (*rank)(const float* products, size_t rows, size_t heads, const float* weights, float* out);
};

// For an instruction set that this machine has (isa_choice.h).
const LatentTable& Latent(Isa isa);

extern const LatentTable kLatentRef;
extern const LatentTable kLatentAvx2;
extern const LatentTable kLatentAvx512;
extern const LatentTable kLatentNeon;

// The indices of the `wanted` largest of `count` scores, ascending. Of equal ones the lowest index
// comes first; NaN ranks with minus infinity. `order` is scratch for `count` numbers.
void SelectLargest(const float* scores, size_t count, size_t wanted, uint32_t* order,
                   uint32_t* chosen);

}  // namespace aster::kernels
