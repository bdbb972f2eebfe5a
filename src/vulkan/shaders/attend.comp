#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Attention to pages (AttendPage, Merge and Finish of src/kernels/ref/attention.cc). A workgroup has
// a block of rows of one key/value head. With kSplit it writes every page's own result, for
// merge_pages.comp; without, it merges pages as it goes, in ascending order, and finishes.
// Invocation t has position t of a page for the scores, and elements t, t + 128, … of the values.
#include "memory.glsl"
#include "exact.glsl"
#include "conversions.glsl"
#include "functions.glsl"
#include "page.glsl"
#include "attention.glsl"

layout(local_size_x = 128) in;
layout(constant_id = 2) const uint kRows = 1;  // of a block, at most 8
layout(constant_id = 3) const uint kKeyDim = 1;
layout(constant_id = 4) const uint kElements = 1;  // of the values, for an invocation
layout(constant_id = 5) const bool kSplit = false;
layout(push_constant) uniform Push {
  Words page_table;  // addresses of pages of all heads, zero where no row sees the page
  Words blocks;
  Words visible;  // [tokens][3]: what is seen ends at the first, or begins and ends at the others
  Floats queries;
  Floats sinks;      // [heads of all] logits
  FloatsOut result;  // as the queries; with kSplit results of pages
  uint heads;        // queries of a key/value head
  uint token_stride;
  uint head_stride;
  float factor;         // of queries
  uint head_page_bytes; // from one head of a page to the next
  uint has_sinks;
  uint out_token_stride;
  uint out_head_stride;
  PageShape shape;
} push;

const uint kTrees = kRows;
#include "lanes.glsl"

const uint kThreads = 128u;
shared float queries[kRows][kKeyDim];
shared float weights[kRows][kPagePositions];
shared uvec3 seen[kRows];
shared float page_most[kRows], page_sum[kRows];
shared float most[kRows], sum[kRows], old_factors[kRows], new_factors[kRows];

bool sees(uint row, uint position) {
  const uvec3 range = seen[row];
  return position < range.x || (position >= range.y && position < range.z);
}
bool sees_any(uint row, uint first) {
  const uvec3 range = seen[row];
  return first < range.x || (range.y < first + kPagePositions && range.z > max(first, range.y));
}

void load_queries(Block block, uint kv_head) {
  const uint t = gl_LocalInvocationID.x;
  for (uint n = t; n < kRows * kKeyDim; n += kThreads) {
    const uint r = n / kKeyDim, d = n % kKeyDim;
    const uint row = block.first_row + min(r, block.rows - 1u);
    const uint head = kv_head * push.heads + row % push.heads;
    const uint at = row / push.heads * push.token_stride + head * push.head_stride + d;
    const float query = mul(push.queries.at[at], push.factor);
#if KV_TYPE == KV_BF16
    queries[r][d] = from_bfloat16(to_bfloat16(query));
#else
    queries[r][d] = query;
#endif
  }
  if (t < kRows) {
    const uint token = (block.first_row + min(t, block.rows - 1u)) / push.heads;
    seen[t] = uvec3(push.visible.at[3u * token], push.visible.at[3u * token + 1u],
                    push.visible.at[3u * token + 2u]);
    most[t] = MINUS_INFINITY;
    sum[t] = 0.0;
  }
  barrier();
}

