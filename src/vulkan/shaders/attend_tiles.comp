#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Attention of many rows to pages of F16 (AttendPage, Merge and Finish of src/kernels/ref/attention.cc),
// for prefill: the same as attend.comp, with what a device does best, products of tiles in registers. A
// workgroup has 32 rows of one key/value head. An invocation has four of them, and of a page's scores
// eight positions each, of its values some elements each. Keys and values come through shared memory
// in steps: while one is multiplied, the words of the next are on their way.
//
// Keys and values are multiples of 2^-24. Products with queries that are zero or at least 2^-78, and
// all of their sums, are multiples of 2^-126 then, and no denormals: nothing has to be flushed. The
// same holds for weights and values.
#include "memory.glsl"
#include "exact.glsl"
#include "conversions.glsl"
#include "functions.glsl"
#define KV_TYPE 0
#include "page.glsl"
#include "attention.glsl"

layout(local_size_x = 128) in;
layout(constant_id = 2) const uint kKeyDim = 1;
layout(constant_id = 3) const uint kParts = 1;  // of 64 elements of a row of values, up to four
layout(constant_id = 4) const bool kSplit = false;
#include "attend_push.glsl"

#ifdef EMULATED  // an fma that is made of integers is compiled for every place that has one
#undef UNROLL
#define UNROLL [[dont_unroll]]
#endif

const uint kThreads = 128u;
const uint kRows = 32u;
const uint kRowGroups = kRows / 4u;
const uint kColumns = kThreads / kRowGroups;  // invocations that share rows
const uint kLanes = 16u;
const float kLeastUnflushed = 3.308722450212111e-24;  // 2^-78

// A step of keys: so many dimensions of all positions. A step of values: as many positions as fit.
const uint kKeyStep = 16u;
const uint kKeyStride = kPagePositions / 4u + 1u;  // vectors
const uint kValueStep = kParts == 1u ? 32u : kParts == 2u ? 16u : 8u;
const uint kValueStride = kParts * 16u + 1u;
const uint kWeightStride = kRowGroups + 1u;
#define EACH_ROW(r) UNROLL for (uint r = 0u; r < 4u; ++r)
#define EACH_PART(v) UNROLL for (uint v = 0u; v < 4u; ++v) if (v < kParts)

shared vec4 stage[544];                              // of a step, or lanes of all rows
shared vec4 queries[kKeyStep * kRowGroups];          // of a step: [dimension][rows]
shared vec4 weights[kPagePositions * kWeightStride];  // [position][rows]; scores before
shared uint query_at[kRows];
shared uvec3 seen[kRows];
shared float page_most[kRows], page_sum[kRows];
shared float most[kRows], sum[kRows], old_factors[kRows], new_factors[kRows];
// Set by who finds a small or infinite number: true where they have the number of the page or step.
shared uint small_queries, small_weights, infinite_values;

uint row_group() { return gl_LocalInvocationID.x / kColumns; }
uint column() { return gl_LocalInvocationID.x % kColumns; }
bool is_small(float x) { return kFlush && x != 0.0 && abs(x) < kLeastUnflushed; }

bool sees(uvec3 range, uint position) {
  return position < range.x || (position >= range.y && position < range.z);
}

// What rows see of a page.
struct Sight {
  bool any;
  bool all;   // every row sees every position
  uint end;   // no row sees a position from here on
};
Sight sight_of(uint first) {
  Sight sight = Sight(false, true, 0u);
  for (uint r = 0u; r < kRows; ++r) {
    const uvec3 range = seen[r];
    const uint last = first + kPagePositions;
    sight.any = sight.any || first < range.x || (range.y < last && range.z > max(first, range.y));
    sight.all = sight.all && (range.x >= last || (range.y <= first && range.z >= last));
    sight.end = max(sight.end, max(range.x, range.z));
  }
  sight.end = min(max(sight.end, first) - first, kPagePositions);
  return sight;
}

// --- Steps.

uvec4 words_ahead[2];
vec4 queries_ahead;

// Word vector `n` of a step of keys: eight positions of a dimension.
uint key_block(uint n) { return n / (2u * kKeyStep); }
uint key_dimension(uint n) { return n % (2u * kKeyStep) / 2u; }

void request_keys(Vectors page, uint first) {
  UNROLL for (uint i = 0u; i < 2u; ++i) {
    const uint n = gl_LocalInvocationID.x + i * kThreads;
    const uint d = min(first + key_dimension(n), kKeyDim - 1u);
    words_ahead[i] =
        page.at[key_block(n) * (push.shape.key_block_bytes / 16u) + 2u * d + (n & 1u)];
  }
  const uint d = min(first + gl_LocalInvocationID.x % kKeyStep, kKeyDim - 1u);
  const uint group = gl_LocalInvocationID.x / kKeyStep;
  EACH_ROW(r) queries_ahead[r] = push.queries.at[query_at[4u * group + r] + d];
}

