#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// PrepareInt8Per256Ref (src/kernels/ref/activations_ref.cc): a workgroup makes four blocks of one row.
#include "memory.glsl"
#include "exact.glsl"
#include "prepare.glsl"

layout(local_size_x = 256) in;
const uint kBlocks = kGroupColumns / 256u;
const uint kBlockThreads = 256u / kThreadColumns;
const uint kSumThreads = 16u / kThreadColumns;
shared uint largest[kBlocks];
shared int sums[kBlocks * 16u];

void main() {
  const uint t = gl_LocalInvocationID.x, row = gl_WorkGroupID.y, own = t / kBlockThreads;
  if (t < kBlocks) largest[t] = 0u;
  if (t < kBlocks * 16u) sums[t] = 0;
  const uint column = gl_WorkGroupID.x * kGroupColumns + t * kThreadColumns;
  Source sources[kThreadColumns];
  UNROLL for (uint i = 0u; i < kThreadColumns; ++i) sources[i] = source_at(row, column + i);
  const float factor = row_factor(row);
  barrier();
  float values[kThreadColumns];
  uint magnitude = 0u;
  UNROLL for (uint i = 0u; i < kThreadColumns; ++i) {
    values[i] = source_value(row, column + i, sources[i], factor);
    magnitude = max(magnitude, BITS(values[i]) & ~kSign);
  }
  atomicMax(largest[own], magnitude);
  barrier();
  const float scaling = factor_of(largest[own]);
  int quants[kThreadColumns];
  int sum = 0;
  UNROLL for (uint i = 0u; i < kThreadColumns; ++i) {
    quants[i] = quant_of(values[i], scaling);
    sum += quants[i];
  }
  atomicAdd(sums[t / kSumThreads], sum);
  barrier();
  const uint blocks = push.columns / 256u, block = gl_WorkGroupID.x * kBlocks + own;
  if (block >= blocks) return;
  const RowPlace at = place_of(blocks * 4u, blocks * kPer256Words, push.rows, row);
  const uint in_block = t % kBlockThreads, first = own * 16u;
  push.prepared.at[at.pieces + (block * 4u + in_block / 16u) * at.group_rows * kPieceWords +
                   in_block % 16u] = bytes_of(quants[0], quants[1], quants[2], quants[3]);
  const uint word = at.words + block * kPer256Words * at.group_rows;
  if (in_block == 0u) push.prepared.at[word] = BITS(scale_of(largest[own]));
  if (in_block < 4u) {
    const uint s = first + 4u * in_block;
    push.prepared.at[word + (kPer256Sums32 + in_block) * at.group_rows] =
        pair_of(sums[s] + sums[s + 1u], sums[s + 2u] + sums[s + 3u]);
  }
  if (in_block < 8u) {
    const uint s = first + 2u * in_block;
    push.prepared.at[word + (kPer256Sums16 + in_block) * at.group_rows] =
        pair_of(sums[s], sums[s + 1u]);
  }
}
