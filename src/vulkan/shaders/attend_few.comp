#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Attention of few rows to pages of F16, with the results of attend.comp. The time of few rows is
// that of waiting for memory and of fetching the shader's code, so all of a page's keys and values
// are requested before the first is used, and loops are not unrolled. The words of a page go through
// shared memory a stage at a time: 64 elements of all keys, then a half or a quarter of the
// positions' values. Each invocation computes the scores of one position for all rows, and one or two
// elements of the values of some rows.
//
// Halves are multiples of 2^-24. If every query is zero or at least 2^-78, all products with keys and
// their sums are multiples of 2^-126: none is a denormal, and nothing has to be flushed. The same
// holds for weights and values. The device's own conversion of halves is used if it keeps denormals.
// Otherwise, and if values have infinities, which must not count if invisible, each step is computed
// exactly.
#include "memory.glsl"
#include "exact.glsl"
#include "conversions.glsl"
#include "functions.glsl"
#define KV_TYPE 0
#include "page.glsl"
#include "attention.glsl"

layout(local_size_x = 128) in;
layout(constant_id = 2) const uint kKeyDim = 16;    // a multiple of 16, up to 256
layout(constant_id = 3) const uint kValueDim = 16;  // likewise; of 32 if it is more than 128
layout(constant_id = 4) const bool kSplit = false;
#include "attend_push.glsl"

const uint kThreads = 128u;
const uint kLanes = 16u;
const uint kRows = ROWS;  // of a block: 1, 2, 4 or 8
// An fma that is made of integers is compiled for every place that has one.
#ifdef EMULATED
#undef UNROLL
#define UNROLL
const uint kTogether = 1u;
#else
const uint kTogether = 8u;
#endif
#define ROLLED [[dont_unroll]]

// Vectors have sixteen bytes.
const uint kVectorHalves = 8u;
const uint kStageVectors = 8u;  // of an invocation, at most
const uint kStageDepth = kStageVectors * kVectorHalves;
const uint kKeyStages = (kKeyDim + kStageDepth - 1u) / kStageDepth;
const uint kBlockVectors = kKeyDim * kKeyBlock / kVectorHalves;
const uint kStagedBlock = kThreads + 2u;  // so that blocks of keys start in other banks
const uint kBlocks = kPagePositions / kKeyBlock;

const uint kRowVectors = kValueDim / kVectorHalves;
const uint kStagePositions = kValueDim <= 128u ? 64u : 32u;
const uint kValueStages = kPagePositions / kStagePositions;
const uint kValueVectors = kStagePositions * kRowVectors / kThreads;  // of an invocation
const uint kElements = kValueDim <= 128u ? 1u : 2u;                   // likewise
const uint kColumns = kValueDim <= 16u   ? 16u
                      : kValueDim <= 32u ? 32u
                      : kValueDim <= 64u ? 64u
                                         : 128u;
const uint kRowGroups = kThreads / kColumns;
const uint kRowsOfThread = kRows > kRowGroups ? kRows / kRowGroups : 1u;

// Values that must be in registers are not arrays, as some drivers keep arrays in memory. Statements
// are repeated for every row of the block, and for every vector of a stage.
#if ROWS == 1
#define EACH_ROW(STATEMENT) STATEMENT(0)
#elif ROWS == 2
#define EACH_ROW(STATEMENT) STATEMENT(0) STATEMENT(1)
#elif ROWS == 4
#define EACH_ROW(STATEMENT) STATEMENT(0) STATEMENT(1) STATEMENT(2) STATEMENT(3)
#else
#define EACH_ROW(STATEMENT) \
  STATEMENT(0) STATEMENT(1) STATEMENT(2) STATEMENT(3) STATEMENT(4) STATEMENT(5) STATEMENT(6) \
  STATEMENT(7)
#endif
#define EACH_VECTOR(STATEMENT) \
  STATEMENT(0) STATEMENT(1) STATEMENT(2) STATEMENT(3) STATEMENT(4) STATEMENT(5) STATEMENT(6) \
  STATEMENT(7)

