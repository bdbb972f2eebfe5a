#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// For every row, terms of a list of rows, each with its weight, summed in fixed point: the outputs
// of a token's experts. An invocation an element.
#include "memory.glsl"
#include "exact.glsl"
#include "fixed.glsl"

layout(local_size_x = 256) in;
layout(push_constant) uniform Push {
  Floats terms;     // [..][width]
  Words places;     // [rows][terms_of_row] rows of `terms`
  Floats weights;   // [rows][terms_of_row]
  FloatsOut result; // [rows][width]
  uint rows;
  uint width;
  uint terms_of_row;
} push;

void main() {
  const uint step_ = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  for (uint n = gl_GlobalInvocationID.x; n < push.rows * push.width; n += step_) {
    const uint row = n / push.width, i = n % push.width;
    uvec2 sum = uvec2(0u);
    for (uint k = row * push.terms_of_row; k < (row + 1u) * push.terms_of_row; ++k) {
      const float term = push.terms.at[push.places.at[k] * push.width + i];
      sum = fixed_add(sum, fixed_term(term, push.weights.at[k]));
    }
    push.result.at[n] = fixed_finished(sum);
  }
}