vec4 from_halves(uvec2 words) {
  return vec4(from_half(words.x & 0xffffu), from_half(words.x >> 16), from_half(words.y & 0xffffu),
              from_half(words.y >> 16));
}

// Zeros beyond the last dimension.
void store_keys(uint first) {
  UNROLL for (uint i = 0u; i < 2u; ++i) {
    const uint n = gl_LocalInvocationID.x + i * kThreads, d = key_dimension(n);
    const bool is_key = first + d < kKeyDim;
    const uint at = d * kKeyStride + key_block(n) * 4u + (n & 1u) * 2u;
    stage[at] = is_key ? from_halves(words_ahead[i].xy) : vec4(0.0);
    stage[at + 1u] = is_key ? from_halves(words_ahead[i].zw) : vec4(0.0);
  }
  const uint d = gl_LocalInvocationID.x % kKeyStep, group = gl_LocalInvocationID.x / kKeyStep;
  vec4 rows;
  EACH_ROW(r) rows[r] = first + d < kKeyDim ? mul(queries_ahead[r], push.factor) : 0.0;
  queries[d * kRowGroups + group] = rows;
}

// Word vectors of a row of values, of eight elements.
uint value_vectors() { return push.shape.value_stride / 8u; }

void request_values(Vectors page, uint first) {
  UNROLL for (uint i = 0u; i < 2u; ++i) {
    const uint n = gl_LocalInvocationID.x + i * kThreads;
    const uint last = kPagePositions * value_vectors() - 1u;
    words_ahead[i] =
        page.at[push.shape.values_offset / 16u + min(first * value_vectors() + n, last)];
  }
}

// Whether one of two halves is infinite or NaN.
bool has_infinite(uint word) {
  return (word & 0x7c00u) == 0x7c00u || (word & 0x7c000000u) == 0x7c000000u;
}

// `mark` names the step where a value is not finite.
void store_values(uint mark) {
  UNROLL for (uint i = 0u; i < 2u; ++i) {
    const uint n = gl_LocalInvocationID.x + i * kThreads;
    const uint p = n / value_vectors(), vector = n % value_vectors();
    if (p >= kValueStep) continue;
    const uvec4 words = words_ahead[i];
    if (has_infinite(words.x) || has_infinite(words.y) || has_infinite(words.z) ||
        has_infinite(words.w))
      infinite_values = mark;
    stage[p * kValueStride + 2u * vector] = from_halves(words.xy);
    stage[p * kValueStride + 2u * vector + 1u] = from_halves(words.zw);
  }
}

// --- Scores.

vec4 fused_all(float a, vec4 b, vec4 c) {
  return vec4(fused_unflushed(a, b.x, c.x), fused_unflushed(a, b.y, c.y),
              fused_unflushed(a, b.z, c.z), fused_unflushed(a, b.w, c.w));
}
vec4 fused_all_normal(float a, vec4 b, vec4 c) {
  return vec4(fused_normal(a, b.x, c.x), fused_normal(a, b.y, c.y), fused_normal(a, b.z, c.z),
              fused_normal(a, b.w, c.w));
}

// Positions 4 * column() and 64 behind it, for four rows.
void make_scores(Vectors page) {
  const uint group = row_group(), c = column();
  vec4 near[4], far[4];
  EACH_ROW(r) near[r] = far[r] = vec4(0.0);
  request_keys(page, 0u);
  for (uint first = 0u; first < kKeyDim; first += kKeyStep) {
    barrier();
    store_keys(first);
    barrier();
    if (first + kKeyStep < kKeyDim) request_keys(page, first + kKeyStep);
    else request_values(page, 0u);
    if (small_queries == 0u) {
      UNROLL for (uint d = 0u; d < kKeyStep; ++d) {
        const vec4 rows = queries[d * kRowGroups + group];
        const vec4 a = stage[d * kKeyStride + c], b = stage[d * kKeyStride + kColumns + c];
        EACH_ROW(r) {
          near[r] = fused_all(rows[r], a, near[r]);
          far[r] = fused_all(rows[r], b, far[r]);
        }
      }
    } else {
      [[dont_unroll]] for (uint d = 0u; d < kKeyStep; ++d) {
        const vec4 rows = queries[d * kRowGroups + group];
        const vec4 a = stage[d * kKeyStride + c], b = stage[d * kKeyStride + kColumns + c];
        EACH_ROW(r) {
          near[r] = fused_all_normal(rows[r], a, near[r]);
          far[r] = fused_all_normal(rows[r], b, far[r]);
        }
      }
    }
  }
  UNROLL for (uint j = 0u; j < 4u; ++j) {
    const uint at = (4u * c + j) * kWeightStride + group;
    weights[at] = vec4(near[0][j], near[1][j], near[2][j], near[3][j]);
    weights[at + 64u * kWeightStride] = vec4(far[0][j], far[1][j], far[2][j], far[3][j]);
  }
  barrier();
}

