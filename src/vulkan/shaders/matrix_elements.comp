#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Which elements of a tile an invocation of one subgroup has: of each, the output and the row.
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#include "memory.glsl"

layout(local_size_x_id = 5) in;
layout(constant_id = 2) const uint kTileOutputs = 8u;
layout(constant_id = 3) const uint kTileRows = 8u;
layout(constant_id = 4) const uint kTileColumns = 8u;
const uint kElements = 8u;
layout(push_constant) uniform Push {
  WordsOut to;  // [invocations][elements] of output and row, 16 bits each
} push;
shared int numbers[16];
#include "matrix.glsl"

void main() {
  const uint invocation = gl_LocalInvocationID.x;
  if (invocation == 0u) {
    for (int i = 0; i < 16; ++i) numbers[i] = i;
  }
  barrier();
  INTS outputs, rows;
  SPREAD_OUTPUTS(outputs, numbers, 0u);
  SPREAD_ROWS(rows, numbers, 0u);
  EACH for (uint n = 0u; n < kElements; ++n)
    push.to.at[invocation * kElements + n] = uint(ELEMENT(outputs, n) | ELEMENT(rows, n) << 16);
}
