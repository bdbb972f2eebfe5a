#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Attention of many rows to pages of F16 (AttendPage, Merge and Finish of
// src/kernels/ref/attention.cc), for prefill: the same as attend.comp, with products of tiles in
// registers. A workgroup has 32 rows of one key/value head. An invocation has four of them, and
// computes for each the scores of eight positions of a page, and some elements of the values. Keys
// and values go through shared memory in steps: while one is multiplied, the words of the next are
// loaded.
//
// Keys and values are multiples of 2^-24. Products with queries that are zero or at least 2^-78, and
// all of their sums, are then multiples of 2^-126, and no denormals: nothing has to be flushed. The
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

const uint kThreads = 128u;
const uint kRows = 32u;
const uint kRowGroups = kRows / 4u;
const uint kColumns = kThreads / kRowGroups;  // invocations that share rows
const uint kLanes = 16u;
const float kLeastUnflushed = 3.308722450212111e-24;  // 2^-78

// A step of keys has kKeyStep dimensions of all positions, a step of values kValueStep positions.
const uint kKeyStep = 16u;
const uint kKeyStride = kPagePositions / 4u + 1u;  // vectors
const uint kValueStep = kParts == 1u ? 32u : kParts == 2u ? 16u : 8u;
const uint kValueStride = kParts * 16u + 1u;
const uint kWeightStride = kRowGroups + 1u;

// An invocation's numbers of its four rows: NEAR(r) and FAR(r) are scores, PAGE(r, v) and MERGED(r, v)
// values of part v. They are separate variables, as drivers keep arrays in memory even if every loop
// over them is unrolled. With EMULATED they are arrays and loops, since an fma that is made of
// integers is compiled for every place that has one.
#ifdef EMULATED
#undef UNROLL
#define UNROLL [[dont_unroll]]
vec4 near[4], far[4], of_page[4][4], merged[4][4];
#define NEAR(r) near[r]
#define FAR(r) far[r]
#define PAGE(r, v) of_page[r][v]
#define MERGED(r, v) merged[r][v]
#define EACH_ROW(USE) UNROLL for (uint r = 0u; r < 4u; ++r) { USE(r) }
#define EACH_VALUE(USE)                \
  UNROLL for (uint r = 0u; r < 4u; ++r) \
    UNROLL for (uint v = 0u; v < kParts; ++v) { USE(r, v) }
#else
#define FOUR_PARTS(name, r) name##r##0, name##r##1, name##r##2, name##r##3
#define SIXTEEN(name) FOUR_PARTS(name, 0), FOUR_PARTS(name, 1), FOUR_PARTS(name, 2), FOUR_PARTS(name, 3)
vec4 near0, near1, near2, near3, far0, far1, far2, far3;
vec4 SIXTEEN(of_page), SIXTEEN(merged);
#define NEAR(r) near##r
#define FAR(r) far##r
#define PAGE(r, v) of_page##r##v
#define MERGED(r, v) merged##r##v
#define EACH_ROW(USE) USE(0) USE(1) USE(2) USE(3)
#define ROWS_OF_PART(USE, v) USE(0, v) USE(1, v) USE(2, v) USE(3, v)
#define EACH_VALUE(USE)                         \
  ROWS_OF_PART(USE, 0)                          \
  if (kParts > 1u) { ROWS_OF_PART(USE, 1) }     \
  if (kParts > 2u) { ROWS_OF_PART(USE, 2) }     \
  if (kParts > 3u) { ROWS_OF_PART(USE, 3) }
#endif

shared vec4 stage[544];                              // of a step
shared vec4 queries[kKeyStep * kRowGroups];          // of a step: [dimension][rows]
shared vec4 weights[kPagePositions * kWeightStride];  // [position][rows]; scores before
shared vec4 lanes[kLanes * kRowGroups];               // [lane][rows]
shared uint query_at[kRows];
shared uvec3 seen[kRows];
shared float page_most[kRows], page_sum[kRows];
shared float most[kRows], sum[kRows], old_factors[kRows], new_factors[kRows];
// Set by an invocation that finds a small or infinite number, to the number of the page or step.
shared uint small_queries, small_weights, infinite_values;