// The products of position `p`'s key with every row's query.
void make_scores(Words page, uint p) {
  float scores[kRows];
  for (uint r = 0u; r < kRows; ++r) scores[r] = 0.0;
#if KV_TYPE == KV_F16
  for (uint d = 0u; d < kKeyDim; ++d) {
    const float key = key_at(page, push.shape, p, d);
    for (uint r = 0u; r < kRows; ++r) scores[r] = fused(queries[r][d], key, scores[r]);
  }
#else
  for (uint first = 0u; first < kKeyDim; first += 32u) {
    const uint end = min(kKeyDim, first + 32u);
    float even[kRows];
#if KV_TYPE == KV_BF16
    float odd[kRows];
    for (uint r = 0u; r < kRows; ++r) even[r] = odd[r] = 0.0;
    for (uint d = first; d < end; d += 2u) {
      const float key = key_at(page, push.shape, p, d);
      for (uint r = 0u; r < kRows; ++r) even[r] = fused(queries[r][d], key, even[r]);
      if (d + 1u == end) break;
      const float next = key_at(page, push.shape, p, d + 1u);
      for (uint r = 0u; r < kRows; ++r) odd[r] = fused(queries[r][d + 1u], next, odd[r]);
    }
    for (uint r = 0u; r < kRows; ++r) scores[r] = add(scores[r], add(even[r], odd[r]));
#else
    for (uint r = 0u; r < kRows; ++r) even[r] = 0.0;
    for (uint d = first; d < end; ++d) {
      const float key = key_at(page, push.shape, p, d);
      for (uint r = 0u; r < kRows; ++r) even[r] = fused(queries[r][d], key, even[r]);
    }
    const uint at = key_scale_offset(push.shape, p, first / kQ8Group);
    const float scale = from_half(half_bits_at(page, at));
    for (uint r = 0u; r < kRows; ++r) scores[r] = fused(even[r], scale, scores[r]);
#endif
  }
#endif
  for (uint r = 0u; r < kRows; ++r) weights[r][p] = scores[r];
}

// Scores become weights; the page's maximum and sum, over sixteen lanes of a row.
void weigh(uint first_position) {
  const uint t = gl_LocalInvocationID.x, lane = t % kLanes, row = t / kLanes;
  const bool mine = row < kRows;
  float value = MINUS_INFINITY;
  if (mine) {
    for (uint p = lane; p < kPagePositions; p += kLanes)
      if (sees(row, first_position + p)) value = larger(weights[row][p], value);
  }
  join_lanes(row, lane, mine, value, true);
  if (mine && lane == 0u) page_most[row] = lanes[row][0];
  barrier();
  for (uint r = 0u; r < kRows; ++r) {
    if (!sees(r, first_position + t)) continue;
    const float base = page_most[r] == MINUS_INFINITY ? 0.0 : page_most[r];
    const float weight = exp2_of(sub(weights[r][t], base));
#if KV_TYPE == KV_BF16
    weights[r][t] = from_bfloat16(to_bfloat16(weight));
#else
    weights[r][t] = weight;
#endif
  }
  barrier();
  value = 0.0;
  if (mine) {
    for (uint p = lane; p < kPagePositions; p += kLanes)
      if (sees(row, first_position + p)) value = add(value, weights[row][p]);
  }
  join_lanes(row, lane, mine, value, false);
  if (mine && lane == 0u) page_sum[row] = lanes[row][0];
  barrier();
}

// Element `d` of every row's weighted values. What is not seen is left out: it may be anything.
void weigh_values(Words page, uint first_position, uint d, out float values[kRows]) {
  for (uint r = 0u; r < kRows; ++r) values[r] = 0.0;
#if KV_TYPE == KV_BF16
  for (uint begin = 0u; begin < kPagePositions; begin += 32u) {
    float even[kRows], odd[kRows];
    for (uint r = 0u; r < kRows; ++r) even[r] = odd[r] = 0.0;
    for (uint p = begin; p < begin + 32u; p += 2u) {
      const float value = value_at(page, push.shape, p, d);
      const float next = value_at(page, push.shape, p + 1u, d);
      for (uint r = 0u; r < kRows; ++r) {
        if (sees(r, first_position + p)) even[r] = fused(weights[r][p], value, even[r]);
        if (sees(r, first_position + p + 1u)) odd[r] = fused(weights[r][p + 1u], next, odd[r]);
      }
    }
    for (uint r = 0u; r < kRows; ++r) values[r] = add(values[r], add(even[r], odd[r]));
  }
#else
  for (uint p = 0u; p < kPagePositions; ++p) {
    const float value = value_at(page, push.shape, p, d);
#if KV_TYPE == KV_Q8
    const uint at = value_scale_offset(push.shape, p, d / kQ8Group);
    const float scale = from_half(half_bits_at(page, at));
#endif
    for (uint r = 0u; r < kRows; ++r) {
      if (!sees(r, first_position + p)) continue;
#if KV_TYPE == KV_Q8
      values[r] = fused(mul(weights[r][p], scale), value, values[r]);
#else
      values[r] = fused(weights[r][p], value, values[r]);
#endif
    }
  }
#endif
  for (uint r = 0u; r < kRows; ++r) values[r] = add(values[r], 0.0);
}

