#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Packed rows as floats (LatentTable::decode of src/kernels/latent.h): an invocation an element.
#include "memory.glsl"
#include "exact.glsl"
#include "conversions.glsl"
#include "latent.glsl"

layout(local_size_x = 256) in;
layout(push_constant) uniform Push {
  Words packed;  // [rows][row_words]
  FloatsOut y;   // [rows], stride floats apart
  uint rows;
  uint row_words;
  uint stride;
  LatentShape shape;
} push;

void main() {
  const uint step_ = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  for (uint n = gl_GlobalInvocationID.x; n < push.rows * push.shape.dim; n += step_) {
    const uint row = n / push.shape.dim, d = n % push.shape.dim;
    push.y.at[row * push.stride + d] =
        element_at(push.packed, 4u * row * push.row_words, push.shape, d);
  }
}