uint row_group() { return gl_LocalInvocationID.x / kColumns; }
uint column() { return gl_LocalInvocationID.x % kColumns; }
bool is_small(float x) { return kFlush && x != 0.0 && abs(x) < kLeastUnflushed; }

bool sees(uvec3 range, uint position) {
  return position < range.x || (position >= range.y && position < range.z);
}

// The positions of a page that rows see.
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

// Two word vectors, and the queries of four rows.
uvec4 ahead0, ahead1;
vec4 queries_ahead;

// Word vector `n` of a step of keys: eight positions of a dimension.
uint key_block(uint n) { return n / (2u * kKeyStep); }
uint key_dimension(uint n) { return n % (2u * kKeyStep) / 2u; }

void request_keys(Vectors page, uint first) {
  const uint t = gl_LocalInvocationID.x;
  const uint block_vectors = push.shape.key_block_bytes / 16u;
  const uint at = 2u * min(first + key_dimension(t), kKeyDim - 1u) + (t & 1u);
  ahead0 = page.at[key_block(t) * block_vectors + at];
  ahead1 = page.at[key_block(t + kThreads) * block_vectors + at];
  const uint d = min(first + t % kKeyStep, kKeyDim - 1u), group = t / kKeyStep;
#define REQUEST(r) queries_ahead[r] = push.queries.at[query_at[4u * group + r] + d];
  EACH_ROW(REQUEST)
}

// Whether one of two halves is infinite or NaN.
bool has_infinite(uint word) {
  return (word & 0x7c00u) == 0x7c00u || (word & 0x7c000000u) == 0x7c000000u;
}
bool has_infinite(uvec4 words) {
  return has_infinite(words.x) || has_infinite(words.y) || has_infinite(words.z) ||
         has_infinite(words.w);
}

// Converts finite halves in fewer steps, if a device keeps denormals: a half's bits, moved to those
// of a float, are 2^112 times too small.
float from_finite(uint magnitude, uint sign) {
  return FLOAT(BITS(mul_unflushed(FLOAT(magnitude), 5.192296858534828e33)) | sign);
}
vec4 from_finite(uvec2 words) {
  return vec4(from_finite(words.x << 13 & 0x0fffe000u, words.x << 16 & kSign),
              from_finite(words.x >> 3 & 0x0fffe000u, words.x & kSign),
              from_finite(words.y << 13 & 0x0fffe000u, words.y << 16 & kSign),
              from_finite(words.y >> 3 & 0x0fffe000u, words.y & kSign));
}
vec4 from_halves(uvec2 words) {
  return vec4(from_half(words.x & 0xffffu), from_half(words.x >> 16), from_half(words.y & 0xffffu),
              from_half(words.y >> 16));
}
// Stores eight halves from `at` on.
void store_halves(uint at, uvec4 words, bool infinite) {
  if (kFlush && !infinite) {
    stage[at] = from_finite(words.xy);
    stage[at + 1u] = from_finite(words.zw);
  } else {
    stage[at] = from_halves(words.xy);
    stage[at + 1u] = from_halves(words.zw);
  }
}

void store_key_words(uint first, uint n, uvec4 words) {
  const uint d = key_dimension(n);
  if (first + d >= kKeyDim) words = uvec4(0u);
  store_halves(d * kKeyStride + key_block(n) * 4u + (n & 1u) * 2u, words, has_infinite(words));
}

