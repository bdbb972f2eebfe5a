#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Rope of src/kernels/ref/ops.cc, in place: an invocation a pair. Angles are those of the row's
// token; the host makes them, in doubles.
#include "memory.glsl"
#include "exact.glsl"

layout(local_size_x = 256) in;
layout(push_constant) uniform Push {
  FloatsOut x;
  Floats cosines;  // [tokens][pairs]
  Floats sines;
  uint rows;
  uint rows_of_token;  // heads
  uint stride;
  uint pairs;
  uint inverse;
  uint adjacent;  // else halves
} push;

void main() {
  const uint step_ = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  for (uint n = gl_GlobalInvocationID.x; n < push.rows * push.pairs; n += step_) {
    const uint row = n / push.pairs, i = n % push.pairs;
    const uint angle = row / push.rows_of_token * push.pairs + i;
    const uint first = row * push.stride + (push.adjacent != 0u ? 2u * i : i);
    const uint second = push.adjacent != 0u ? first + 1u : first + push.pairs;
    const float cosine = push.cosines.at[angle];
    const float sine = push.inverse != 0u ? -push.sines.at[angle] : push.sines.at[angle];
    const float u = push.x.at[first], v = push.x.at[second];
    push.x.at[first] = fused(v, -sine, mul(u, cosine));
    push.x.at[second] = fused(u, sine, mul(v, cosine));
  }
}