// --- Weights.

// The reference's sixteen lanes of row `r`, joined: the greatest or the sum.
float join_lanes(uint r, bool greatest) {
  float joined[kLanes];
  UNROLL for (uint i = 0u; i < kLanes; ++i) joined[i] = stage[i * kRowGroups + r / 4u][r % 4u];
  UNROLL for (uint half_ = kLanes / 2u; half_ > 0u; half_ /= 2u) {
    UNROLL for (uint i = 0u; i < half_; ++i)
      joined[i] = greatest ? larger(joined[i], joined[i + half_]) : add(joined[i], joined[i + half_]);
  }
  return joined[0];
}

// Scores become weights, zero where a row does not see; the page's maximum and sum. An invocation
// has a lane of four rows. `mark` names the page where a weight is small.
void weigh(uint first_position, bool all_seen, uint mark) {
  const uint t = gl_LocalInvocationID.x, group = row_group(), lane = column();
  vec4 scores[8];
  vec4 values = vec4(MINUS_INFINITY);
  uint sees_[4];
  EACH_ROW(r) {
    const uvec3 range = seen[4u * group + r];
    sees_[r] = 0u;
    UNROLL for (uint i = 0u; i < 8u; ++i)
      if (all_seen || sees(range, first_position + lane + i * kLanes)) sees_[r] |= 1u << i;
  }
  UNROLL for (uint i = 0u; i < 8u; ++i) {
    scores[i] = weights[(lane + i * kLanes) * kWeightStride + group];
    EACH_ROW(r) if ((sees_[r] & 1u << i) != 0u) values[r] = larger(scores[i][r], values[r]);
  }
  stage[lane * kRowGroups + group] = values;
  barrier();
  if (t < kRows) page_most[t] = join_lanes(t, true);
  barrier();
  vec4 base;
  EACH_ROW(r) {
    const float most_of_row = page_most[4u * group + r];
    base[r] = most_of_row == MINUS_INFINITY ? 0.0 : most_of_row;
  }
  values = vec4(0.0);
  bool has_small = false;
  UNROLL for (uint i = 0u; i < 8u; ++i) {
    vec4 weight = vec4(0.0);
    EACH_ROW(r) {
      if ((sees_[r] & 1u << i) == 0u) continue;
      weight[r] = exp2_of(sub_unflushed(scores[i][r], base[r]));
      has_small = has_small || is_small(weight[r]);
      values[r] = add_unflushed(values[r], weight[r]);
    }
    weights[(lane + i * kLanes) * kWeightStride + group] = weight;
  }
  if (has_small) small_weights = mark;
  stage[lane * kRowGroups + group] = values;
  barrier();
  if (t < kRows) {
    page_sum[t] = join_lanes(t, false);
    const Merge merge = merge_of(most[t], page_most[t]);
    old_factors[t] = merge.old_factor;
    new_factors[t] = merge.new_factor;
    most[t] = merge.most;
    sum[t] = merged_sum(sum[t], page_sum[t], merge);
  }
}

// --- Values.

// The page's weighted values, of four rows and elements 4 * column() of every part.
void weigh_values(Vectors page, uint first_position, uint end, uint mark, out vec4 values[4][4]) {
  const uint group = row_group(), c = column();
  EACH_ROW(r) UNROLL for (uint v = 0u; v < 4u; ++v) values[r][v] = vec4(0.0);
  uint step_ = mark;
  for (uint first = 0u; first < end; first += kValueStep) {
    ++step_;
    barrier();
    store_values(step_);
    barrier();
    if (first + kValueStep < end) request_values(page, first + kValueStep);
    if (small_weights != mark && infinite_values != step_) {
      UNROLL for (uint p = 0u; p < 32u; ++p) {
        if (p < kValueStep) {
          const vec4 rows = weights[(first + p) * kWeightStride + group];
          EACH_PART(v) {
            const vec4 elements = stage[p * kValueStride + v * kColumns + c];
            EACH_ROW(r) values[r][v] = fused_all(rows[r], elements, values[r][v]);
          }
        }
      }
    } else {
      [[dont_unroll]] for (uint p = 0u; p < kValueStep; ++p) {
        const vec4 rows = weights[(first + p) * kWeightStride + group];
        EACH_ROW(r) {
          if (!sees(seen[4u * group + r], first_position + first + p)) continue;
          EACH_PART(v) values[r][v] = fused_all_normal(
              rows[r], stage[p * kValueStride + v * kColumns + c], values[r][v]);
        }
      }
    }
  }
  EACH_ROW(r) EACH_PART(v) UNROLL for (uint e = 0u; e < 4u; ++e)
    values[r][v][e] = add(values[r][v][e], 0.0);
}

