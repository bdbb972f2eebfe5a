#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// PrepareInt8Per32Ref (src/kernels/ref/activations_ref.cc): a workgroup makes four pieces, of two
// groups of 32 each, of one row.
#include "memory.glsl"
#include "exact.glsl"
#include "prepare.glsl"

layout(local_size_x = 256) in;
shared uint largest[8];
shared int sums[8];
shared int quants[256];

void main() {
  const uint t = gl_LocalInvocationID.x, row = gl_WorkGroupID.y, group = t / 32u;
  const uint pieces = (push.columns + 63u) / 64u, piece = gl_WorkGroupID.x * 4u + t / 64u;
  if (t < 8u) {
    largest[t] = 0u;
    sums[t] = 0;
  }
  const uint column = gl_WorkGroupID.x * 256u + t;
  const Source source = source_at(row, column);
  const float factor = row_factor(row);
  barrier();
  const float value = source_value(row, column, source, factor);
  atomicMax(largest[group], BITS(value) & ~kSign);
  barrier();
  quants[t] = quant_of(value, largest[group]);
  atomicAdd(sums[group], quants[t]);
  barrier();
  if (piece >= pieces) return;
  const RowPlace at = place_of(pieces, pieces * kPer32Words, push.rows, row);
  const uint t_of_piece = t % 64u, first = t - t_of_piece;
  if (t_of_piece < 16u) {
    const uint quad = first + 4u * t_of_piece;
    push.prepared.at[at.pieces + piece * at.group_rows * kPieceWords + t_of_piece] =
        bytes_of(quants[quad], quants[quad + 1u], quants[quad + 2u], quants[quad + 3u]);
  }
  if (t_of_piece < 2u) {
    const uint g = first / 32u + t_of_piece;
    const uint word = at.words + (piece * kPer32Words + t_of_piece) * at.group_rows;
    push.prepared.at[word + kPer32Scale * at.group_rows] = BITS(scale_of(largest[g]));
    push.prepared.at[word + kPer32Start8 * at.group_rows] = uint(-8 * sums[g]);
    push.prepared.at[word + kPer32Start128 * at.group_rows] = uint(-128 * sums[g]);
  }
}
