#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// RmsNorm of src/kernels/ref/ops.cc: a workgroup a row.
#include "memory.glsl"
#include "exact.glsl"
const uint kTrees = 1u;
#include "lanes.glsl"
#include "row_groups.glsl"

layout(local_size_x = 128) in;
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

shared float factor;

void main() {
  const uint t = gl_LocalInvocationID.x, row = row_of_group();
  if (row >= push.rows) return;
  const uint x = row * push.x_stride, y = row * push.y_stride;
  float sum = 0.0;
  if (t < kLanes) {
    for (uint i = t; i < push.count; i += kLanes)
      sum = fused(push.x.at[x + i], push.x.at[x + i], sum);
  }
  join_lanes(0u, t % kLanes, t < kLanes, sum, false);
  if (t == 0u) {
    const float mean = divide(lanes[0][0], float(push.count));
    factor = divide(1.0, root(add(mean, push.epsilon)));
  }
  barrier();
  for (uint i = t; i < push.count; i += gl_WorkGroupSize.x) {
    float value = mul(push.x.at[x + i], factor);
    if (push.weighted != 0u) value = mul(value, push.weight.at[i]);
    push.y.at[y + i] = value;
  }
}