// Zeros beyond the last dimension.
void store_keys(uint first) {
  const uint t = gl_LocalInvocationID.x, d = t % kKeyStep, group = t / kKeyStep;
  store_key_words(first, t, ahead0);
  store_key_words(first, t + kThreads, ahead1);
  vec4 rows;
#define STORE(r)                                                                  \
  rows[r] = first + d >= kKeyDim ? 0.0                                            \
            : small_queries == 0u ? mul_unflushed(queries_ahead[r], push.factor) \
                                  : mul(queries_ahead[r], push.factor);
  EACH_ROW(STORE)
  queries[d * kRowGroups + group] = rows;
}

// Word vectors of a row of values, of eight elements.
uint value_vectors() { return push.shape.value_stride / 8u; }

void request_values(Vectors page, uint first) {
  const uint at = first * value_vectors() + gl_LocalInvocationID.x;
  const uint last = kPagePositions * value_vectors() - 1u;
  ahead0 = page.at[push.shape.values_offset / 16u + min(at, last)];
  ahead1 = page.at[push.shape.values_offset / 16u + min(at + kThreads, last)];
}

// `mark` names the step where a value is not finite.
void store_value_words(uint n, uvec4 words, uint mark) {
  const uint p = n / value_vectors(), vector = n % value_vectors();
  if (p >= kValueStep) return;
  const bool infinite = has_infinite(words);
  if (infinite) infinite_values = mark;
  store_halves(p * kValueStride + 2u * vector, words, infinite);
}
void store_values(uint mark) {
  store_value_words(gl_LocalInvocationID.x, ahead0, mark);
  store_value_words(gl_LocalInvocationID.x + kThreads, ahead1, mark);
}

// --- Scores.

vec4 fused_all(float a, vec4 b, vec4 c) {
  return vec4(fused_unflushed(a, b.x, c.x), fused_unflushed(a, b.y, c.y),
              fused_unflushed(a, b.z, c.z), fused_unflushed(a, b.w, c.w));
}
#ifdef EMULATED
#define fused_all_normal fused_all
#else
vec4 fused_all_normal(float a, vec4 b, vec4 c) {
  return vec4(fused_normal(a, b.x, c.x), fused_normal(a, b.y, c.y), fused_normal(a, b.z, c.z),
              fused_normal(a, b.w, c.w));
}
#endif

// Positions 4 * column() and 64 behind it, for four rows. The first step was requested.
void make_scores(Vectors page) {
  const uint group = row_group(), c = column();
#define CLEAR(r) NEAR(r) = FAR(r) = vec4(0.0);
  EACH_ROW(CLEAR)
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
#define SCORE(r)                             \
  NEAR(r) = fused_all(rows[r], a, NEAR(r)); \
  FAR(r) = fused_all(rows[r], b, FAR(r));
        EACH_ROW(SCORE)
      }
    } else {
      [[dont_unroll]] for (uint d = 0u; d < kKeyStep; ++d) {
        const vec4 rows = queries[d * kRowGroups + group];
        const vec4 a = stage[d * kKeyStride + c], b = stage[d * kKeyStride + kColumns + c];
#define SCORE_FLUSHED(r)                            \
  NEAR(r) = fused_all_normal(rows[r], a, NEAR(r)); \
  FAR(r) = fused_all_normal(rows[r], b, FAR(r));
        EACH_ROW(SCORE_FLUSHED)
      }
    }
  }
#define WRITE_SCORES(j, e)                                                                 \
  weights[(4u * c + j) * kWeightStride + group] =                                          \
      vec4(NEAR(0).e, NEAR(1).e, NEAR(2).e, NEAR(3).e);                                    \
  weights[(4u * c + j + 64u) * kWeightStride + group] = vec4(FAR(0).e, FAR(1).e, FAR(2).e, FAR(3).e);
  WRITE_SCORES(0u, x)
  WRITE_SCORES(1u, y)
  WRITE_SCORES(2u, z)
  WRITE_SCORES(3u, w)
  barrier();
}

// --- Weights.

// Nothing here is denormal.
float larger_of(float a, float b) { return a > b ? a : b; }

