#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Copies rows with gaps between them: an invocation a word.
#include "memory.glsl"

layout(local_size_x = 256) in;
layout(push_constant) uniform Push {
  Words from;   // [rows], from_stride words apart
  WordsOut to;  // [rows], to_stride words apart
  uint rows;
  uint columns;
  uint from_stride;
  uint to_stride;
} push;

void main() {
  const uint step_ = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  for (uint n = gl_GlobalInvocationID.x; n < push.rows * push.columns; n += step_) {
    const uint row = n / push.columns, i = n % push.columns;
    push.to.at[row * push.to_stride + i] = push.from.at[row * push.from_stride + i];
  }
}
