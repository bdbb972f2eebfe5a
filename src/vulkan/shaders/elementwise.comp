#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Operations of src/kernels/ref/ops.cc on each element by itself. The second operand may be shorter
// than the first: a row of it is used again for some rows of the first, as a bias is for all. Its
// rows may be apart.
#include "memory.glsl"
#include "exact.glsl"
#include "functions.glsl"

layout(local_size_x = 256) in;
layout(push_constant) uniform Push {
  Floats a;
  Floats b;
  FloatsOut y;
  uint count;
  uint b_count;    // of a row of b …
  uint b_share;    // … which serves so many elements of a
  uint b_stride;
  float factor;    // or limit or cap
  uint operation;  // ElementOperation of kernels/elements.h
} push;

float compute(uint i) {
  const float a = push.a.at[i];
  switch (push.operation) {
    case 0u: return exp_of(a);
    case 1u: return sigmoid_of(a);
    case 2u: return silu_of(a);
    case 3u: return softplus_of(a);
    case 4u: return sqrt_softplus_of(a);
    case 5u: return mul(a, push.factor);
    case 12u: return softcap_of(a, push.factor);
  }
  const float b = push.b.at[i / push.b_share * push.b_stride + i % push.b_count];
  switch (push.operation) {
    case 6u: return add(a, b);
    case 7u: return mul(a, b);
    case 8u: return fused(a, push.factor, b);
    case 13u: return mul(a, sigmoid_of(b));
    case kSwiglu:
    case kSwigluOai:
    case kGeglu: return gate_of(push.operation, a, b, push.factor);
  }
  return NOT_A_NUMBER;
}

void main() {
  const uint step_ = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  for (uint i = gl_GlobalInvocationID.x; i < push.count; i += step_) push.y.at[i] = compute(i);
}
