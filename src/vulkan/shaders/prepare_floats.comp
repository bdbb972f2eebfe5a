#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// PrepareF32Ref and PrepareBF16Ref (src/kernels/ref/activations_ref.cc): a workgroup makes four
// pieces of one row, a thread a word.
#include "memory.glsl"
#include "exact.glsl"
#include "conversions.glsl"
#include "prepare.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 2) const bool kBfloat16 = false;

float value_at(uint row, uint column) {
  const float value = push.rows_in.at[row * push.stride + min(column, push.columns - 1u)];
  return column < push.columns ? value : 0.0;
}

void main() {
  const uint word = gl_GlobalInvocationID.x, row = gl_WorkGroupID.y;
  const uint columns_of_piece = kBfloat16 ? 32u : 16u;
  const uint pieces = (push.columns + columns_of_piece - 1u) / columns_of_piece;
  if (word >= pieces * kPieceWords) return;
  const RowPlace at = place_of(pieces, 0u, push.rows, row);
  const uint to = at.pieces + word / kPieceWords * at.group_rows * kPieceWords + word % kPieceWords;
  if (kBfloat16) {
    push.prepared.at[to] =
        to_bfloat16(value_at(row, 2u * word)) | to_bfloat16(value_at(row, 2u * word + 1u)) << 16;
  } else {
    push.prepared.at[to] = BITS(value_at(row, word));
  }
}
