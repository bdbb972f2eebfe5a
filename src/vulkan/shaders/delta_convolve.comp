#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The short convolution before a gated delta net (Convolve of src/kernels/ref/delta_net.cc), of rows
// in pages: of the batch's tokens, and of those before them whose states are not known any more. A
// workgroup has some channels of a token (y) of a course (z).
#include "memory.glsl"
#include "exact.glsl"
#include "conversions.glsl"
#include "functions.glsl"
#include "runs.glsl"
#include "states.glsl"

layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
  Words courses;
  Words table;
  Words hashes;
  Floats weights;    // [taps][channels], of the oldest row first
  FloatsOut keys;    // [slots][key_channels]: queries and keys
  FloatsOut values;  // [slots][channels - key_channels]
  uint channels;
  uint key_channels;
  uint taps;
  uint row_words;
  uint mark_word;
} push;

shared uint start;

void main() {
  const Course course = course_at(push.courses, gl_WorkGroupID.z);
  const uint channel = gl_GlobalInvocationID.x, position = course.page_begin + gl_WorkGroupID.y;
  if (gl_LocalInvocationID.x == 0u)
    start = start_of(course, push.table, push.hashes, push.mark_word);
  barrier();
  if (channel >= push.channels || position < start || position >= course.end) return;
  float sum = 0.0;
  for (uint t = 0u; t < push.taps; ++t) {
    float x = 0.0;  // before the text
    if (position + t + 1u >= push.taps) {
      const uint at = position + t + 1u - push.taps;
      const uint page = at / kPagePositions + 1u - course.page_begin / kPagePositions;
      Words row = Words(address_at(push.table, course.inputs + page));
      const uint word = row.at[at % kPagePositions * push.row_words + channel / 2u];
      x = from_half(word >> 16u * (channel & 1u) & 0xffffu);
    }
    sum = fused(push.weights.at[t * push.channels + channel], x, sum);
  }
  const uint slot = course.first_slot + gl_WorkGroupID.y;
  const float y = silu_of(sum);
  if (channel < push.key_channels) {
    push.keys.at[slot * push.key_channels + channel] = y;
  } else {
    push.values.at[slot * (push.channels - push.key_channels) + channel - push.key_channels] = y;
  }
}
