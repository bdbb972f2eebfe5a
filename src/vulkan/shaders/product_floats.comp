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

void add_step(uint panel, uint lane, uint step_, RowPlace rows[kRows], inout float acc[kRows]) {
#if WEIGHTS == BF16
  float even[kRows], odd[kRows];
  for (uint r = 0u; r < kRows; ++r) even[r] = odd[r] = 0.0;
  for (uint i = 0u; i < 16u; ++i) {
    const uint pair = weights_in_use.at[((panel * pieces() + step_) * 16u + i) * kLanes + lane];
    const float first = FLOAT(pair << 16), second = FLOAT(pair & 0xffff0000u);
    for (uint r = 0u; r < kRows; ++r) {
      const uint at = rows[r].pieces + step_ * rows[r].group_rows * kPieceWords + i;
      const uint other = push.activations.at[at];
      even[r] = fused(first, FLOAT(other << 16), even[r]);
      odd[r] = fused(second, FLOAT(other & 0xffff0000u), odd[r]);
    }
  }
  for (uint r = 0u; r < kRows; ++r) acc[r] = add(acc[r], add(even[r], odd[r]));
#else
  const uint first = step_ * kStepColumns;
  for (uint k = first; k < min(first + kStepColumns, push.columns); ++k) {
    const float weight = weight_at(panel, lane, k);
    for (uint r = 0u; r < kRows; ++r) {
      const uint at = rows[r].pieces + step_ * rows[r].group_rows * kPieceWords + (k - first);
      acc[r] = fused(weight, FLOAT(push.activations.at[at]), acc[r]);
    }
  }
#endif
}

void main() {
  const uint output_ = gl_GlobalInvocationID.x;
  if (output_ >= push.outputs) return;
  if (!choose_matrix()) return;
  RowPlace rows[kRows];
  float acc[kRows];
  for (uint r = 0u; r < kRows; ++r) {
    rows[r] = place_of(pieces(), 0u, push.activation_rows, row_index(r));
    acc[r] = 0.0;
  }
  for (uint i = 0u; i < pieces(); ++i) add_step(output_ / kLanes, output_ % kLanes, i, rows, acc);
  for (uint r = 0u; r < kRows; ++r) {
    const uint row = result_row(r);
    if (row != kNoRow) push.result.at[row * push.out_stride + output_] = acc[r];
  }
}
