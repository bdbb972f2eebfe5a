#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// PrepareInt8Per32Ref (src/kernels/ref/activations_ref.cc): a workgroup makes sixteen pieces, of two
// groups of 32 each, of one row.
#include "memory.glsl"
#include "exact.glsl"
#include "prepare.glsl"

layout(local_size_x = 256) in;
const uint kGroups = kGroupColumns / 32u;
const uint kGroupThreads = 32u / kThreadColumns;
const uint kPieceThreads = 64u / kThreadColumns;
shared uint largest[kGroups];
shared int sums[kGroups];

void main() {
  const uint t = gl_LocalInvocationID.x, row = gl_WorkGroupID.y, group = t / kGroupThreads;
  if (t < kGroups) {
    largest[t] = 0u;
    sums[t] = 0;
  }
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
  atomicMax(largest[group], magnitude);
  barrier();
  const float scaling = factor_of(largest[group]);
  int quants[kThreadColumns];
  int sum = 0;
  UNROLL for (uint i = 0u; i < kThreadColumns; ++i) {
    quants[i] = quant_of(values[i], scaling);
    sum += quants[i];
  }
  atomicAdd(sums[group], sum);
  barrier();
  const uint pieces = (push.columns + 63u) / 64u;
  const uint piece = gl_WorkGroupID.x * (kGroupColumns / 64u) + t / kPieceThreads;
  if (piece >= pieces) return;
  const RowPlace at = place_of(pieces, pieces * kPer32Words, push.rows, row);
  const uint in_piece = t % kPieceThreads;
  push.prepared.at[at.pieces + piece * at.group_rows * kPieceWords + in_piece] =
      bytes_of(quants[0], quants[1], quants[2], quants[3]);
  if (in_piece < 2u) {
    const uint g = t / kPieceThreads * 2u + in_piece;
    const uint word = at.words + (piece * kPer32Words + in_piece) * at.group_rows;
    push.prepared.at[word + kPer32Scale * at.group_rows] = BITS(scale_of(largest[g]));
    push.prepared.at[word + kPer32Start8 * at.group_rows] = uint(-8 * sums[g]);
    push.prepared.at[word + kPer32Start128 * at.group_rows] = uint(-128 * sums[g]);
  }
}
