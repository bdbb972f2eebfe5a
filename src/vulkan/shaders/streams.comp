#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The streams of a residual: their weighted sum, or (kSpread) the streams mixed with each other plus
// the output of half a layer in each; CpuSumStreams and CpuSpreadStreams of
// src/compute/cpu/streams.cc. An invocation a column.
#include "memory.glsl"
#include "exact.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 2) const bool kSpread = false;
layout(push_constant) uniform Push {
  FloatsOut streams;  // [rows], stream_stride floats apart, of [count][width]
  Floats numbers;     // [rows], number_stride apart: [count] for the sum, [count] back, [count][count]
  FloatsOut half_;    // [rows], half_stride apart, of [width]: the sum, or what is spread
  uint rows;
  uint width;
  uint count;
  uint stream_stride;
  uint number_stride;
  uint half_stride;
} push;

const uint kMostStreams = 8u;

void main() {
  const uint step_ = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  for (uint n = gl_GlobalInvocationID.x; n < push.rows * push.width; n += step_) {
    const uint row = n / push.width, i = n % push.width;
    const uint first = row * push.stream_stride + i, numbers = row * push.number_stride;
    const uint at = row * push.half_stride + i;
    if (!kSpread) {
      float sum = mul(push.streams.at[first], push.numbers.at[numbers]);
      for (uint a = 1u; a < push.count; ++a)
        sum = fused(push.streams.at[first + a * push.width], push.numbers.at[numbers + a], sum);
      push.half_.at[at] = sum;
      continue;
    }
    float before[kMostStreams];
    for (uint a = 0u; a < push.count; ++a) before[a] = push.streams.at[first + a * push.width];
    for (uint b = 0u; b < push.count; ++b) {
      const uint square = numbers + 2u * push.count + b;
      float sum = mul(push.half_.at[at], push.numbers.at[numbers + push.count + b]);
      for (uint a = 0u; a < push.count; ++a)
        sum = fused(before[a], push.numbers.at[square + a * push.count], sum);
      push.streams.at[first + b * push.width] = sum;
    }
  }
}
