#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Attention to pages (AttendPage, Merge and Finish of src/kernels/ref/attention.cc). A workgroup has
// a block of rows of one key/value head. With kSplit it writes every page's own result, for
// merge_pages.comp; without, it merges pages as it goes, in ascending order, and finishes.
//
// Each invocation computes the scores of one position of the page for all rows, and for some rows
// the values of kWords words: a word has two elements of F16, four of Q8, one element of two
// positions of BF16, or one of four of Q8I. Memory is read kBatch words at a time, so that their
// latencies overlap; for few rows, whose work is short, the next words are requested in advance.
#include "memory.glsl"
#include "exact.glsl"
#include "conversions.glsl"
#include "functions.glsl"
#include "page.glsl"
#include "attention.glsl"

layout(local_size_x = 128) in;
layout(constant_id = 2) const uint kKeyDim = 1;
layout(constant_id = 3) const uint kColumns = 1;  // invocations of a row of values, a power of two
layout(constant_id = 4) const uint kWords = 1;    // of each, kColumns apart, up to kMostWords
layout(constant_id = 5) const bool kSplit = false;
layout(constant_id = 6) const bool kHasCap = false;
#include "attend_push.glsl"

const uint kThreads = 128u;
const uint kLanes = 16u;
const uint kRows = ROWS;  // of a block: a power of two, at most 32
#if KV_TYPE == KV_F16
const uint kWordElements = 2u, kMostWords = 4u, kMostRowsOfThread = min(kRows, 16u);
#elif KV_TYPE == KV_BF16 || KV_TYPE == KV_Q8I
const uint kWordElements = 1u, kMostWords = 8u, kMostRowsOfThread = min(kRows, 16u);
#else
const uint kWordElements = 4u, kMostWords = 2u, kMostRowsOfThread = min(kRows, 8u);
#endif
// In BF16, 32 positions or elements belong together, which are sixteen words. An fma that is made of
// integers is compiled for every place that has one; and for one token code runs only once, so that
// fetching unrolled code takes longer than running it.
#ifdef EMULATED
#undef UNROLL
#define UNROLL
const uint kBatch = 1u;
#elif ROWS > 16
const uint kBatch = 4u;
#else
const uint kBatch = 8u;
#endif
#if ROWS <= 4 && !defined(EMULATED)
const bool kAhead = true;
#else
const bool kAhead = false;
#endif
const bool kHasWayForAllSeen = kRows > 8u;
const uint kRowGroups = kThreads / kColumns;
const uint kRowsOfThread = kRows > kRowGroups ? kRows / kRowGroups : 1u;
#define EACH_ROW(r) UNROLL for (uint r = 0u; r < kRows; ++r)
#define EACH_ROW_OF_THREAD(r) \
  UNROLL for (uint r = 0u; r < kMostRowsOfThread; ++r) if (r < kRowsOfThread)
#define EACH_WORD(w) UNROLL for (uint w = 0u; w < kMostWords; ++w) if (w < kWords)
#define EACH_ELEMENT(e) UNROLL for (uint e = 0u; e < kWordElements; ++e)
const uint kRowStride = kRows < 4u ? kRows : kRows + 4u;  // so that rows start in other banks

#if KV_TYPE != KV_Q8I
shared float queries[kKeyDim * kRows];  // [element][row]
#endif
shared float weights[kPagePositions * kRowStride];
shared float lanes[kRows * kLanes];
shared uvec3 seen[kRows];
shared float page_most[kRows], page_sum[kRows];
shared float most[kRows], sum[kRows], old_factors[kRows], new_factors[kRows];

// The first word of a row of values of this invocation, and the first of its rows.
uint first_word() { return gl_LocalInvocationID.x % kColumns; }
uint first_row() { return gl_LocalInvocationID.x / kColumns * kRowsOfThread; }
bool has_rows() { return first_row() < kRows; }

bool sees(uvec3 range, uint position) {
  return position < range.x || (position >= range.y && position < range.z);
}

