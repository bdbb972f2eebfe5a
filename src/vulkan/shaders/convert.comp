#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Floats to and from 16 bits (ToF16, ToBf16, FromF16, FromBf16 of src/kernels/ref/ops.cc): an
// invocation has the two numbers of a word. Rows begin at whole words.
#include "memory.glsl"
#include "exact.glsl"
#include "conversions.glsl"

layout(local_size_x = 256) in;
layout(push_constant) uniform Push {
  Words x;
  WordsOut y;
  uint count;
  uint conversion;  // Conversion of kernels/elements.h
} push;

uint narrow(uint i) {
  if (i >= push.count) return 0u;
  const float x = FLOAT(push.x.at[i]);
  return push.conversion == 0u ? to_half(x) : to_bfloat16(x);
}
// A NaN becomes quiet, of halves only.
void widen(uint i, uint bits) {
  if (i >= push.count) return;
  if (push.conversion == 3u) {
    push.y.at[i] = BITS(from_bfloat16(bits));
    return;
  }
  const float x = from_half(bits);
  push.y.at[i] = BITS(x) | (is_nan(x) ? 0x400000u : 0u);
}

void main() {
  const uint step_ = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  for (uint word = gl_GlobalInvocationID.x; 2u * word < push.count; word += step_) {
    if (push.conversion < 2u) {
      push.y.at[word] = narrow(2u * word) | narrow(2u * word + 1u) << 16;
    } else {
      const uint both = push.x.at[word];
      widen(2u * word, both & 0xffffu);
      widen(2u * word + 1u, both >> 16);
    }
  }
}
