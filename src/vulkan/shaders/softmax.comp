#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Softmax of src/kernels/ref/ops.cc: a workgroup a row. Powers are computed twice, so that no
// invocation reads what another has written to memory.
#include "memory.glsl"
#include "exact.glsl"
#include "functions.glsl"
const uint kTrees = 1u;
#include "lanes.glsl"
#include "row_groups.glsl"

layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
  Floats x;
  FloatsOut y;
  uint rows;
  uint count;
  uint stride;
} push;

void main() {
  const uint t = gl_LocalInvocationID.x, row = row_of_group();
  if (row >= push.rows) return;
  const uint first = row * push.stride;
  float most = MINUS_INFINITY;
  if (t < kLanes) {
    for (uint i = t; i < push.count; i += kLanes) most = larger(push.x.at[first + i], most);
  }
  join_lanes(0u, t % kLanes, t < kLanes, most, true);
  const float base = lanes[0][0] == MINUS_INFINITY ? 0.0 : lanes[0][0];
  float sum = 0.0;
  if (t < kLanes) {
    for (uint i = t; i < push.count; i += kLanes)
      sum = add(sum, exp_of(sub(push.x.at[first + i], base)));
  }
  join_lanes(0u, t % kLanes, t < kLanes, sum, false);
  const float all = lanes[0][0];
  for (uint i = t; i < push.count; i += gl_WorkGroupSize.x)
    push.y.at[first + i] =
        all == 0.0 ? 0.0 : divide(exp_of(sub(push.x.at[first + i], base)), all);
}
