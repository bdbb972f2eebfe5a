#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// PrepareInt8Per256Ref (src/kernels/ref/activations_ref.cc): a workgroup makes one block of one row.
#include "memory.glsl"
#include "exact.glsl"
#include "prepare.glsl"

layout(local_size_x = 256) in;
shared uint largest;
shared int sums[16];
shared int quants[256];

void main() {
  const uint t = gl_LocalInvocationID.x, block = gl_WorkGroupID.x, row = gl_WorkGroupID.y;
  if (t == 0u) largest = 0u;
  if (t < 16u) sums[t] = 0;
  const uint column = block * 256u + t;
  const Source source = source_at(row, column);
  const float factor = row_factor(row);
  barrier();
  const float value = source_value(row, column, source, factor);
  atomicMax(largest, BITS(value) & ~kSign);
  barrier();
  quants[t] = quant_of(value, largest);
  atomicAdd(sums[t / 16u], quants[t]);
  barrier();
  const uint blocks = push.columns / 256u;
  const RowPlace at = place_of(blocks * 4u, blocks * kPer256Words, push.rows, row);
  if (t < 64u)
    push.prepared.at[at.pieces + (block * 4u + t / 16u) * at.group_rows * kPieceWords + t % 16u] =
        bytes_of(quants[4u * t], quants[4u * t + 1u], quants[4u * t + 2u], quants[4u * t + 3u]);
  const uint word = at.words + block * kPer256Words * at.group_rows;
  if (t == 0u) push.prepared.at[word] = BITS(scale_of(largest));
  if (t < 4u)
    push.prepared.at[word + (kPer256Sums32 + t) * at.group_rows] =
        pair_of(sums[4u * t] + sums[4u * t + 1u], sums[4u * t + 2u] + sums[4u * t + 3u]);
  if (t < 8u)
    push.prepared.at[word + (kPer256Sums16 + t) * at.group_rows] =
        pair_of(sums[2u * t], sums[2u * t + 1u]);
}
