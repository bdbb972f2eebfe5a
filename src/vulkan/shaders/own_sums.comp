#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// For every row, the weighted sum in fixed point of the terms that this machine has, if others have
// the rest of a token's experts. An invocation an element.
#include "memory.glsl"
#include "exact.glsl"
#include "functions.glsl"
#include "fixed.glsl"

layout(local_size_x = 256) in;
layout(push_constant) uniform Push {
  Floats terms;        // [..][width]
  Words places;        // [rows][terms_of_row + 1] rows of `terms`, then one of `more`; or kElsewhere
  Floats weights;      // [rows][terms_of_row]
  Floats more;         // [..][width], of weight one
  Floats more_scores;  // [rows], whose sigmoids are the weights of `more`
  WordsOut result;     // [rows][width] of two words
  uint rows;
  uint width;
  uint terms_of_row;
  uint has_more_scores;
} push;

const uint kElsewhere = 0xffffffffu;

void main() {
  const uint step_ = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  for (uint n = gl_GlobalInvocationID.x; n < push.rows * push.width; n += step_) {
    const uint row = n / push.width, i = n % push.width;
    const uint first = row * (push.terms_of_row + 1u);
    uvec2 sum = uvec2(0u);
    for (uint k = 0u; k < push.terms_of_row; ++k) {
      const uint place = push.places.at[first + k];
      if (place == kElsewhere) continue;
      const float weight = push.weights.at[row * push.terms_of_row + k];
      sum = fixed_add(sum, fixed_term(push.terms.at[place * push.width + i], weight));
    }
    const uint place = push.places.at[first + push.terms_of_row];
    if (place != kElsewhere) {
      float weight = 1.0;
      if (push.has_more_scores != 0u) weight = sigmoid_of(push.more_scores.at[row]);
      sum = fixed_add(sum, fixed_term(push.more.at[place * push.width + i], weight));
    }
    push.result.at[2u * n] = sum.x;
    push.result.at[2u * n + 1u] = sum.y;
  }
}
