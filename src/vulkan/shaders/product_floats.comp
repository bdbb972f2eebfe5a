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

const uint kMostRows = 8u;
const uint kLanes = 16u;
#define EACH_ROW(r) UNROLL for (uint r = 0u; r < kMostRows; ++r) if (r < kRows)

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

// Rows have a column in a word, or two of BF16.
uint load_word(uint panel, uint lane, uint word) {
#if WEIGHTS == BF16
  return weights_in_use.at[(panel * pieces() * kPieceWords + word) * kLanes + lane];
#else
  return BITS(weight_at(panel, lane, min(word, push.columns - 1u)));
#endif
}
void load_piece(uint panel, uint lane, uint first, out uint words[kPieceWords]) {
  UNROLL for (uint i = 0u; i < kPieceWords; ++i) words[i] = load_word(panel, lane, first + i);
}

struct Chains {
  float acc;
#if WEIGHTS == BF16
  float even, odd;
#endif
};

void add_word(uint index, uint word, uint other, inout Chains chains) {
#if WEIGHTS == BF16
  chains.even = fused(FLOAT(word << 16), FLOAT(other << 16), chains.even);
  chains.odd = fused(FLOAT(word & 0xffff0000u), FLOAT(other & 0xffff0000u), chains.odd);
#else
  const float sum = fused(FLOAT(word), FLOAT(other), chains.acc);
  if (index < push.columns) chains.acc = sum;
#endif
}
void end_piece(inout Chains chains) {
#if WEIGHTS == BF16
  chains.acc = add(chains.acc, add(chains.even, chains.odd));
  chains.even = chains.odd = 0.0;
#endif
}
uint word_of(RowPlace row, uint first) {
  return row.pieces + first / kPieceWords * row.group_rows * kPieceWords;
}

void main() {
  const uint output_ = gl_GlobalInvocationID.x;
  if (output_ >= push.outputs) return;
  if (!choose_matrix()) return;
  RowPlace rows[kMostRows];
  Chains chains[kMostRows];
  EACH_ROW(r) {
    rows[r] = place_of(pieces(), 0u, push.activation_rows, row_index(r));
#if WEIGHTS == BF16
    chains[r] = Chains(0.0, 0.0, 0.0);
#else
    chains[r] = Chains(0.0);
#endif
  }
  const uint panel = output_ / kLanes, lane = output_ % kLanes, all = pieces() * kPieceWords;
  if (kNativeFma) {
    // A piece's words are read before the first is used, and those of the weights a piece ahead.
    uint words[kPieceWords];
    load_piece(panel, lane, 0u, words);
    for (uint first = 0u; first < all; first += kPieceWords) {
      uint next[kPieceWords];
      load_piece(panel, lane, min(first + kPieceWords, all - kPieceWords), next);
      EACH_ROW(r) {
        uint others[kPieceWords];
        UNROLL for (uint i = 0u; i < kPieceWords; ++i)
          others[i] = push.activations.at[word_of(rows[r], first) + i];
        UNROLL for (uint i = 0u; i < kPieceWords; ++i)
          add_word(first + i, words[i], others[i], chains[r]);
        end_piece(chains[r]);
      }
      words = next;
    }
  } else {
    // An fma that is made of integers is compiled for every place that has one.
    for (uint first = 0u; first < all; first += kPieceWords) {
      for (uint i = 0u; i < kPieceWords; ++i) {
        const uint word = load_word(panel, lane, first + i);
        EACH_ROW(r)
          add_word(first + i, word, push.activations.at[word_of(rows[r], first) + i], chains[r]);
      }
      EACH_ROW(r) end_piece(chains[r]);
    }
  }
  EACH_ROW(r) {
    const uint row = result_row(r);
    if (row != kNoRow) push.result.at[row * push.out_stride + output_] = chains[r].acc;
  }
}
