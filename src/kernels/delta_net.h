// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The gated delta net: a short convolution along the text, and a state of fixed size, which every
// token changes and then reads. ref/delta_net.cc is the plain form of both; docs/delta-net.md has
// the formulas. Also the layout of states and their inputs in pages. Must not know models, threads
// or owners of memory. Plain data: sources of one instruction set include this.
// | Tokens are computed one after the other, so that the bits do not depend on how a text is cut;
// lanes are columns of the state. Threads are in the compute float mode (base/float_mode.h).
// Nothing allocates. Pointers need no alignment.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/isa.h"

namespace aster::kernels {

// Widths of heads are multiples of this many floats.
inline constexpr size_t kDeltaLanes = 16;
inline constexpr size_t kMaxDeltaDim = 256;
// Rows that a convolution joins.
inline constexpr size_t kMaxDeltaTaps = 8;

// y[r][c] = silu of the sum over t, ascending, of weights[t][c] * x[r + t][c].
struct DeltaConvolution {
  const float* x;  // [rows + taps - 1][x_stride]
  size_t x_stride;
  const float* weights;  // [taps][weights_stride]
  size_t weights_stride;
  size_t taps;
  size_t rows;
  size_t count;  // of columns; a multiple of 16
  float* y;      // [rows][y_stride]; not x
  size_t y_stride;
};

// Tokens of one head, in their order. For each, with the state s[k][v] before it:
//   seen[v]  = decay * (the sum over k, ascending, of key[k] * s[k][v])
//   delta[v] = (value[v] - seen[v]) * beta
//   s[k][v]  = key[k] * delta[v] + decay * s[k][v], the product on the right rounded
//   out[v]   = the sum over k, ascending, of query[k] * s[k][v]
struct DeltaRun {
  const float* queries;  // [tokens][key_stride]
  const float* keys;     // the same
  size_t key_stride;
  const float* values;  // [tokens][value_stride]
  size_t value_stride;
  const float* decays;  // [tokens][number_stride]
  const float* betas;   // the same
  size_t number_stride;
  size_t tokens;
  size_t key_dim;
  size_t value_dim;  // a multiple of 16
  float* state;      // [key_dim][value_dim], before and after
  float* out;        // [tokens][out_stride]; null: only the state is wanted
  size_t out_stride;
};

struct DeltaTable {
  void (*convolve)(const DeltaConvolution& convolution);
  void (*run)(const DeltaRun& run);
};

// For an instruction set that this machine has (isa_choice.h).
const DeltaTable& Delta(Isa isa);

extern const DeltaTable kDeltaRef;
extern const DeltaTable kDeltaAvx2;
extern const DeltaTable kDeltaAvx512;
extern const DeltaTable kDeltaNeon;

// A token's inputs to a layer's states, as a row of a page: the channels before the convolution as
// f16, then every head's decay and beta.
struct DeltaInputs {
  size_t channels;
  size_t heads;

  constexpr size_t numbers_at() const { return channels * sizeof(uint16_t); }
  constexpr size_t bytes() const { return numbers_at() + 2 * heads * sizeof(float); }
};

// A page of states has one row: the states of all heads after the page's last position. Until these
// are computed, it may have the states of an earlier position, which a mark after the row names.
inline constexpr size_t kDeltaMarkBytes = 64;

}  // namespace aster::kernels