// The reference's sixteen lanes of row `r`, joined: the greatest or the sum.
float join_lanes(uint r, bool greatest) {
  float joined[kLanes];
  UNROLL for (uint i = 0u; i < kLanes; ++i) joined[i] = lanes[i * kRowGroups + r / 4u][r % 4u];
  UNROLL for (uint half_ = kLanes / 2u; half_ > 0u; half_ /= 2u) {
    UNROLL for (uint i = 0u; i < half_; ++i)
      joined[i] = greatest ? larger_of(joined[i], joined[i + half_])
                           : add_unflushed(joined[i], joined[i + half_]);
  }
  return joined[0];
}

vec4 larger_of(vec4 a, vec4 b) {
  return vec4(larger_of(a.x, b.x), larger_of(a.y, b.y), larger_of(a.z, b.z), larger_of(a.w, b.w));
}

// Scores that a row does not see become minus infinity.
vec4 seen_scores(uint group, uint position, vec4 scores) {
#define HIDE(r) if (!sees(seen[4u * group + r], position)) scores[r] = MINUS_INFINITY;
  HIDE(0) HIDE(1) HIDE(2) HIDE(3)
  return scores;
}

float least_power;  // of weights that are not zero
float weight_of(float score, float base) {
  const float power = sub_unflushed(score, base);
  least_power = power >= -126.0 ? min(least_power, power) : least_power;
  return exp2_of(power);
}

