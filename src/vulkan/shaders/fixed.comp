#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Sums in fixed point, step by step: an invocation an element.
#include "memory.glsl"
#include "exact.glsl"
#include "fixed.glsl"

layout(local_size_x = 256) in;
layout(push_constant) uniform Push {
  WordsOut sums;  // [count] of two words
  Words terms;    // floats, or sums to add
  FloatsOut result;
  uint count;
  float weight;
  uint operation;  // 0 accumulate, 1 add, 2 finish
} push;

void main() {
  const uint step_ = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  for (uint i = gl_GlobalInvocationID.x; i < push.count; i += step_) {
    const uvec2 sum = uvec2(push.sums.at[2u * i], push.sums.at[2u * i + 1u]);
    if (push.operation == 2u) {
      push.result.at[i] = fixed_finished(sum);
      continue;
    }
    const uvec2 term = push.operation == 0u
                           ? fixed_term(FLOAT(push.terms.at[i]), push.weight)
                           : uvec2(push.terms.at[2u * i], push.terms.at[2u * i + 1u]);
    const uvec2 more = fixed_add(sum, term);
    push.sums.at[2u * i] = more.x;
    push.sums.at[2u * i + 1u] = more.y;
  }
}