shared uvec4 staged[kBlocks * kStagedBlock];
shared float queries[kKeyDim * kRows];         // [element][row]
shared float weights[kPagePositions * kRows];  // [position][row]
shared float lanes[kRows * kLanes];
shared uvec3 seen[kRows];
shared float page_most[kRows], page_sum[kRows];
shared float most[kRows], sum[kRows], old_factors[kRows], new_factors[kRows];
shared uint has_small_query, has_small_weight;

// Two stages of keys and of values, in flight or arrived.
#define VECTORS(i) uvec4 keys_##i, later_keys_##i, values_##i, later_values_##i;
EACH_VECTOR(VECTORS)

// Of a row: elements of its query on their way, its score at this invocation's position, and this
// invocation's elements of one page's result and of all.
#define VALUES_OF_ROW(r) \
  float query_##r, later_query_##r, score_##r, page_##r, later_page_##r, value_##r, \
      later_value_##r;
EACH_ROW(VALUES_OF_ROW)

uvec2 moved(uvec2 address, uint bytes) {
  uint carry;
  const uint low = uaddCarry(address.x, bytes, carry);
  return uvec2(low, address.y + carry);
}
bool is_some(uvec2 address) { return (address.x | address.y) != 0u; }

// The address of a page of this head; zero where there is none.
uvec2 page_at(Block block, uint index) {
  if (index >= block.pages) return uvec2(0u);
  const uint entry = 2u * (block.table + index);
  const uvec2 page = uvec2(push.page_table.at[entry], push.page_table.at[entry + 1u]);
  return is_some(page) ? moved(page, gl_WorkGroupID.y * push.head_page_bytes) : page;
}

// The invocation's vector of every block of stage `stage`; beyond the end, the last one.
Vectors keys_from(uvec2 page, uint stage) {
  const uint vector = min(stage * kThreads + gl_LocalInvocationID.x, kBlockVectors - 1u);
  return Vectors(moved(page, vector * 16u));
}
Vectors values_from(uvec2 page, uint stage) {
  const uint vector = stage * kStagePositions * kRowVectors + gl_LocalInvocationID.x;
  return Vectors(moved(page, push.shape.values_offset + vector * 16u));
}
#define REQUEST_KEYS(i) keys_##i = from.at[uint(i) * kBlockVectors];
#define REQUEST_LATER_KEYS(i) later_keys_##i = from.at[uint(i) * kBlockVectors];
#define REQUEST_VALUES(i) if (uint(i) < kValueVectors) values_##i = from.at[uint(i) * kThreads];
#define REQUEST_LATER_VALUES(i) \
  if (uint(i) < kValueVectors) later_values_##i = from.at[uint(i) * kThreads];
void request_later_keys(uvec2 page, uint stage) {
  Vectors from = keys_from(page, stage);
  EACH_VECTOR(REQUEST_LATER_KEYS)
}
void request_later_values(uvec2 page, uint stage) {
  Vectors from = values_from(page, stage);
  EACH_VECTOR(REQUEST_LATER_VALUES)
}
void request_keys(uvec2 page) {
  Vectors from = keys_from(page, 0u);
  EACH_VECTOR(REQUEST_KEYS)
  if (kKeyStages > 1u) request_later_keys(page, 1u);
}
void request_values(uvec2 page) {
  Vectors from = values_from(page, 0u);
  EACH_VECTOR(REQUEST_VALUES)
  request_later_values(page, 1u);
}

bool sees(uvec3 range, uint position) {
  return position < range.x || (position >= range.y && position < range.z);
}

// The end of the positions of the page that any row sees; zero if none sees any.
uint seen_end(uint first) {
  uint end = 0u;
  ROLLED for (uint r = 0u; r < kRows; ++r) {
    const uvec3 range = seen[r];
    if (first < range.x) end = max(end, range.x);
    if (range.z > max(first, range.y) && range.y < first + kPagePositions) end = max(end, range.z);
  }
  return min(max(end, first) - first, kPagePositions);
}