// --- All.

void load_rows(Block block, uint kv_head) {
  const uint t = gl_LocalInvocationID.x;
  if (t == 0u) small_queries = small_weights = infinite_values = 0u;
  if (t < kRows) {
    const uint row = block.first_row + min(t, block.rows - 1u), token = row / push.heads;
    query_at[t] = token * push.token_stride +
                  (kv_head * push.heads + row % push.heads) * push.head_stride;
    seen[t] = uvec3(push.visible.at[3u * token], push.visible.at[3u * token + 1u],
                    push.visible.at[3u * token + 2u]);
    most[t] = MINUS_INFINITY;
    sum[t] = 0.0;
  }
  barrier();
  bool has_small = false;
  for (uint n = t; n < kRows * kKeyDim; n += kThreads)
    has_small = has_small ||
                is_small(mul(push.queries.at[query_at[n / kKeyDim] + n % kKeyDim], push.factor));
  if (has_small) small_queries = 1u;
  barrier();
}

uint element_at(uint v, uint e) { return v * 64u + 4u * column() + e; }

// The page's own results, those of nothing where no row sees it.
void write_results(Block block, uint kv_head, uint index, bool any, vec4 values[4][4]) {
  const uint t = gl_LocalInvocationID.x, stride = 2u + push.shape.value_stride;
  EACH_ROW(r) {
    const uint row = 4u * row_group() + r;
    const uint to = result_at(block, index, gl_NumWorkGroups.y, kv_head, row) * stride + 2u;
    EACH_PART(v) UNROLL for (uint e = 0u; e < 4u; ++e)
      if (row < block.rows && element_at(v, e) < push.shape.value_dim)
        push.result.at[to + element_at(v, e)] = values[r][v][e];
  }
  if (t < block.rows) {
    const uint at = result_at(block, index, gl_NumWorkGroups.y, kv_head, t) * stride;
    push.result.at[at] = any ? page_most[t] : MINUS_INFINITY;
    push.result.at[at + 1u] = any ? page_sum[t] : 0.0;
  }
}

void finish_rows(Block block, uint kv_head, vec4 values[4][4]) {
  EACH_ROW(r) {
    const uint in_block = 4u * row_group() + r, row = block.first_row + in_block;
    const uint head = kv_head * push.heads + row % push.heads;
    const bool has_sink = push.has_sinks != 0u;
    const Finish finish = finish_of(most[in_block], sum[in_block], has_sink,
                                    has_sink ? push.sinks.at[head] : 0.0);
    const uint at = row / push.heads * push.out_token_stride + head * push.out_head_stride;
    EACH_PART(v) UNROLL for (uint e = 0u; e < 4u; ++e)
      if (in_block < block.rows && element_at(v, e) < push.shape.value_dim)
        push.result.at[at + element_at(v, e)] = finished(values[r][v][e], finish);
  }
}

void main() {
  const uint kv_head = gl_WorkGroupID.y;
  const Block block = block_at(push.blocks, gl_WorkGroupID.x);
  load_rows(block, kv_head);
  vec4 values[4][4];
  EACH_ROW(r) UNROLL for (uint v = 0u; v < 4u; ++v) values[r][v] = vec4(0.0);
  for (uint i = 0u; i < block.pages; ++i) {
    const uint first_position = (block.first_page + i) * kPagePositions;
    const Sight sight = sight_of(first_position);
    const uint entry = 2u * (block.table + i);
    uint carry;
    const uint low =
        uaddCarry(push.page_table.at[entry], kv_head * push.head_page_bytes, carry);
    Vectors page = Vectors(uvec2(low, push.page_table.at[entry + 1u] + carry));
    const uint mark = 32u * i + 1u;  // and of steps, those behind it
    vec4 of_page[4][4];
    EACH_ROW(r) UNROLL for (uint v = 0u; v < 4u; ++v) of_page[r][v] = vec4(0.0);
    if (sight.any) {
      make_scores(page);
      weigh(first_position, sight.all, mark);
      weigh_values(page, first_position, sight.end, mark, of_page);
    }
    if (kSplit) {
      write_results(block, kv_head, i, sight.any, of_page);
    } else if (sight.any) {
      EACH_ROW(r) {
        const uint row = 4u * row_group() + r;
        const Merge merge = Merge(0.0, old_factors[row], new_factors[row]);
        EACH_PART(v) UNROLL for (uint e = 0u; e < 4u; ++e)
          values[r][v][e] = merged_value(values[r][v][e], of_page[r][v][e], merge);
      }
    }
    barrier();
  }
  if (!kSplit) finish_rows(block, kv_head, values);
}