// The page's own results, those of nothing where `page_seen` is false.
void write_results(Words page, Block block, uint kv_head, uint index, bool page_seen) {
  const uint t = gl_LocalInvocationID.x;
  const uint first_position = (block.first_page + index) * kPagePositions;
  const uint stride = 2u + push.shape.value_stride;
  for (uint e = 0u; e < kElements; ++e) {
    const uint d = t + e * kThreads;
    if (d >= push.shape.value_dim) break;
    float values[kRows];
    for (uint r = 0u; r < kRows; ++r) values[r] = 0.0;
    if (page_seen) weigh_values(page, first_position, d, values);
    for (uint r = 0u; r < kRows && r < block.rows; ++r)
      push.result.at[result_at(block, index, gl_NumWorkGroups.y, kv_head, r) * stride + 2u + d] =
          values[r];
  }
  if (t < kRows && t < block.rows) {
    const uint at = result_at(block, index, gl_NumWorkGroups.y, kv_head, t) * stride;
    push.result.at[at] = page_seen ? page_most[t] : MINUS_INFINITY;
    push.result.at[at + 1u] = page_seen ? page_sum[t] : 0.0;
  }
}

void merge_results(Words page, uint first_position, inout float values[kElements][kRows]) {
  const uint t = gl_LocalInvocationID.x;
  if (t < kRows) {
    const Merge merge = merge_of(most[t], page_most[t]);
    old_factors[t] = merge.old_factor;
    new_factors[t] = merge.new_factor;
    most[t] = merge.most;
    sum[t] = merged_sum(sum[t], page_sum[t], merge);
  }
  barrier();
  for (uint e = 0u; e < kElements; ++e) {
    const uint d = t + e * kThreads;
    if (d >= push.shape.value_dim) break;
    float of_page[kRows];
    weigh_values(page, first_position, d, of_page);
    for (uint r = 0u; r < kRows; ++r)
      values[e][r] =
          merged_value(values[e][r], of_page[r], Merge(0.0, old_factors[r], new_factors[r]));
  }
}

void finish_rows(Block block, uint kv_head, float values[kElements][kRows]) {
  const uint t = gl_LocalInvocationID.x;
  for (uint r = 0u; r < kRows && r < block.rows; ++r) {
    const uint row = block.first_row + r, head = kv_head * push.heads + row % push.heads;
    const bool has_sink = push.has_sinks != 0u;
    const Finish finish = finish_of(most[r], sum[r], has_sink, has_sink ? push.sinks.at[head] : 0.0);
    const uint at = row / push.heads * push.out_token_stride + head * push.out_head_stride;
    for (uint e = 0u; e < kElements; ++e) {
      const uint d = t + e * kThreads;
      if (d < push.shape.value_dim) push.result.at[at + d] = finished(values[e][r], finish);
    }
  }
}

void main() {
  const uint kv_head = gl_WorkGroupID.y;
  const Block block = block_at(push.blocks, gl_WorkGroupID.x);
  load_queries(block, kv_head);
  float values[kElements][kRows];
  for (uint e = 0u; e < kElements; ++e)
    for (uint r = 0u; r < kRows; ++r) values[e][r] = 0.0;
  for (uint i = 0u; i < block.pages; ++i) {
    const uint first_position = (block.first_page + i) * kPagePositions;
    bool page_seen = false;
    for (uint r = 0u; r < kRows; ++r) page_seen = page_seen || sees_any(r, first_position);
    const uint entry = 2u * (block.table + i);
    uint carry;
    const uint low =
        uaddCarry(push.page_table.at[entry], kv_head * push.head_page_bytes, carry);
    Words page = Words(uvec2(low, push.page_table.at[entry + 1u] + carry));
    if (page_seen) {
      make_scores(page, gl_LocalInvocationID.x);
      barrier();
      weigh(first_position);
    }
    if (kSplit) write_results(page, block, kv_head, i, page_seen);
    else if (page_seen) merge_results(page, first_position, values);
    barrier();
  }
  if (!kSplit) finish_rows(block, kv_head, values);
}
