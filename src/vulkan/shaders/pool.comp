#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// LatentTable::pool of src/kernels/ref/latent.cc over what write_inputs.comp has written: an
// invocation a column of a compressed row. If rows overlap, tokens before the row's own use the first
// half of their columns, its own the second.
#include "memory.glsl"
#include "exact.glsl"
#include "functions.glsl"
#include "runs.glsl"

layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
  Words page_table;
  Words rows;  // [rows][5]: first token, those before its own, tokens, entry of its page, place
  FloatsOut result;  // by place, result_stride floats apart, of [dim]
  uint dim;
  uint columns;  // of values; as many of scores
  uint result_stride;
} push;

const uint kPagePositions = 128u;

void main() {
  const uint i = gl_GlobalInvocationID.x, row = gl_WorkGroupID.y;
  if (i >= push.dim) return;
  const uint first = push.rows.at[5u * row], before = push.rows.at[5u * row + 1u];
  const uint count = push.rows.at[5u * row + 2u], table = push.rows.at[5u * row + 3u];
  float most = MINUS_INFINITY, sum = 0.0, total = 0.0;
  for (uint pass = 0u; pass < 2u; ++pass) {
    for (uint t = 0u; t < count; ++t) {
      const uint position = first + t;
      const uint page = position / kPagePositions - first / kPagePositions;
      Floats inputs = Floats(address_at(push.page_table, table + page));
      const uint half_ = push.columns > push.dim && t >= before ? push.dim : 0u;
      const uint at = position % kPagePositions * 2u * push.columns + half_ + i;
      const float score = inputs.at[at + push.columns];
      if (pass == 0u) {
        most = larger(score, most);
        continue;
      }
      const float weight = exp_of(sub(score, most));
      sum = add(sum, weight);
      total = fused(weight, inputs.at[at], total);
    }
  }
  push.result.at[push.rows.at[5u * row + 4u] * push.result_stride + i] = divide(total, sum);
}
