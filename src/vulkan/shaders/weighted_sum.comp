#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// For every row, the weighted sum in fixed point of terms: the outputs of a token's experts. An
// invocation an element.
#include "memory.glsl"
#include "exact.glsl"
#include "functions.glsl"
#include "fixed.glsl"

layout(local_size_x = 256) in;
layout(push_constant) uniform Push {
  Floats terms;     // [..][width]
  Words places;     // [rows][terms_of_row] rows of `terms`; none: one after the other
  Floats weights;   // [rows][terms_of_row]
  Floats more;      // [rows][width], of weight one, or none
  Floats more_scores;  // [rows], whose sigmoids are the weights of `more`
  FloatsOut result; // [rows][width]
  uint rows;
  uint width;
  uint terms_of_row;
  uint has_places;
  uint has_more;
  uint has_more_scores;
} push;

void main() {
  const uint step_ = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  for (uint n = gl_GlobalInvocationID.x; n < push.rows * push.width; n += step_) {
    const uint row = n / push.width, i = n % push.width;
    uvec2 sum = uvec2(0u);
    for (uint k = row * push.terms_of_row; k < (row + 1u) * push.terms_of_row; ++k) {
      const uint place = push.has_places != 0u ? push.places.at[k] : k;
      const float term = push.terms.at[place * push.width + i];
      sum = fixed_add(sum, fixed_term(term, push.weights.at[k]));
    }
    if (push.has_more != 0u) {
      float weight = 1.0;
      if (push.has_more_scores != 0u) weight = sigmoid_of(push.more_scores.at[row]);
      sum = fixed_add(sum, fixed_term(push.more.at[n], weight));
    }
    push.result.at[n] = fixed_finished(sum);
  }
}
