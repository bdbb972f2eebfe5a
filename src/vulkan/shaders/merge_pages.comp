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

// For as many pages as there are invocations: their maxima and sums, and their factors for merging.
const uint kPages = 128u;
const uint kMostWords = 8u;
#define EACH_WORD(w) UNROLL for (uint w = 0u; w < kMostWords; ++w) if (w < kWords)
shared float page_most[kPages], page_sum[kPages];
shared float most_of_all;
shared float old_factors[kPages], new_factors[kPages];

Merge merge_at(uint page) { return Merge(0.0, old_factors[page], new_factors[page]); }

// The greatest of `before` and the first `count` pages. The order does not matter: none is a NaN.
float greatest_of(uint count, float before) {
  const uint kTogether = 16u;
  for (uint i = 0u; i < count; i += kTogether) {
    UNROLL for (uint j = 0u; j < kTogether; ++j) {
      const float of_page = page_most[i + j];
      if (i + j < count) before = larger(of_page, before);
    }
  }
  return before;
}

// Word w of `pages` pages' values, whose results begin at `first`; several are read before the first
// is needed, and the next ones before those are merged.
const uint kBatch = 16u;
float batch[kBatch];
void read_values(uint first, uint from_page, uint start, uint pages, uint w) {
  const uint d = min(gl_LocalInvocationID.x + w * kPages, push.value_dim - 1u);
  UNROLL for (uint i = 0u; i < kBatch; ++i)
    batch[i] = push.page_results.at[first + min(start + i, pages - 1u) * from_page + 2u + d];
}

void main() {
  const uint t = gl_LocalInvocationID.x, kv_head = gl_WorkGroupID.y, r = gl_WorkGroupID.z;
  const Block block = block_at(push.blocks, gl_WorkGroupID.x);
  if (r >= block.rows) return;
  const uint stride = 2u + push.value_stride;
  const uint from_page = gl_NumWorkGroups.y * block.rows * stride;
  uint first = result_at(block, 0u, gl_NumWorkGroups.y, kv_head, r) * stride;
  float values[kMostWords];
  EACH_WORD(w) values[w] = 0.0;
  float most = MINUS_INFINITY, sum = 0.0;
  for (uint begin = 0u; begin < block.pages; begin += kPages) {
    const uint pages = min(kPages, block.pages - begin);
    const uint at = first + min(t, pages - 1u) * from_page;
    const float most_of_page = push.page_results.at[at], sum_of_page = push.page_results.at[at + 1u];
    if (kNativeFma) read_values(first, from_page, 0u, pages, 0u);
    barrier();
    page_most[t] = most_of_page;
    page_sum[t] = sum_of_page;
    barrier();
    // A page needs only the greatest maximum of those before.
    const Merge merge = merge_of(greatest_of(min(t, pages - 1u), most), most_of_page);
    if (t == pages - 1u) most_of_all = merge.most;
    old_factors[t] = merge.old_factor;
    new_factors[t] = merge.new_factor;
    barrier();
    most = most_of_all;
    EACH_WORD(w) {
      if (kNativeFma) {
        if (w > 0u) read_values(first, from_page, 0u, pages, w);
        for (uint start = 0u; start < pages; start += kBatch) {
          float ready[kBatch];
          UNROLL for (uint i = 0u; i < kBatch; ++i) ready[i] = batch[i];
          if (start + kBatch < pages) read_values(first, from_page, start + kBatch, pages, w);
          UNROLL for (uint i = 0u; i < kBatch; ++i) {
            if (start + i < pages) {
              if (w == 0u) sum = merged_sum(sum, page_sum[start + i], merge_at(start + i));
              values[w] = merged_value(values[w], ready[i], merge_at(start + i));
            }
          }
        }
      } else {
        const uint d = min(t + w * kPages, push.value_dim - 1u);
        for (uint i = 0u; i < pages; ++i) {
          if (w == 0u) sum = merged_sum(sum, page_sum[i], merge_at(i));
          values[w] = merged_value(values[w], push.page_results.at[first + i * from_page + 2u + d],
                                   merge_at(i));
        }
      }
    }
    first += kPages * from_page;
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
