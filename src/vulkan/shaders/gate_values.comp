#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Adds a value to a stream of a residual, weighted by how well a key fits it: KeyGate of
// src/kernels/key_gate.cc and OpsTable::add_scaled. A workgroup has a stream (x) of a row (y);
// invocation 16 * sum + lane has one lane of the squares of the stream, of those of the key, or of
// their products.
#include "memory.glsl"
#include "exact.glsl"
#include "functions.glsl"

layout(local_size_x = 256) in;
layout(push_constant) uniform Push {
  FloatsOut streams;  // [rows], stream_stride floats apart, of [count][width]
  Floats keys;        // [rows], key_stride apart, of [count][width], and the value [width]
  Floats weights;     // [count][width]
  uint width;
  uint stream_stride;
  uint key_stride;
  float epsilon;
} push;

const uint kTrees = 3u;  // sums
#include "lanes.glsl"
const uint kLeast = 0x358637bdu;  // 10^-6

float root_of_mean(float sum) { return root(add(divide(sum, float(push.width)), push.epsilon)); }

void main() {
  const uint t = gl_LocalInvocationID.x, sum = t / kLanes, lane = t % kLanes;
  const uint first = gl_WorkGroupID.x * push.width;
  const uint stream = gl_WorkGroupID.y * push.stream_stride + first;
  const uint keys = gl_WorkGroupID.y * push.key_stride;
  float total = 0.0;
  for (uint i = lane; sum < kTrees && i < push.width; i += kLanes) {
    const float key = push.keys.at[keys + first + i], x = push.streams.at[stream + i];
    const float a = sum == 1u ? key : sum == 0u ? x : mul(x, push.weights.at[first + i]);
    total = add(total, mul(a, sum == 0u ? x : key));
  }
  join_lanes(sum, lane, sum < kTrees, total, false);
  const float fit = divide(divide(divide(lanes[2][0], root_of_mean(lanes[0][0])),
                                  root_of_mean(lanes[1][0])),
                           root(float(push.width)));
  const float magnitude = abs(fit);
  const float least = magnitude < FLOAT(kLeast) ? FLOAT(kLeast) : magnitude;
  const float gate = sigmoid_of(FLOAT(BITS(root(least)) | BITS(fit) & kSign));
  const uint value = keys + gl_NumWorkGroups.x * push.width;
  for (uint i = t; i < push.width; i += gl_WorkGroupSize.x)
    push.streams.at[stream + i] = fused(push.keys.at[value + i], gate, push.streams.at[stream + i]);
}
