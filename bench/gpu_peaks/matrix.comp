#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Products of tiles of bytes by cooperative matrices, from registers, in eight chains per subgroup.
// tools/compile-matrix-shaders compiles it, and the result is kept beside it.
#pragma use_vulkan_memory_model
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require

layout(buffer_reference, std430, buffer_reference_align = 4) writeonly buffer Words { uint at[]; };
layout(local_size_x = 256) in;
layout(constant_id = 2) const uint kTileOutputs = 8u;
layout(constant_id = 3) const uint kTileRows = 8u;
layout(constant_id = 4) const uint kTileColumns = 8u;
layout(push_constant) uniform Push {
  Words to;  // [invocations]
  uint rounds;
  uint seed;
} push;

const uint kChains = 8u;
shared uint bytes[1024];

void main() {
  for (uint i = gl_LocalInvocationID.x; i < 1024u; i += gl_WorkGroupSize.x) bytes[i] = push.seed + i;
  barrier();
  coopmat<int8_t, gl_ScopeSubgroup, kTileOutputs, kTileColumns, gl_MatrixUseA> left;
  coopmat<int8_t, gl_ScopeSubgroup, kTileColumns, kTileRows, gl_MatrixUseB> right;
  coopMatLoad(left, bytes, 0u, kTileColumns / 4u, gl_CooperativeMatrixLayoutRowMajor);
  coopMatLoad(right, bytes, 512u, kTileColumns / 4u, gl_CooperativeMatrixLayoutColumnMajor);
  coopmat<int, gl_ScopeSubgroup, kTileOutputs, kTileRows, gl_MatrixUseAccumulator> sums[kChains];
  [[unroll]] for (uint c = 0u; c < kChains; ++c)
    sums[c] = coopmat<int, gl_ScopeSubgroup, kTileOutputs, kTileRows, gl_MatrixUseAccumulator>(int(c));
  for (uint round_ = 0u; round_ < push.rounds; ++round_)
    [[unroll]] for (uint c = 0u; c < kChains; ++c) sums[c] = coopMatMulAdd(left, right, sums[c]);
  int all = 0;
  [[unroll]] for (uint c = 0u; c < kChains; ++c)
    for (int n = 0; n < sums[c].length(); ++n) all ^= sums[c][n];
  push.to.at[gl_GlobalInvocationID.x] = uint(all);
}
