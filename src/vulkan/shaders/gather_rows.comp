#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Rows of a table by their numbers, as floats: embeddings of tokens, or the rows that are wanted.
// The table's rows stand one after the other, as in a file.
#include "memory.glsl"
#include "exact.glsl"
#include "conversions.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 2) const uint kType = 0;  // 0 F32, 1 F16, 2 BF16
layout(push_constant) uniform Push {
  Words table;
  Words indices;     // [rows]
  FloatsOut result;  // [rows][width]
  uint rows;
  uint width;  // even, unless the type is F32
} push;

void main() {
  const uint step_ = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  for (uint n = gl_GlobalInvocationID.x; n < push.rows * push.width; n += step_) {
    const uint row = push.indices.at[n / push.width], i = n % push.width;
    if (kType == 0u) {
      push.result.at[n] = FLOAT(push.table.at[row * push.width + i]);
      continue;
    }
    const uint both = push.table.at[row * (push.width / 2u) + i / 2u];
    const uint bits = both >> (i & 1u) * 16u & 0xffffu;
    push.result.at[n] = kType == 1u ? from_half(bits) : from_bfloat16(bits);
  }
}