// Whether the device's own conversion of halves keeps denormals. `zero` is a zero that the compiler
// does not know.
bool converts_halves(uint zero) {
  const vec2 values = unpackHalf2x16(0x83ff0001u | zero);
  return BITS(values.x) == 0x33800000u && BITS(values.y) == 0xb87fc000u;
}
bool is_small(float x) { return x != 0.0 && abs(x) < FLOAT(0x18800000u); }  // 2^-78

// Beyond the last row, that row again.
void load_queries(Block block) {
  const uint t = gl_LocalInvocationID.x;
  uint token = block.first_row / push.heads, head = block.first_row % push.heads;
#define LOAD_QUERY(r) \
  { \
    const uint at = \
        token * push.token_stride + (gl_WorkGroupID.y * push.heads + head) * push.head_stride; \
    query_##r = push.queries.at[at + min(t, kKeyDim - 1u)]; \
    if (kKeyDim > kThreads) \
      later_query_##r = push.queries.at[at + min(t + kThreads, kKeyDim - 1u)]; \
    if (uint(r) + 1u < block.rows && ++head == push.heads) { \
      head = 0u; \
      ++token; \
    } \
  }
  EACH_ROW(LOAD_QUERY)
}
void store_query(uint d, uint r, float query) {
  if (d >= kKeyDim) return;
  const float prepared = mul(query, push.factor);
  if (is_small(prepared)) has_small_query = 1u;
  queries[d * kRows + r] = prepared;
}
void store_queries() {
  const uint t = gl_LocalInvocationID.x;
#define STORE_QUERY(r) \
  store_query(t, uint(r), query_##r); \
  if (kKeyDim > kThreads) store_query(t + kThreads, uint(r), later_query_##r);
  EACH_ROW(STORE_QUERY)
}

// Adds the products of a stage's elements to the scores of this invocation's position.
void add_products(uint first, bool is_fast) {
  const uint p = gl_LocalInvocationID.x, depth = min(kStageDepth, kKeyDim - first);
  const uint at = p / kKeyBlock * kStagedBlock + p / kVectorHalves % 2u, word = p / 2u % 4u;
  const uint shift = (p & 1u) * 16u;
  if (is_fast) {
    ROLLED for (uint d = 0u; d < depth; d += kTogether) {
      UNROLL for (uint i = 0u; i < kTogether; ++i) {
        const float key = unpackHalf2x16(staged[at + 2u * (d + i)][word] >> shift).x;
        const uint at_queries = (first + d + i) * kRows;
#define ADD_PRODUCT(r) score_##r = fused_unflushed(queries[at_queries + uint(r)], key, score_##r);
        EACH_ROW(ADD_PRODUCT)
      }
    }
  } else {
    ROLLED for (uint d = 0u; d < depth; ++d) {
      const float key = from_half(staged[at + 2u * d][word] >> shift & 0xffffu);
      const uint at_queries = (first + d) * kRows;
#define ADD_PRODUCT_SLOWLY(r) \
  score_##r = fused_normal(queries[at_queries + uint(r)], key, score_##r);
      EACH_ROW(ADD_PRODUCT_SLOWLY)
    }
  }
}

// Scores of the page, minus infinity where a row does not see.
void make_scores(uvec2 page, uint first_position, uint end, bool is_fast) {
  const uint t = gl_LocalInvocationID.x;
#define START_SCORE(r) score_##r = 0.0;
  EACH_ROW(START_SCORE)
  ROLLED for (uint stage = 0u; stage < kKeyStages; ++stage) {
    if (stage > 0u) barrier();
#define STORE_KEYS(i) staged[uint(i) * kStagedBlock + t] = keys_##i;
    EACH_VECTOR(STORE_KEYS)
    barrier();
    if (t < end) add_products(stage * kStageDepth, is_fast);
    if (kKeyStages > 1u) {
#define NEXT_KEYS(i) keys_##i = later_keys_##i;
      EACH_VECTOR(NEXT_KEYS)
      if (stage + 2u < kKeyStages) request_later_keys(page, stage + 2u);
    }
  }
#define STORE_SCORE(r) \
  weights[t * kRows + uint(r)] = sees(seen[r], first_position + t) ? score_##r : MINUS_INFINITY;
  EACH_ROW(STORE_SCORE)
  if (t == 0u) has_small_weight = 0u;
  barrier();
}

// The reference's sixteen lanes of row `r`, joined: eight apart, then four, two and one. No
// denormals are among them.
vec4 lanes_from(uint at) { return vec4(lanes[at], lanes[at + 1u], lanes[at + 2u], lanes[at + 3u]); }
vec4 greater(vec4 a, vec4 b) { return mix(b, a, greaterThan(a, b)); }
float greatest_of_lanes(uint r) {
  const uint at = r * kLanes;
  vec4 joined = greater(greater(lanes_from(at), lanes_from(at + 8u)),
                        greater(lanes_from(at + 4u), lanes_from(at + 12u)));
  joined = greater(joined, joined.zwxy);
  return greater(joined, joined.yxwz).x;
}
vec4 sum_of(vec4 a, vec4 b) {
  precise vec4 sum = a + b;
  return sum;
}
float sum_of_lanes(uint r) {
  const uint at = r * kLanes;
  const vec4 joined = sum_of(sum_of(lanes_from(at), lanes_from(at + 8u)),
                             sum_of(lanes_from(at + 4u), lanes_from(at + 12u)));
  const vec4 twice = sum_of(joined, joined.zwxy);
  return sum_of(twice, twice.yxwz).x;
}

// Lane n of the greatest score, or of the weights' sum. Invisible positions count for neither.
float greatest_score(uint n) {
  float value = MINUS_INFINITY;
  UNROLL for (uint i = 0u; i < kPagePositions / kLanes; ++i) {
    const float score = weights[(n % kLanes + i * kLanes) * kRows + n / kLanes];
    value = score > value ? score : value;
  }
  return value;
}
float sum_of_weights(uint n) {
  float value = 0.0;
  UNROLL for (uint i = 0u; i < kPagePositions / kLanes; ++i)
    value = add_unflushed(value, weights[(n % kLanes + i * kLanes) * kRows + n / kLanes]);
  return value;
}

void make_weights() {
  const uint t = gl_LocalInvocationID.x;
  ROLLED for (uint r = 0u; r < kRows; ++r) {
    const float base = page_most[r] == MINUS_INFINITY ? 0.0 : page_most[r];
    const float weight = exp2_of(sub(weights[t * kRows + r], base));
    if (is_small(weight)) has_small_weight = 1u;
    weights[t * kRows + r] = weight;
  }
}

// The first element of a row of values of this invocation, and the first of its rows.
uint first_element() { return gl_LocalInvocationID.x % kColumns * kElements; }
uint first_row() { return gl_LocalInvocationID.x / kColumns * kRowsOfThread; }
bool has_values() { return first_row() < kRows && first_element() < kValueDim; }

// Adds the weighted values of a stage's positions to the page's result.
void add_values(uint stage, uint first_position, uint end, bool is_fast) {
  const uint first = stage * kStagePositions;
  if (!has_values() || first >= end) return;
  const uint count = min(end - first, kStagePositions);
  const uint at = first_element() / kVectorHalves, word = first_element() / 2u % 4u;
  const uint shift = (first_element() & 1u) * 16u;  // of the first element; the second is above it
  bool all_finite = false;
  if (is_fast) {
#define START_CHAIN(r) float chain_##r = page_##r, later_chain_##r = later_page_##r;
    EACH_ROW(START_CHAIN)
    float zero = 0.0;  // and NaN once a value is not finite
    // Weights of invisible positions are zero, also of up to seven positions after the end.
    ROLLED for (uint p = 0u; p < count; p += kTogether) {
      UNROLL for (uint i = 0u; i < kTogether; ++i) {
        const vec2 both = unpackHalf2x16(staged[(p + i) * kRowVectors + at][word] >> shift);
        const uint at_weights = (first + p + i) * kRows + first_row();
        zero = fused_unflushed(0.0, both.x, zero);
        if (kElements > 1u) zero = fused_unflushed(0.0, both.y, zero);
#define ADD_VALUE(r) \
  if (uint(r) < kRowsOfThread) { \
    const float weight = weights[at_weights + uint(r)]; \
    chain_##r = fused_unflushed(weight, both.x, chain_##r); \
    if (kElements > 1u) \
      later_chain_##r = fused_unflushed(weight, both.y, later_chain_##r); \
  }
        EACH_ROW(ADD_VALUE)
      }
    }
    all_finite = zero == 0.0;
    if (all_finite) {
#define END_CHAIN(r) page_##r = chain_##r, later_page_##r = later_chain_##r;
      EACH_ROW(END_CHAIN)
    }
  }
  if (!all_finite) {
    // Invisible values are left out, as they may be anything.
    ROLLED for (uint p = 0u; p < count; ++p) {
      const uint pair = staged[p * kRowVectors + at][word] >> shift;
      const float value = from_half(pair & 0xffffu), later_value = from_half(pair >> 16);
      const uint at_weights = (first + p) * kRows + first_row();
#define ADD_VALUE_SLOWLY(r) \
  if (uint(r) < kRowsOfThread && sees(seen[first_row() + uint(r)], first_position + first + p)) { \
    const float weight = weights[at_weights + uint(r)]; \
    page_##r = fused_normal(weight, value, page_##r); \
    if (kElements > 1u) later_page_##r = fused_normal(weight, later_value, later_page_##r); \
  }
      EACH_ROW(ADD_VALUE_SLOWLY)
    }
  }
}

// For row t: the page's sum, and its factors for merging with the pages before.
void merge_row(uint t, bool is_first) {
  page_sum[t] = sum_of_lanes(t);
  if (kSplit) return;
  if (is_first) {
    most[t] = page_most[t];
    sum[t] = page_sum[t];
  } else {
    const Merge merge = merge_of(most[t], page_most[t]);
    old_factors[t] = merge.old_factor;
    new_factors[t] = merge.new_factor;
    most[t] = merge.most;
    sum[t] = merged_sum(sum[t], page_sum[t], merge);
  }
}

// Turns scores into weights, and adds the weighted values.
void weigh(uvec2 page, uint first_position, uint end, bool is_first, bool is_fast) {
  const uint t = gl_LocalInvocationID.x;
  if (t < kRows * kLanes) lanes[t] = greatest_score(t);
  barrier();
  if (t < kRows) page_most[t] = greatest_of_lanes(t);
  barrier();
  make_weights();
  ROLLED for (uint stage = 0u; stage < kValueStages; ++stage) {
#define STORE_VALUES(i) if (uint(i) < kValueVectors) staged[uint(i) * kThreads + t] = values_##i;
    EACH_VECTOR(STORE_VALUES)
    // The lanes' sums are there since the first stage.
    if (stage == 1u && t < kRows) merge_row(t, is_first);
    barrier();
    if (stage == 0u && t < kRows * kLanes) lanes[t] = sum_of_weights(t);
    add_values(stage, first_position, end, is_fast && has_small_weight == 0u);
#define NEXT_VALUES(i) values_##i = later_values_##i;
    EACH_VECTOR(NEXT_VALUES)
    if (stage + 2u < kValueStages) request_later_values(page, stage + 2u);
    if (stage + 1u < kValueStages) barrier();
  }
  // No negative zeros.
#define END_VALUES(r) page_##r = add(page_##r, 0.0), later_page_##r = add(later_page_##r, 0.0);
  EACH_ROW(END_VALUES)
}

// Writes the page's own results, or empty ones if no row sees the page.
void write_results(Block block, uint index, bool is_seen) {
  const uint t = gl_LocalInvocationID.x;
  const uint stride = 2u + kValueDim;
  const uint first = result_at(block, index, gl_NumWorkGroups.y, gl_WorkGroupID.y, 0u) * stride;
  if (has_values()) {
#define WRITE_RESULT(r) \
  if (uint(r) < kRowsOfThread && first_row() + uint(r) < block.rows) { \
    const uint at = first + (first_row() + uint(r)) * stride + 2u + first_element(); \
    push.result.at[at] = page_##r; \
    if (kElements > 1u) push.result.at[at + 1u] = later_page_##r; \
  }
    EACH_ROW(WRITE_RESULT)
  }
  if (t < kRows && t < block.rows) {
    push.result.at[first + t * stride] = is_seen ? page_most[t] : MINUS_INFINITY;
    push.result.at[first + t * stride + 1u] = is_seen ? page_sum[t] : 0.0;
  }
}
void merge_results(bool is_first) {
#define MERGE_RESULT(r) \
  if (uint(r) < kRowsOfThread) { \
    const Merge merge = \
        Merge(0.0, old_factors[first_row() + uint(r)], new_factors[first_row() + uint(r)]); \
    value_##r = is_first ? page_##r : merged_value(value_##r, page_##r, merge); \
    if (kElements > 1u) \
      later_value_##r = is_first ? later_page_##r \
                                 : merged_value(later_value_##r, later_page_##r, merge); \
  }
  EACH_ROW(MERGE_RESULT)
}

// One row after the other, through shared memory, as a division is much code.
void finish_rows(Block block) {
  const uint t = gl_LocalInvocationID.x;
  if (t < kRows) {
    const uint head =
        gl_WorkGroupID.y * push.heads + (block.first_row + min(t, block.rows - 1u)) % push.heads;
    const bool has_sink = push.has_sinks != 0u;
    const Finish finish =
        finish_of(most[t], sum[t], has_sink, has_sink ? push.sinks.at[head] : 0.0);
    old_factors[t] = finish.factor;
    new_factors[t] = finish.sum;
  }
  barrier();
  if (!has_values()) return;
  ROLLED for (uint e = 0u; e < kElements; ++e) {
#define STORE_RESULT(r) weights[uint(r) * kThreads + t] = e == 0u ? value_##r : later_value_##r;
    EACH_ROW(STORE_RESULT)
    ROLLED for (uint r = 0u; r < kRowsOfThread && first_row() + r < block.rows; ++r) {
      const uint row = block.first_row + first_row() + r;
      const uint head = gl_WorkGroupID.y * push.heads + row % push.heads;
      const uint at = row / push.heads * push.out_token_stride + head * push.out_head_stride;
      const Finish finish = Finish(old_factors[first_row() + r], new_factors[first_row() + r]);
      push.result.at[at + first_element() + e] = finished(weights[r * kThreads + t], finish);
    }
  }
}

void main() {
  const uint t = gl_LocalInvocationID.x;
  const Block block = block_at(push.blocks, gl_WorkGroupID.x);
  uvec2 page = page_at(block, 0u);
  const uint token = 3u * ((block.first_row + min(t, block.rows - 1u)) / push.heads);
  const uvec3 range =
      uvec3(push.visible.at[token], push.visible.at[token + 1u], push.visible.at[token + 2u]);
  load_queries(block);
  if (is_some(page)) {
    request_keys(page);
    request_values(page);
  }
  if (t == 0u) has_small_query = 0u;
  if (t < kRows) {
    seen[t] = range;
    most[t] = MINUS_INFINITY;
    sum[t] = 0.0;
  }
  barrier();
  store_queries();
  barrier();
  const bool converts = converts_halves(block.rows >> 16);
#define START_VALUES(r) value_##r = later_value_##r = 0.0;
  EACH_ROW(START_VALUES)
  bool is_first = true;
  ROLLED for (uint i = 0u; i < block.pages; ++i) {
    const uint first_position = (block.first_page + i) * kPagePositions;
    const uint end = seen_end(first_position);
    const uvec2 next = page_at(block, i + 1u);
    if (end > 0u) make_scores(page, first_position, end, converts && has_small_query == 0u);
    if (is_some(next)) request_keys(next);
#define START_PAGE(r) page_##r = later_page_##r = 0.0;
    EACH_ROW(START_PAGE)
    if (end > 0u) weigh(page, first_position, end, is_first, converts);
    if (is_some(next)) request_values(next);
    if (kSplit) {
      write_results(block, i, end > 0u);
    } else if (end > 0u) {
      merge_results(is_first);
      is_first = false;
    }
    page = next;
    barrier();
  }
  if (!kSplit) finish_rows(block);
}
