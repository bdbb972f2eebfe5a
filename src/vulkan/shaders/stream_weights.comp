#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// MixStreams and MergeStreams of src/kernels/stream_mix.cc, in place: an invocation a row, since
// there is little to compute.
#include "memory.glsl"
#include "exact.glsl"
#include "functions.glsl"

layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
  FloatsOut numbers;  // [rows], stride floats apart
  Floats scale;       // [3]
  Floats base;        // [numbers of a row]
  uint rows;
  uint stride;
  uint streams;
  uint iterations;
  float epsilon;
  uint is_merge;
} push;

const uint kMostStreams = 8u;
float square[kMostStreams * kMostStreams];

// A product, scaled by a common number and shifted by its own.
float shifted(uint at, uint i, uint scale) {
  return add(mul(push.numbers.at[at + i], push.scale.at[scale]), push.base.at[i]);
}

// The softmax of a row of the square: the tree of the reference's sixteen lanes, of which no more
// than the first eight have an element.
void soften(uint first) {
  float lanes[kMostStreams];
  for (uint i = 0u; i < kMostStreams; ++i)
    lanes[i] = i < push.streams ? larger(square[first + i], MINUS_INFINITY) : MINUS_INFINITY;
  for (uint half_ = kMostStreams / 2u; half_ > 0u; half_ /= 2u)
    for (uint i = 0u; i < half_; ++i) lanes[i] = larger(lanes[i], lanes[i + half_]);
  const float base = lanes[0] == MINUS_INFINITY ? 0.0 : lanes[0];
  for (uint i = 0u; i < kMostStreams; ++i) {
    lanes[i] = 0.0;
    if (i >= push.streams) continue;
    square[first + i] = exp_of(sub(square[first + i], base));
    lanes[i] = add(lanes[i], square[first + i]);
  }
  for (uint half_ = kMostStreams / 2u; half_ > 0u; half_ /= 2u)
    for (uint i = 0u; i < half_; ++i) lanes[i] = add(lanes[i], lanes[i + half_]);
  for (uint i = 0u; i < push.streams; ++i)
    square[first + i] = lanes[0] == 0.0 ? 0.0 : divide(square[first + i], lanes[0]);
}

// A row (step 1) or a column (step n) of the square, divided by its sum and a little more.
void normalise(uint first, uint step_) {
  float sum = 0.0;
  for (uint i = 0u; i < push.streams; ++i) sum = add(sum, square[first + i * step_]);
  sum = add(sum, push.epsilon);
  for (uint i = 0u; i < push.streams; ++i)
    square[first + i * step_] = divide(square[first + i * step_], sum);
}

void main() {
  const uint row = gl_GlobalInvocationID.x, n = push.streams;
  if (row >= push.rows) return;
  const uint at = row * push.stride;
  for (uint i = 0u; i < n; ++i)
    push.numbers.at[at + i] = add(sigmoid_of(shifted(at, i, 0u)), push.epsilon);
  if (push.is_merge != 0u) return;
  for (uint i = n; i < 2u * n; ++i)
    push.numbers.at[at + i] = mul(2.0, add(sigmoid_of(shifted(at, i, 1u)), 0.0));
  for (uint i = 0u; i < n * n; ++i) square[i] = shifted(at, 2u * n + i, 2u);
  for (uint a = 0u; a < n; ++a) soften(a * n);
  for (uint i = 0u; i < n * n; ++i) square[i] = add(square[i], push.epsilon);
  // Columns, then rows and columns again: pass 2k is one over columns, the others over rows.
  for (uint pass = 0u; pass + 1u < 2u * max(push.iterations, 1u); ++pass)
    for (uint i = 0u; i < n; ++i) {
      const bool columns = (pass & 1u) == 0u;
      normalise(columns ? i : i * n, columns ? n : 1u);
    }
  for (uint i = 0u; i < n * n; ++i) push.numbers.at[at + 2u * n + i] = square[i];
}
