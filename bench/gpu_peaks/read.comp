#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Reads all of a buffer once; an invocation reads sixteen bytes at a time.
#extension GL_EXT_buffer_reference : require

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Quads { uvec4 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) writeonly buffer Words { uint at[]; };
layout(local_size_x = 256) in;
layout(push_constant) uniform Push {
  Quads from;
  Words to;  // [invocations]
  uint count;  // of quads
} push;

void main() {
  const uint step_ = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  uvec4 sum = uvec4(0u);
  for (uint i = gl_GlobalInvocationID.x; i < push.count; i += step_) sum ^= push.from.at[i];
  push.to.at[gl_GlobalInvocationID.x] = sum.x ^ sum.y ^ sum.z ^ sum.w;
}
