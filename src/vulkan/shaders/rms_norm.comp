#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// RmsNorm of src/kernels/ref/ops.cc: a workgroup a row.
#include "memory.glsl"
#include "exact.glsl"
#include "norm.glsl"
#include "row_groups.glsl"

layout(local_size_x = 256) in;
layout(push_constant) uniform Push {
  Floats x;
  FloatsOut y;
  Floats weight;  // [count]
  uint rows;
  uint count;
  uint x_stride;
  uint y_stride;
  float epsilon;
  uint weighted;
} push;

void main() {
  const uint row = row_of_group();
  if (row >= push.rows) return;
  const uint x = row * push.x_stride, y = row * push.y_stride;
  const bool weighted = push.weighted != 0u;
  const float factor = factor_of_row(push.x, x, push.count, push.epsilon);
  for (uint i = gl_LocalInvocationID.x; i < push.count; i += gl_WorkGroupSize.x)
    push.y.at[y + i] = normed(push.x.at[x + i], factor, weighted, weighted ? push.weight.at[i] : 1.0);
}