// Turns scores into weights, zero for invisible positions, and computes the page's maximum and sum.
// An invocation has a lane of four rows. `mark` names the page if a weight is small.
void weigh(uint first_position, bool all_seen, uint mark) {
  const uint t = gl_LocalInvocationID.x, group = row_group(), lane = column();
#define EACH_OF_LANE(USE) USE(0u, a) USE(1u, b) USE(2u, c) USE(3u, d) USE(4u, e) USE(5u, f) USE(6u, g) USE(7u, h)
#define READ_SCORES(i, name) \
  vec4 name = weights[(lane + i * kLanes) * kWeightStride + group];
  EACH_OF_LANE(READ_SCORES)
  if (!all_seen) {
#define HIDE_UNSEEN(i, name) name = seen_scores(group, first_position + lane + i * kLanes, name);
    EACH_OF_LANE(HIDE_UNSEEN)
  }
  vec4 joined = vec4(MINUS_INFINITY);
#define TAKE_LARGER(i, name) joined = larger_of(name, joined);
  EACH_OF_LANE(TAKE_LARGER)
  lanes[lane * kRowGroups + group] = joined;
  barrier();
  if (t < kRows) page_most[t] = join_lanes(t, true);
  barrier();
  vec4 base;
#define TAKE_BASE(r)            \
  base[r] = page_most[4u * group + r]; \
  if (base[r] == MINUS_INFINITY) base[r] = 0.0;
  TAKE_BASE(0) TAKE_BASE(1) TAKE_BASE(2) TAKE_BASE(3)
  least_power = 0.0;
  joined = vec4(0.0);
#define WEIGH(i, name)                                                             \
  name = vec4(weight_of(name.x, base.x), weight_of(name.y, base.y),                \
              weight_of(name.z, base.z), weight_of(name.w, base.w));               \
  joined = vec4(add_unflushed(joined.x, name.x), add_unflushed(joined.y, name.y),  \
                add_unflushed(joined.z, name.z), add_unflushed(joined.w, name.w)); \
  weights[(lane + i * kLanes) * kWeightStride + group] = name;
  EACH_OF_LANE(WEIGH)
  if (kFlush && least_power < -77.0) small_weights = mark;
  lanes[lane * kRowGroups + group] = joined;
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

vec4 with_zero_added(vec4 x) {
  return vec4(add_unflushed(x.x, 0.0), add_unflushed(x.y, 0.0), add_unflushed(x.z, 0.0),
              add_unflushed(x.w, 0.0));
}

// The page's weighted values, of four rows and elements 4 * column() of every part. In the last step
// the keys of `next` are requested, if there is such a page.
void weigh_values(Vectors page, uint first_position, uint end, uint mark, bool has_next, Vectors next) {
  const uint group = row_group(), c = column();
  uint step_ = mark;
  for (uint first = 0u; first < end; first += kValueStep) {
    ++step_;
    if (first > 0u) barrier();  // not needed the first time: no one reads the stage before
    store_values(step_);
    barrier();
    if (first + kValueStep < end) request_values(page, first + kValueStep);
    else if (has_next) request_keys(next, 0u);
    if (small_weights != mark && infinite_values != step_) {
      UNROLL for (uint p = 0u; p < 32u; ++p) {
        if (p < kValueStep) {
          const vec4 rows = weights[(first + p) * kWeightStride + group];
#define WEIGH_VALUE(r, v) \
  PAGE(r, v) = fused_all(rows[r], stage[p * kValueStride + v * kColumns + c], PAGE(r, v));
          EACH_VALUE(WEIGH_VALUE)
        }
      }
    } else {
      [[dont_unroll]] for (uint p = 0u; p < kValueStep; ++p) {
        const uint at = first_position + first + p;
        const vec4 rows = weights[(first + p) * kWeightStride + group];
#define WEIGH_SEEN(r, v)                                                                   \
  if (sees(seen[4u * group + r], at))                                                      \
    PAGE(r, v) = fused_all_normal(rows[r], stage[p * kValueStride + v * kColumns + c], PAGE(r, v));
        EACH_VALUE(WEIGH_SEEN)
      }
    }
  }
#define ADD_ZERO(r, v) PAGE(r, v) = with_zero_added(PAGE(r, v));
  EACH_VALUE(ADD_ZERO)
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
  for (uint n = t; n < kRows * kKeyDim; n += kThreads) {
    const float query = push.queries.at[query_at[n / kKeyDim] + n % kKeyDim];
    has_small = has_small || is_small(query) || is_small(mul_unflushed(query, push.factor));
  }
  if (has_small) small_queries = 1u;
  barrier();
}

// Where elements of part `v` are written: those of a row from `to` on.
void write_elements(uint to, uint v, vec4 elements) {
  const uint d = v * 64u + 4u * column();
#define WRITE(e, n) if (d + n < push.shape.value_dim) push.result.at[to + d + n] = elements.e;
  WRITE(x, 0u)
  WRITE(y, 1u)
  WRITE(z, 2u)
  WRITE(w, 3u)
}

// Writes the page's own results, or empty ones if no row sees the page.
void write_results(Block block, uint kv_head, uint index, bool any) {
  const uint t = gl_LocalInvocationID.x, stride = 2u + push.shape.value_stride;
#define WRITE_PAGE(r, v)                                                                      \
  if (4u * row_group() + r < block.rows)                                                      \
    write_elements(result_at(block, index, gl_NumWorkGroups.y, kv_head, 4u * row_group() + r) * \
                           stride + 2u, v, PAGE(r, v));
  EACH_VALUE(WRITE_PAGE)
  if (t < block.rows) {
    const uint at = result_at(block, index, gl_NumWorkGroups.y, kv_head, t) * stride;
    push.result.at[at] = any ? page_most[t] : MINUS_INFINITY;
    push.result.at[at + 1u] = any ? page_sum[t] : 0.0;
  }
}

vec4 merged_all(vec4 old_values, vec4 new_values, uint row) {
  const Merge merge = Merge(0.0, old_factors[row], new_factors[row]);
  return vec4(merged_value(old_values.x, new_values.x, merge),
              merged_value(old_values.y, new_values.y, merge),
              merged_value(old_values.z, new_values.z, merge),
              merged_value(old_values.w, new_values.w, merge));
}

// The place of row `r` of the invocation in the result, and the factor and divisor of its values.
// They are in query_at, old_factors and new_factors, which are not needed any more.
void finish_rows(Block block, uint kv_head) {
  const uint t = gl_LocalInvocationID.x;
  if (t < block.rows) {
    const uint row = block.first_row + t, head = kv_head * push.heads + row % push.heads;
    const bool has_sink = push.has_sinks != 0u;
    const Finish finish =
        finish_of(most[t], sum[t], has_sink, has_sink ? push.sinks.at[head] : 0.0);
    query_at[t] = row / push.heads * push.out_token_stride + head * push.out_head_stride;
    old_factors[t] = finish.factor;
    new_factors[t] = finish.sum;
  }
  barrier();
#define FINISH(r, v)                                                                   \
  if (4u * row_group() + r < block.rows) {                                             \
    const uint row = 4u * row_group() + r;                                             \
    const Finish finish = Finish(old_factors[row], new_factors[row]);                  \
    write_elements(query_at[row], v,                                                   \
                   vec4(finished(MERGED(r, v).x, finish), finished(MERGED(r, v).y, finish), \
                        finished(MERGED(r, v).z, finish), finished(MERGED(r, v).w, finish))); \
  }
  EACH_VALUE(FINISH)
}

Vectors page_at(Block block, uint kv_head, uint index) {
  const uint entry = 2u * (block.table + index);
  uint carry;
  const uint low = uaddCarry(push.page_table.at[entry], kv_head * push.head_page_bytes, carry);
  return Vectors(uvec2(low, push.page_table.at[entry + 1u] + carry));
}

// A page that some row sees: number `index` of the block's.
struct SeenPage {
  uint index;
  Sight sight;
};
// The first from `index` on, or the number of pages.
SeenPage seen_page(Block block, uint kv_head, uint index) {
  SeenPage page = SeenPage(index, Sight(false, false, 0u));
  for (; page.index < block.pages; ++page.index) {
    page.sight = sight_of((block.first_page + page.index) * kPagePositions);
    if (page.sight.any) break;
    if (kSplit) write_results(block, kv_head, page.index, false);
  }
  return page;
}

void main() {
  const uint kv_head = gl_WorkGroupID.y;
  // The last blocks first, as they have the most pages.
  const Block block = block_at(push.blocks, gl_NumWorkGroups.x - 1u - gl_WorkGroupID.x);
  load_rows(block, kv_head);
#define CLEAR_MERGED(r, v) MERGED(r, v) = vec4(0.0);
  EACH_VALUE(CLEAR_MERGED)
#define CLEAR_PAGE(r, v) PAGE(r, v) = vec4(0.0);
  EACH_VALUE(CLEAR_PAGE)
  SeenPage seen_ = seen_page(block, kv_head, 0u);
  Vectors page = page_at(block, kv_head, min(seen_.index, block.pages - 1u));
  if (seen_.index < block.pages) request_keys(page, 0u);
  while (seen_.index < block.pages) {
    const uint index = seen_.index, first_position = (block.first_page + index) * kPagePositions;
    const Sight sight = seen_.sight;
    const uint mark = 32u * index + 1u;  // and of steps, those behind it
    make_scores(page);
    weigh(first_position, sight.all, mark);
    EACH_VALUE(CLEAR_PAGE)
    seen_ = seen_page(block, kv_head, index + 1u);
    const bool has_next = seen_.index < block.pages;
    Vectors next = page_at(block, kv_head, has_next ? seen_.index : index);
    weigh_values(page, first_position, sight.end, mark, has_next, next);
    if (kSplit) {
      write_results(block, kv_head, index, true);
    } else {
#define MERGE_PAGE(r, v) MERGED(r, v) = merged_all(MERGED(r, v), PAGE(r, v), 4u * row_group() + r);
      EACH_VALUE(MERGE_PAGE)
    }
    page = next;
    barrier();
  }
  if (!kSplit) finish_rows(block, kv_head);
}
