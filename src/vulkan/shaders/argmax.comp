#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Argmax of src/kernels/ref/ops.cc: a workgroup a row. The lowest index of equal ones; NaN is never
// chosen; 0 if nothing is above minus infinity.
#include "memory.glsl"
#include "exact.glsl"
#include "row_groups.glsl"

layout(local_size_x = 256) in;
layout(push_constant) uniform Push {
  Floats x;
  WordsOut indices;  // [rows]
  uint rows;
  uint count;
  uint stride;
} push;

const uint kThreads = 256u;
shared float best_values[kThreads];
shared uint best_indices[kThreads];

void main() {
  const uint t = gl_LocalInvocationID.x, row = row_of_group();
  if (row >= push.rows) return;
  float best = MINUS_INFINITY;
  uint index = 0u;
  for (uint i = t; i < push.count; i += kThreads) {
    const float value = flushed(push.x.at[row * push.stride + i]);
    if (value > best) {
      best = value;
      index = i;
    }
  }
  best_values[t] = best;
  best_indices[t] = index;
  for (uint half_ = kThreads / 2u; half_ > 0u; half_ /= 2u) {
    barrier();
    if (t < half_) {
      const float other = best_values[t + half_];
      const uint at = best_indices[t + half_];
      const bool found = other > MINUS_INFINITY;
      if (other > best || (found && other == best && at < index)) {
        best = other;
        index = at;
        best_values[t] = best;
        best_indices[t] = index;
      }
    }
  }
  if (t == 0u) push.indices.at[row] = index;
}
