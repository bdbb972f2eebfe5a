#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Products of float weights with one to eight rows of activations: a thread has one output for all
// of these rows, in the chains of FloatProduct (src/kernels/ref/matmul_ref.cc). F32 and F16 have one
// chain over all columns; of BF16 every 32 columns have an even and an odd one.
#include "memory.glsl"
#include "exact.glsl"
#include "conversions.glsl"
#include "rows.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 2) const uint kRows = 1;
#include "product_rows.glsl"

#define F32 0
#define F16 1
#define BF16 2

const uint kLanes = 16u;

#if WEIGHTS == BF16
const uint kStepColumns = 32u;  // a packed block, and a piece of a row
#else
const uint kStepColumns = 16u;  // a piece of a row
#endif
uint pieces() { return (push.columns + kStepColumns - 1u) / kStepColumns; }

// Column `k` of the panel's row `lane`.
float weight_at(uint panel, uint lane, uint k) {
#if WEIGHTS == F32
  return FLOAT(weights_in_use.at[(panel * push.columns + k) * kLanes + lane]);
#else
  const uint blocks = (push.columns + 1u) / 2u;
  const uint word = ((panel * blocks + k / 2u) * 2u + (k & 1u)) * (kLanes / 2u) + lane / 2u;
  return from_half(weights_in_use.at[word] >> (lane & 1u) * 16u & 0xffffu);
#endif
}

// A row is words: a column each, or of BF16 two. So many are read before the first is used.
const uint kChunk = kNativeFma ? kPieceWords : 1u;

uint load_word(uint panel, uint lane, uint word) {
#if WEIGHTS == BF16
  return weights_in_use.at[(panel * pieces() * kPieceWords + word) * kLanes + lane];
#else
  return BITS(weight_at(panel, lane, min(word, push.columns - 1u)));
#endif
}
void load_chunk(uint panel, uint lane, uint first, out uint words[kChunk]) {
  UNROLL for (uint i = 0u; i < kChunk; ++i) words[i] = load_word(panel, lane, first + i);
}

struct Chains {
  float acc;
#if WEIGHTS == BF16
  float even, odd;
#endif
};

void add_chunk(uint first, uint words[kChunk], RowPlace row, inout Chains chains) {
  const uint at = row.pieces + first / kPieceWords * row.group_rows * kPieceWords + first % kPieceWords;
  uint others[kChunk];
  UNROLL for (uint i = 0u; i < kChunk; ++i) others[i] = push.activations.at[at + i];
  UNROLL for (uint i = 0u; i < kChunk; ++i) {
#if WEIGHTS == BF16
    chains.even = fused(FLOAT(words[i] << 16), FLOAT(others[i] << 16), chains.even);
    chains.odd = fused(FLOAT(words[i] & 0xffff0000u), FLOAT(others[i] & 0xffff0000u), chains.odd);
#else
    const float sum = fused(FLOAT(words[i]), FLOAT(others[i]), chains.acc);
    if (first + i < push.columns) chains.acc = sum;
#endif
  }
#if WEIGHTS == BF16
  if ((first + kChunk) % kPieceWords != 0u) return;
  chains.acc = add(chains.acc, add(chains.even, chains.odd));
  chains.even = chains.odd = 0.0;
#endif
}

void main() {
  const uint output_ = gl_GlobalInvocationID.x;
  if (output_ >= push.outputs) return;
  if (!choose_matrix()) return;
  RowPlace rows[kRows];
  Chains chains[kRows];
  UNROLL for (uint r = 0u; r < kRows; ++r) {
    rows[r] = place_of(pieces(), 0u, push.activation_rows, row_index(r));
#if WEIGHTS == BF16
    chains[r] = Chains(0.0, 0.0, 0.0);
#else
    chains[r] = Chains(0.0);
#endif
  }
  const uint panel = output_ / kLanes, lane = output_ % kLanes, all = pieces() * kPieceWords;
  uint words[kChunk];
  load_chunk(panel, lane, 0u, words);
  for (uint first = 0u; first < all; first += kChunk) {
    uint next[kChunk];
    load_chunk(panel, lane, min(first + kChunk, all - kChunk), next);
    UNROLL for (uint r = 0u; r < kRows; ++r) add_chunk(first, words, rows[r], chains[r]);
    UNROLL for (uint i = 0u; i < kChunk; ++i) words[i] = next[i];
  }
  UNROLL for (uint r = 0u; r < kRows; ++r) {
    const uint row = result_row(r);
    if (row != kNoRow) push.result.at[row * push.out_stride + output_] = chains[r].acc;
  }
}
