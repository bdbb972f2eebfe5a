#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// PrepareInt8Per32Ref (src/kernels/ref/activations_ref.cc): a workgroup makes one piece, two groups
// of 32, of one row.
#include "memory.glsl"
#include "exact.glsl"
#include "prepare.glsl"

layout(local_size_x = 64) in;
shared uint largest[2];
shared int sums[2];
shared int quants[64];

void main() {
  const uint t = gl_LocalInvocationID.x, piece = gl_WorkGroupID.x, row = gl_WorkGroupID.y;
  const uint group = t / 32u;
  if (t < 2u) {
    largest[t] = 0u;
    sums[t] = 0;
  }
  barrier();
  const uint column = piece * 64u + t;
  const float value = column < push.columns ? push.rows_in.at[row * push.stride + column] : 0.0;
  atomicMax(largest[group], BITS(value) & ~kSign);
  barrier();
  quants[t] = quant_of(value, largest[group]);
  atomicAdd(sums[group], quants[t]);
  barrier();
  const uint pieces = (push.columns + 63u) / 64u;
  const RowPlace at = place_of(pieces, pieces * kPer32Words, push.rows, row);
  if (t < 16u)
    push.prepared.at[at.pieces + piece * at.group_rows * kPieceWords + t] =
        bytes_of(quants[4u * t], quants[4u * t + 1u], quants[4u * t + 2u], quants[4u * t + 3u]);
  if (t < 2u) {
    const uint word = at.words + (piece * kPer32Words + t) * at.group_rows;
    push.prepared.at[word + kPer32Scale * at.group_rows] = BITS(scale_of(largest[t]));
    push.prepared.at[word + kPer32Start8 * at.group_rows] = uint(-8 * sums[t]);
    push.prepared.at[word + kPer32Start128 * at.group_rows] = uint(-128 * sums[t]);
  }
}
