#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Merges results of pages, in ascending order, and finishes (MergePages and Finish of
// src/kernels/ref/attention.cc): a workgroup a row of a block, an invocation an element.
#include "memory.glsl"
#include "exact.glsl"
#include "functions.glsl"
#include "attention.glsl"

layout(local_size_x = 128) in;
layout(push_constant) uniform Push {
  Words blocks;  // each with all of its pages
  Floats page_results;
  Floats sinks;  // [heads of all] logits
  FloatsOut result;
  uint heads;  // queries of a key/value head
  uint value_dim;
  uint value_stride;
  uint has_sinks;
  uint out_token_stride;
  uint out_head_stride;
} push;

void main() {
  const uint kv_head = gl_WorkGroupID.y, r = gl_WorkGroupID.z;
  const Block block = block_at(push.blocks, gl_WorkGroupID.x);
  if (r >= block.rows) return;
  const uint row = block.first_row + r, head = kv_head * push.heads + row % push.heads;
  const bool has_sink = push.has_sinks != 0u;
  const uint out_at = row / push.heads * push.out_token_stride + head * push.out_head_stride;
  for (uint d = gl_LocalInvocationID.x; d < push.value_dim; d += gl_WorkGroupSize.x) {
    float most = MINUS_INFINITY, sum = 0.0, value = 0.0;
    for (uint i = 0u; i < block.pages; ++i) {
      const uint at = result_at(block, i, gl_NumWorkGroups.y, kv_head, r) * (2u + push.value_stride);
      const Merge merge = merge_of(most, push.page_results.at[at]);
      most = merge.most;
      sum = merged_sum(sum, push.page_results.at[at + 1u], merge);
      value = merged_value(value, push.page_results.at[at + 2u + d], merge);
    }
    const Finish finish = finish_of(most, sum, has_sink, has_sink ? push.sinks.at[head] : 0.0);
    push.result.at[out_at + d] = finished(value, finish);
  }
}
