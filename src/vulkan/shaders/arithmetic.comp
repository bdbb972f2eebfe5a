#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// One operation on every element of three lists, for the first part of the self-check.
#include "memory.glsl"
#include "exact.glsl"
#include "conversions.glsl"

layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
  Words a;
  Words b;
  Words c;
  WordsOut result;
  uint count;
  uint operation;
} push;

uint compute(uint a, uint b, uint c) {
  const float x = FLOAT(a), y = FLOAT(b), z = FLOAT(c);
  switch (push.operation) {
    case 0u: return BITS(add(x, y));
    case 1u: return BITS(sub(x, y));
    case 2u: return BITS(mul(x, y));
    case 3u: return BITS(fused(x, y, z));
    case 4u: return BITS(divide(x, y));
    case 5u: return BITS(root(x));
    case 6u: return BITS(larger(x, y));
    case 7u: return BITS(float(int(a)));
    case 8u: return BITS(from_half(a & 0xffffu));
    case 9u: return to_half(x);
    case 10u: return to_bfloat16(x);
  }
  return 0u;
}

void main() {
  const uint i = gl_GlobalInvocationID.x;
  if (i < push.count) push.result.at[i] = compute(push.a.at[i], push.b.at[i], push.c.at[i]);
}
