#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Operations on registers only, in eight chains per invocation: dot products of four bytes (BYTES),
// or multiplications and additions of 16-bit floats in pairs (HALVES), or of 32-bit floats
// (neither).
#extension GL_EXT_buffer_reference : require
#ifdef HALVES
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#endif
#ifdef BYTES
#include "dot.glsl"
#endif

layout(buffer_reference, std430, buffer_reference_align = 4) writeonly buffer Words { uint at[]; };
layout(local_size_x = 256) in;
layout(push_constant) uniform Push {
  Words to;  // [invocations]
  uint rounds;
  uint seed;
} push;

const uint kChains = 8u;

void main() {
  const uint first = push.seed + gl_GlobalInvocationID.x;
#ifdef BYTES
  int sums[kChains];
  for (uint c = 0u; c < kChains; ++c) sums[c] = int(first * (c + 1u));
  for (uint round_ = 0u; round_ < push.rounds; ++round_)
    for (uint c = 0u; c < kChains; ++c) sums[c] += dot4(uint(sums[c]), first + c);
  int all = 0;
  for (uint c = 0u; c < kChains; ++c) all ^= sums[c];
  push.to.at[gl_GlobalInvocationID.x] = uint(all);
#else
#ifdef HALVES
#define NUMBERS f16vec2
#define NUMBER float16_t
#else
#define NUMBERS vec2
#define NUMBER float
#endif
  NUMBERS sums[kChains];
  const NUMBER factor = NUMBER(0.5) + NUMBER(first & 1u) * NUMBER(0.25);
  for (uint c = 0u; c < kChains; ++c) sums[c] = NUMBERS(NUMBER(c), NUMBER(c) + factor);
  for (uint round_ = 0u; round_ < push.rounds; ++round_)
    for (uint c = 0u; c < kChains; ++c) sums[c] = fma(sums[c], NUMBERS(factor), NUMBERS(factor));
  NUMBERS all = NUMBERS(0.0);
  for (uint c = 0u; c < kChains; ++c) all += sums[c];
  push.to.at[gl_GlobalInvocationID.x] = uint(all.x + all.y);
#endif
}
