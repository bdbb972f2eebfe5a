#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Hadamard of src/kernels/ref/ops.cc, in place: a workgroup a row, up to kMostHadamard elements
// (kernels/rows.h).
#include "memory.glsl"
#include "exact.glsl"
#include "row_groups.glsl"

layout(local_size_x = 128) in;
layout(push_constant) uniform Push {
  FloatsOut x;
  uint rows;
  uint stride;
  uint count;    // a power of two
  float factor;  // 1 / sqrt(count)
} push;

shared float row_values[4096];

void main() {
  const uint t = gl_LocalInvocationID.x, row = row_of_group();
  if (row >= push.rows) return;
  const uint first = row * push.stride;
  for (uint i = t; i < push.count; i += gl_WorkGroupSize.x) row_values[i] = push.x.at[first + i];
  for (uint distance_ = 1u; distance_ < push.count; distance_ *= 2u) {
    barrier();
    for (uint n = t; n < push.count / 2u; n += gl_WorkGroupSize.x) {
      const uint low = n / distance_ * 2u * distance_ + n % distance_;
      const float a = row_values[low], b = row_values[low + distance_];
      row_values[low] = add(a, b);
      row_values[low + distance_] = sub(a, b);
    }
  }
  barrier();
  for (uint i = t; i < push.count; i += gl_WorkGroupSize.x)
    push.x.at[first + i] = mul(row_values[i], push.factor);
}