// Which of 32 positions are below `end`.
uint below(int end) { return end <= 0 ? 0u : end >= 32 ? ~0u : (1u << uint(end)) - 1u; }
// Which of the 32 positions from `first` on a row sees: a bit each.
uint seen_from(uvec3 range, uint first) {
  const int start = int(first);
  return below(int(range.x) - start) | (below(int(range.z) - start) & ~below(int(range.y) - start));
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

#if KV_TYPE == KV_Q8I
#include "attend_int.glsl"
#endif

// Where the query of row `r` of the block begins.
uint query_at(Block block, uint kv_head, uint r) {
  const uint row = block.first_row + min(r, block.rows - 1u);
  const uint head = kv_head * push.heads + row % push.heads;
  return row / push.heads * push.token_stride + head * push.head_stride;
}

void load_queries(Block block, uint kv_head) {
  const uint t = gl_LocalInvocationID.x;
#if KV_TYPE == KV_Q8I
  for (uint n = t; n < kRows * kKeyGroups; n += kThreads) {
    const uint r = n / kKeyGroups, group = n % kKeyGroups;
    prepare_query(r, group, query_at(block, kv_head, r) + group * kQ8Group);
  }
#else
  for (uint n = t; n < kRows * kKeyDim; n += kThreads) {
    const uint r = n / kKeyDim, d = n % kKeyDim;
    const float query = mul(push.queries.at[query_at(block, kv_head, r) + d], push.factor);
#if KV_TYPE == KV_BF16
    queries[d * kRows + r] = from_bfloat16(to_bfloat16(query));
#else
    queries[d * kRows + r] = query;
#endif
  }
#endif
  if (t < kRows) {
    const uint token = (block.first_row + min(t, block.rows - 1u)) / push.heads;
    seen[t] = uvec3(push.visible.at[3u * token], push.visible.at[3u * token + 1u],
                    push.visible.at[3u * token + 2u]);
    most[t] = MINUS_INFINITY;
    sum[t] = 0.0;
  }
  barrier();
}

// Words of values that were requested in advance: the first of the invocation's first row.
uint words_ahead[kBatch];

// The products of position `p`'s key with every row's query.
void make_scores(Words page, uint p) {
  const uint block = p / kKeyBlock * push.shape.key_block_bytes, lane = p % kKeyBlock;
#if KV_TYPE == KV_Q8I
  make_int_scores(page, p, block);
#else
  float scores[kRows];
  EACH_ROW(r) scores[r] = 0.0;
  uint batch[kBatch];
#if KV_TYPE == KV_F16
  // A word has an element of two positions.
  const uint first_word = block / 4u + lane / 2u, shift = (lane & 1u) * 16u;
#define READ_KEYS(batch, first)              \
  UNROLL for (uint i = 0u; i < kBatch; ++i) \
    batch[i] = page.at[first_word + min(first + i, kKeyDim - 1u) * (kKeyBlock / 2u)];
  uint next[kBatch];
  if (kAhead) { READ_KEYS(next, 0u) }
  for (uint first = 0u; first < kKeyDim; first += kBatch) {
    if (kAhead) {
      batch = next;
      if (first + kBatch < kKeyDim) { READ_KEYS(next, first + kBatch) }
    } else {
      READ_KEYS(batch, first)
    }
    UNROLL for (uint i = 0u; i < kBatch; ++i) {
      const float key = from_half(batch[i] >> shift & 0xffffu);
      const uint query = min(first + i, kKeyDim - 1u) * kRows;
      if (first + i < kKeyDim) {
        EACH_ROW(r)
          scores[r] = fused_normal(queries[query + r], key, scores[r]);
      }
    }
  }
#else
  for (uint first = 0u; first < kKeyDim; first += 32u) {
    const uint end = min(kKeyDim, first + 32u);
    float even[kRows];
    EACH_ROW(r) even[r] = 0.0;
#if KV_TYPE == KV_BF16
    // A word has two elements of a position.
    float odd[kRows];
    EACH_ROW(r) odd[r] = 0.0;
    const uint first_word = block / 4u + lane;
    for (uint begin = first; begin < end; begin += 2u * kBatch) {
      UNROLL for (uint i = 0u; i < kBatch; ++i)
        batch[i] = page.at[first_word + min(begin + 2u * i, kKeyDim - 1u) / 2u * kKeyBlock];
      UNROLL for (uint i = 0u; i < kBatch; ++i) {
        const uint d = begin + 2u * i;
        const float key = flushed(from_bfloat16(batch[i] & 0xffffu));
        const float next = flushed(from_bfloat16(batch[i] >> 16));
        if (d < end) {
          EACH_ROW(r)
            even[r] = fused_normal(queries[d * kRows + r], key, even[r]);
        }
        if (d + 1u < end) {
          EACH_ROW(r)
            odd[r] = fused_normal(queries[(d + 1u) * kRows + r], next, odd[r]);
        }
      }
    }
    EACH_ROW(r) scores[r] = add(scores[r], add(even[r], odd[r]));
#else
    // A word has an element of four positions.
    const uint first_word = block / 4u + lane / 4u;
    const int shift = int(lane & 3u) * 8;
    const uint scale_at = key_scale_offset(push.shape, p, first / kQ8Group);
    const float scale = from_half(half_bits_at(page, scale_at));
    for (uint begin = first; begin < end; begin += kBatch) {
      UNROLL for (uint i = 0u; i < kBatch; ++i)
        batch[i] = page.at[first_word + min(begin + i, kKeyDim - 1u) * (kKeyBlock / 4u)];
      UNROLL for (uint i = 0u; i < kBatch; ++i) {
        const float key = float(bitfieldExtract(int(batch[i]), shift, 8));
        const uint query = min(begin + i, kKeyDim - 1u) * kRows;
        if (begin + i < end) {
          EACH_ROW(r)
            even[r] = fused_normal(queries[query + r], key, even[r]);
        }
      }
    }
    EACH_ROW(r) scores[r] = fused_normal(even[r], scale, scores[r]);
#endif
  }
#endif
  EACH_ROW(r) weights[p * kRowStride + r] = scores[r];
#endif
}

// Caps the scores of position `p`, which is the invocation's own.
void cap_scores(uint p) {
  for (uint r = 0u; r < kRows; ++r) {
    const float score = weights[p * kRowStride + r];
    weights[p * kRowStride + r] = softcap_of(score, push.cap);
  }
}

// The reference's sixteen lanes of row `r`, joined: the greatest or the sum.
float join_lanes(uint r, bool greatest) {
  float joined[kLanes];
  UNROLL for (uint i = 0u; i < kLanes; ++i) joined[i] = lanes[r * kLanes + i];
  UNROLL for (uint half_ = kLanes / 2u; half_ > 0u; half_ /= 2u) {
    UNROLL for (uint i = 0u; i < half_; ++i)
      joined[i] = greatest ? larger(joined[i], joined[i + half_]) : add(joined[i], joined[i + half_]);
  }
  return joined[0];
}

// Turns scores into weights, and computes the page's maximum and sum over sixteen lanes of a row.
void weigh(uint first_position) {
  const uint t = gl_LocalInvocationID.x;
  for (uint n = t; n < kRows * kLanes; n += kThreads) {
    const uint row = n / kLanes;
    const uvec3 range = seen[row];
    float value = MINUS_INFINITY;
    UNROLL for (uint i = 0u; i < kPagePositions / kLanes; ++i) {
      const uint p = n % kLanes + i * kLanes;
      if (sees(range, first_position + p)) value = larger(weights[p * kRowStride + row], value);
    }
    lanes[n] = value;
  }
  barrier();
  if (t < kRows) page_most[t] = join_lanes(t, true);
  barrier();
  for (uint r = 0u; r < kRows; ++r) {
    if (!sees(seen[r], first_position + t)) continue;
    const float base = page_most[r] == MINUS_INFINITY ? 0.0 : page_most[r];
    const float weight = exp2_of(sub(weights[t * kRowStride + r], base));
#if KV_TYPE == KV_BF16
    weights[t * kRowStride + r] = from_bfloat16(to_bfloat16(weight));
#else
    weights[t * kRowStride + r] = weight;
#endif
  }
  barrier();
  for (uint n = t; n < kRows * kLanes; n += kThreads) {
    const uint row = n / kLanes;
    const uvec3 range = seen[row];
    float value = 0.0;
    UNROLL for (uint i = 0u; i < kPagePositions / kLanes; ++i) {
      const uint p = n % kLanes + i * kLanes;
      if (sees(range, first_position + p)) value = add(value, weights[p * kRowStride + row]);
    }
    lanes[n] = value;
  }
  barrier();
  if (t < kRows) page_sum[t] = join_lanes(t, false);
}

#if KV_TYPE == KV_BF16
float element_of(uint word, uint e) { return flushed(from_bfloat16(word >> 16u * e & 0xffffu)); }
#elif KV_TYPE == KV_F16
float element_of(uint word, uint e) { return from_half(word >> 16u * e & 0xffffu); }
#else
float element_of(uint word, uint e) {
  return float(bitfieldExtract(int(word), int(e) * 8, 8));
}
#endif

#if KV_TYPE == KV_F16 || KV_TYPE == KV_Q8
void read_values(Words page, uint word, uint first, out uint batch[kBatch]) {
  const uint row_words = push.shape.value_stride / kWordElements;
  UNROLL for (uint i = 0u; i < kBatch; ++i)
    batch[i] = page.at[push.shape.values_offset / 4u + word + (first + i) * row_words];
}
#endif

#if KV_TYPE != KV_Q8I
// With few rows, invisible positions count as zeros, without a branch.
const bool kSkips = kRows > 8u || !kNativeFma;
// Adds `weight` times `value` to `sum`, if the position is visible.
float weighted(bool is_seen, float weight, float value, float sum) {
  if (kSkips && !is_seen) return sum;
  return fused_normal(is_seen ? weight : 0.0, is_seen ? value : 0.0, sum);
}

// Word `word` of a row of values, weighted, for this invocation's rows from `first_row` on. Invisible
// values are left out, as they may be anything. `all_seen` is a constant, so that the loops for pages
// that all rows see have no conditions.
void weigh_values_where(const bool all_seen, Words page, uint first_position, uint end,
                        uint first_row, uint word,
                        out float values[kMostRowsOfThread][kWordElements]) {
  uvec3 ranges[kMostRowsOfThread];
  EACH_ROW_OF_THREAD(r) {
    ranges[r] = seen[first_row + r];
    EACH_ELEMENT(e) values[r][e] = 0.0;
  }
  uint batch[kBatch];
#if KV_TYPE == KV_BF16
  const uint first_word = push.shape.values_offset / 4u + word;
  for (uint begin = 0u; begin < end; begin += 32u) {
    float even[kMostRowsOfThread], odd[kMostRowsOfThread];
    EACH_ROW_OF_THREAD(r) even[r] = odd[r] = 0.0;
    for (uint first = begin; first < begin + 32u; first += 2u * kBatch) {
      UNROLL for (uint i = 0u; i < kBatch; ++i)
        batch[i] = page.at[first_word + (first / 2u + i) * push.shape.value_stride];
      uint masks[kMostRowsOfThread];
      EACH_ROW_OF_THREAD(r) masks[r] = all_seen ? ~0u : seen_from(ranges[r], first_position + first);
      UNROLL for (uint i = 0u; i < kBatch; ++i) {
        const uint p = first + 2u * i;
        const float value = element_of(batch[i], 0u), next = element_of(batch[i], 1u);
        EACH_ROW_OF_THREAD(r) {
          const uint at = p * kRowStride + first_row + r;
          even[r] = weighted((masks[r] & 1u << 2u * i) != 0u, weights[at], value, even[r]);
          odd[r] = weighted((masks[r] & 2u << 2u * i) != 0u, weights[at + kRowStride], next, odd[r]);
        }
      }
    }
    EACH_ROW_OF_THREAD(r)
      values[r][0] = add(values[r][0], add(even[r], odd[r]));
  }
#else
#if KV_TYPE == KV_Q8
  const uint scales_at = value_scale_offset(push.shape, 0u, word * kWordElements / kQ8Group);
#endif
  uint next[kBatch];
  if (kAhead) {
    if (word == first_word()) next = words_ahead;
    else read_values(page, word, 0u, next);
  }
  for (uint first = 0u; first < end; first += kBatch) {
    if (kAhead) {
      batch = next;
      if (first + kBatch < end)
        read_values(page, word, min(first + kBatch, kPagePositions - kBatch), next);
    } else {
      read_values(page, word, first, batch);
    }
    uint masks[kMostRowsOfThread];
    EACH_ROW_OF_THREAD(r) masks[r] = all_seen ? ~0u : seen_from(ranges[r], first_position + first);
    UNROLL for (uint i = 0u; i < kBatch; ++i) {
      const uint p = first + i;
      const uint bit = 1u << i;
      float elements[kWordElements];
      EACH_ELEMENT(e) elements[e] = element_of(batch[i], e);
#if KV_TYPE == KV_Q8
      const float scale = from_half(half_bits_at(page, scales_at + 2u * p));
#endif
      EACH_ROW_OF_THREAD(r) {
#if KV_TYPE == KV_Q8
        const float weight = mul(weights[p * kRowStride + first_row + r], scale);
#else
        const float weight = weights[p * kRowStride + first_row + r];
#endif
        EACH_ELEMENT(e)
          values[r][e] = weighted((masks[r] & bit) != 0u, weight, elements[e], values[r][e]);
      }
    }
  }
#endif
  EACH_ROW_OF_THREAD(r)
    EACH_ELEMENT(e) values[r][e] = add(values[r][e], 0.0);
}
#endif

void weigh_values(Words page, uint first_position, Sight sight, uint first_row, uint word,
                  out float values[kMostRowsOfThread][kWordElements]) {
#if KV_TYPE == KV_Q8I
  EACH_ROW_OF_THREAD(r) values[r][0] = int_value(page, word, first_row + r);
#else
  if (kHasWayForAllSeen && sight.all)
    weigh_values_where(true, page, first_position, kPagePositions, first_row, word, values);
  else
    weigh_values_where(false, page, first_position, sight.end, first_row, word, values);
#endif
}

// Writes the page's own results, or empty ones if no row sees the page.
void write_results(Words page, Block block, uint kv_head, uint index, Sight sight) {
  const uint t = gl_LocalInvocationID.x;
  const uint first_position = (block.first_page + index) * kPagePositions;
  const uint stride = 2u + push.shape.value_stride;
  for (uint w = 0u; w < kWords && has_rows(); ++w) {
    const uint word = first_word() + w * kColumns;
    if (word * kWordElements >= push.shape.value_dim) break;
    float values[kMostRowsOfThread][kWordElements];
    EACH_ROW_OF_THREAD(r)
      EACH_ELEMENT(e) values[r][e] = 0.0;
    if (sight.any) weigh_values(page, first_position, sight, first_row(), word, values);
    EACH_ROW_OF_THREAD(r) {
      const uint result =
          result_at(block, index, gl_NumWorkGroups.y, kv_head, first_row() + r) * stride + 2u;
      EACH_ELEMENT(e) {
        const uint d = word * kWordElements + e;
        if (first_row() + r < block.rows && d < push.shape.value_dim)
          push.result.at[result + d] = values[r][e];
      }
    }
  }
  if (t < kRows && t < block.rows) {
    const uint at = result_at(block, index, gl_NumWorkGroups.y, kv_head, t) * stride;
    push.result.at[at] = sight.any ? page_most[t] : MINUS_INFINITY;
    push.result.at[at + 1u] = sight.any ? page_sum[t] : 0.0;
  }
}

void merge_results(Words page, uint first_position, Sight sight,
                   inout float values[kMostWords][kMostRowsOfThread][kWordElements]) {
  const uint t = gl_LocalInvocationID.x;
  if (t < kRows) {
    const Merge merge = merge_of(most[t], page_most[t]);
    old_factors[t] = merge.old_factor;
    new_factors[t] = merge.new_factor;
    most[t] = merge.most;
    sum[t] = merged_sum(sum[t], page_sum[t], merge);
  }
  barrier();
  if (!has_rows()) return;
  EACH_WORD(w) {
    // Beyond the end, the last word again: it is not written.
    const uint word =
        min(first_word() + w * kColumns, (push.shape.value_dim - 1u) / kWordElements);
    float of_page[kMostRowsOfThread][kWordElements];
    weigh_values(page, first_position, sight, first_row(), word, of_page);
    EACH_ROW_OF_THREAD(r) {
      const Merge merge =
          Merge(0.0, old_factors[first_row() + r], new_factors[first_row() + r]);
      EACH_ELEMENT(e)
        values[w][r][e] = merged_value(values[w][r][e], of_page[r][e], merge);
    }
  }
}

void finish_rows(Block block, uint kv_head,
                 float values[kMostWords][kMostRowsOfThread][kWordElements]) {
  EACH_ROW_OF_THREAD(r) {
    const uint in_block = first_row() + r, row = block.first_row + in_block;
    const uint head = kv_head * push.heads + row % push.heads;
    const bool has_sink = push.has_sinks != 0u;
    const Finish finish = finish_of(most[in_block], sum[in_block], has_sink,
                                    has_sink ? push.sinks.at[head] : 0.0);
    const uint at = row / push.heads * push.out_token_stride + head * push.out_head_stride;
    EACH_WORD(w) {
      EACH_ELEMENT(e) {
        const uint d = (first_word() + w * kColumns) * kWordElements + e;
        if (in_block < block.rows && d < push.shape.value_dim)
          push.result.at[at + d] = finished(values[w][r][e], finish);
      }
    }
  }
}

void main() {
  const uint kv_head = gl_WorkGroupID.y;
  const Block block = block_at(push.blocks, gl_WorkGroupID.x);
  load_queries(block, kv_head);
  float values[kMostWords][kMostRowsOfThread][kWordElements];
  EACH_WORD(w)
    EACH_ROW_OF_THREAD(r)
      EACH_ELEMENT(e) values[w][r][e] = 0.0;
  for (uint i = 0u; i < block.pages; ++i) {
    const uint first_position = (block.first_page + i) * kPagePositions;
    const Sight sight = sight_of(first_position);
    const uint entry = 2u * (block.table + i);
    uint carry;
    const uint low =
        uaddCarry(push.page_table.at[entry], kv_head * push.head_page_bytes, carry);
    Words page = Words(uvec2(low, push.page_table.at[entry + 1u] + carry));
    if (sight.any) {
#if KV_TYPE == KV_F16 || KV_TYPE == KV_Q8
      // Beyond the row's end, its last word.
      const uint last_word = (push.shape.value_dim - 1u) / kWordElements;
      if (kAhead) read_values(page, min(first_word(), last_word), 0u, words_ahead);
#endif
      make_scores(page, gl_LocalInvocationID.x);
      if (kHasCap) cap_scores(gl_LocalInvocationID.x);
      barrier();
      weigh(first_position);
#if KV_TYPE == KV_Q8I
      barrier();
      make_int_weights(page, first_position);
#endif
    }
    if (kSplit) write_results(page, block, kv_head, i, sight);
    else if (sight.any) merge_results(page, first_position, sight, values);
    barrier();
  }
  if (!kSplit && has_rows()) finish_rows(block, kv_head, values);
}
