#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Adds to every row the bias of its expert: an invocation an element.
#include "memory.glsl"
#include "exact.glsl"

layout(local_size_x = 256) in;
layout(push_constant) uniform Push {
  Floats biases;  // [experts][width]
  Words ids;      // [rows]
  FloatsOut y;    // [rows][width]
  uint rows;
  uint width;
} push;

void main() {
  const uint step_ = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  for (uint n = gl_GlobalInvocationID.x; n < push.rows * push.width; n += step_) {
    const uint row = n / push.width, i = n % push.width;
    push.y.at[n] = add(push.y.at[n], push.biases.at[push.ids.at[row] * push.width + i]);
  }
}
