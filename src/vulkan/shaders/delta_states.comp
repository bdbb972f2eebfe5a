#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The states of a gated delta net, token after token (Run of src/kernels/ref/delta_net.cc). A
// workgroup has some columns (x) of a value head's state (y), which are independent of all others,
// for the tokens of a course (z) in one of its pages; the next page continues from there. An
// invocation has one column, in shared memory; the next token's key and query are loaded while it
// computes. Only the content of pages may be denormal.
#include "memory.glsl"
#include "exact.glsl"
#include "runs.glsl"
#include "states.glsl"

layout(local_size_x = 32) in;
layout(constant_id = 2) const uint kKeyDim = 16;
layout(constant_id = 3) const uint kColumns = 16;  // at most one for an invocation
layout(push_constant) uniform Push {
  Words courses;
  Words table;
  Words hashes;
  Floats keys;    // [slots][2][key_heads][kKeyDim]: queries, then keys
  Floats values;  // [slots][heads][value_dim]
  FloatsOut result;
  uint heads;
  uint key_heads;
  uint in_turn;  // heads take keys in turn; else several in a row share one
  uint value_dim;
  uint row_words;      // of inputs
  uint numbers_word;   // of decays in a row, behind which are betas
  uint mark_word;      // of a page of states
  uint result_stride;
  uint page;  // of each course, from its first on
} push;

// An fma that is made of integers is compiled for every place that has one. (Mesa's driver on the
// processor ends an invocation's loops after 65,535 rounds.)
#ifdef EMULATED
const uint kBatch = 2u;
#else
const uint kBatch = 16u;
#endif
const uint kInvocations = 32u;

shared float state[kKeyDim * kColumns];
shared float vectors[2u * 2u * kKeyDim];  // of this token and the next: a query, then a key
shared uint start;

uint column() { return gl_LocalInvocationID.x; }
uint value_column() { return gl_WorkGroupID.x * kColumns + column(); }
bool has_column() { return column() < kColumns && value_column() < push.value_dim; }
uint state_at(uint k) {
  return (gl_WorkGroupID.y * kKeyDim + k) * push.value_dim + value_column();
}
// Of the page that position `position` is in.
uvec2 page_of(Course course, uint first, uint position) {
  return address_at(push.table,
                    first + 1u + position / kPagePositions - course.page_begin / kPagePositions);
}

// Loads the states at the end of the page before, or those that the page holds; zeros before the
// beginning of the text.
void load_state(Course course) {
  const bool is_kept = push.page == 0u && start > course.page_begin;
  const bool is_nothing = push.page == 0u && course.page_begin == 0u && !is_kept;
  const uint entry = course.states + push.page + (is_kept || is_nothing ? 1u : 0u);
  Floats page = Floats(address_at(push.table, entry));
  for (uint k = 0u; k < kKeyDim && has_column(); ++k) {
    const float s = page.at[state_at(k)];
    state[k * kColumns + column()] = is_nothing ? 0.0 : flushed(s);
  }
}
void store_state(uvec2 address) {
  FloatsOut page = FloatsOut(address);
  for (uint k = 0u; k < kKeyDim && has_column(); ++k)
    page.at[state_at(k)] = state[k * kColumns + column()];
}

void load_vectors(uint slot, uint place) {
  const uint ratio = push.heads / push.key_heads, head = gl_WorkGroupID.y;
  const uint key_head = push.in_turn != 0u ? head % push.key_heads : head / ratio;
  const uint first = slot * 2u * push.key_heads + key_head;
  for (uint k = gl_LocalInvocationID.x; k < kKeyDim; k += kInvocations) {
    vectors[place * kKeyDim + k] = push.keys.at[first * kKeyDim + k];
    vectors[(place + 1u) * kKeyDim + k] = push.keys.at[(first + push.key_heads) * kKeyDim + k];
  }
}

float step_of(uint place, float value, float decay, float beta) {
  const uint query = place * kKeyDim, key = query + kKeyDim;
  float seen = 0.0;
  for (uint first = 0u; first < kKeyDim; first += kBatch) {
    float s[kBatch], x[kBatch];
    UNROLL for (uint i = 0u; i < kBatch; ++i) {
      s[i] = state[(first + i) * kColumns + column()];
      x[i] = vectors[key + first + i];
    }
    UNROLL for (uint i = 0u; i < kBatch; ++i) seen = fused_normal(x[i], s[i], seen);
  }
  const float delta = mul(sub(value, mul(decay, seen)), beta);
  float out_ = 0.0;
  for (uint first = 0u; first < kKeyDim; first += kBatch) {
    float s[kBatch], x[kBatch], y[kBatch];
    UNROLL for (uint i = 0u; i < kBatch; ++i) {
      s[i] = state[(first + i) * kColumns + column()];
      x[i] = vectors[key + first + i];
      y[i] = vectors[query + first + i];
    }
    UNROLL for (uint i = 0u; i < kBatch; ++i) {
      s[i] = fused_normal(x[i], delta, mul(decay, s[i]));
      out_ = fused_normal(y[i], s[i], out_);
      state[(first + i) * kColumns + column()] = s[i];
    }
  }
  return out_;
}

void take_token(Course course, uint position, uint place) {
  const uint slot = course.first_slot + position - course.page_begin, head = gl_WorkGroupID.y;
  const uint numbers = position % kPagePositions * push.row_words + push.numbers_word + head;
  Floats inputs = Floats(page_of(course, course.inputs, position));
  const float decay = flushed(inputs.at[numbers]), beta = flushed(inputs.at[numbers + push.heads]);
  const uint at = head * push.value_dim + value_column();
  const float value = push.values.at[slot * push.heads * push.value_dim + at];
  const float found = step_of(place, value, decay, beta);
  if (position < course.position) return;
  const uint row = course.first_row + position - course.position;
  push.result.at[row * push.result_stride + at] = found;
}

void main() {
  const Course course = course_at(push.courses, gl_WorkGroupID.z);
  const uint page_begin = course.page_begin + push.page * kPagePositions;
  const uint end = min(course.end, page_begin + kPagePositions);
  if (page_begin >= end) return;
  if (gl_LocalInvocationID.x == 0u)
    start = push.page > 0u ? page_begin
                           : start_of(course, push.table, push.hashes, push.mark_word);
  barrier();
  load_state(course);
  load_vectors(course.first_slot + start - course.page_begin, 0u);
  for (uint position = start; position < end; ++position) {
    barrier();
    const uint place = (position - start & 1u) * 2u;
    if (position + 1u < end)
      load_vectors(course.first_slot + position + 1u - course.page_begin, 2u - place);
    if (position == course.position && course.keeps != 0u && start < course.position)
      store_state(page_of(course, course.states, position));
    if (has_column()) take_token(course, position, place);
    if ((position + 1u) % kPagePositions == 0u)
      store_state(page_of(course, course.states, position));
  }
}
