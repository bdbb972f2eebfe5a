#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Merges results of pages, in ascending order, and finishes (MergePages and Finish of
// src/kernels/ref/attention.cc): a workgroup a row of a block, an invocation some of its elements.
#include "memory.glsl"
#include "exact.glsl"
#include "functions.glsl"
#include "attention.glsl"

layout(local_size_x = 128) in;
layout(constant_id = 2) const uint kWords = 1;  // of a row of values, for an invocation
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

// Of as many pages as there are invocations: what they have, and how they count beside those before.
const uint kPages = 128u;
const uint kMostWords = 8u;
#define EACH_WORD(w) UNROLL for (uint w = 0u; w < kMostWords; ++w) if (w < kWords)
shared float page_most[kPages], page_sum[kPages];
shared float most_before[kPages + 1u];
shared float old_factors[kPages], new_factors[kPages];

Merge merge_at(uint page) { return Merge(0.0, old_factors[page], new_factors[page]); }

void main() {
  const uint t = gl_LocalInvocationID.x, kv_head = gl_WorkGroupID.y, r = gl_WorkGroupID.z;
  const Block block = block_at(push.blocks, gl_WorkGroupID.x);
  if (r >= block.rows) return;
  const uint stride = 2u + push.value_stride;
  const uint first = result_at(block, 0u, gl_NumWorkGroups.y, kv_head, r) * stride;
  const uint from_page = gl_NumWorkGroups.y * block.rows * stride;
  float values[kMostWords];
  EACH_WORD(w) values[w] = 0.0;
  float most = MINUS_INFINITY, sum = 0.0;
  for (uint begin = 0u; begin < block.pages; begin += kPages) {
    const uint pages = min(kPages, block.pages - begin);
    barrier();
    if (t < pages) {
      page_most[t] = push.page_results.at[first + (begin + t) * from_page];
      page_sum[t] = push.page_results.at[first + (begin + t) * from_page + 1u];
    }
    barrier();
    // The greatest so far is all that a page has to know of those before.
    if (t == 0u) {
      for (uint i = 0u; i < pages; ++i) {
        most_before[i] = most;
        most = larger(page_most[i], most);
      }
      most_before[pages] = most;
    }
    barrier();
    most = most_before[pages];
    if (t < pages) {
      const Merge merge = merge_of(most_before[t], page_most[t]);
      old_factors[t] = merge.old_factor;
      new_factors[t] = merge.new_factor;
    }
    barrier();
    for (uint i = 0u; i < pages; ++i)
      sum = merged_sum(sum, page_sum[i], merge_at(i));
    EACH_WORD(w) {
      const uint d = min(t + w * kPages, push.value_dim - 1u);
      // Several are read before the first is needed.
      const uint kBatch = 16u;
      uint start = 0u;
      if (kNativeFma) {
        for (; start + kBatch <= pages; start += kBatch) {
          float batch[kBatch];
          UNROLL for (uint i = 0u; i < kBatch; ++i)
            batch[i] = push.page_results.at[first + (begin + start + i) * from_page + 2u + d];
          UNROLL for (uint i = 0u; i < kBatch; ++i)
            values[w] = merged_value(values[w], batch[i], merge_at(start + i));
        }
      }
      for (; start < pages; ++start) {
        const float value = push.page_results.at[first + (begin + start) * from_page + 2u + d];
        values[w] = merged_value(values[w], value, merge_at(start));
      }
    }
  }
  const uint row = block.first_row + r, head = kv_head * push.heads + row % push.heads;
  const bool has_sink = push.has_sinks != 0u;
  const Finish finish = finish_of(most, sum, has_sink, has_sink ? push.sinks.at[head] : 0.0);
  const uint at = row / push.heads * push.out_token_stride + head * push.out_head_stride;
  EACH_WORD(w) {
    const uint d = t + w * kPages;
    if (d < push.value_dim) push.result.at[at + d] = finished(values[w], finish);
  }
}
