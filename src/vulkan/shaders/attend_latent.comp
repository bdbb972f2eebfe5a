#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Attention over rows that are both keys and values (CpuRowAttention of
// src/compute/cpu/row_attention.cc, in the operations of src/kernels/ref/latent.cc). A workgroup has
// kHeads heads of one token and goes through its rows, those of the window and then compressed ones,
// in blocks of 128. Invocation t has row t of a block for the scores, and elements t, t + 128, … of
// the values.
#include "memory.glsl"
#include "exact.glsl"
#include "conversions.glsl"
#include "functions.glsl"
#include "latent.glsl"
#include "runs.glsl"

layout(local_size_x = 128) in;
layout(constant_id = 3) const uint kDim = 16u;
layout(constant_id = 4) const uint kHeads = 1u;
layout(constant_id = 5) const uint kCompressedFormat = 0u;
layout(push_constant) uniform Push {
  Words page_table;
  Words tokens;  // [rows][6]: LatentToken of kernels/latent_attention.h
  Words chosen;  // [rows], chosen_stride words apart, of compressed rows
  Floats queries;    // [rows][heads][kDim]
  Floats sinks;      // [heads]
  FloatsOut result;  // as the queries
  uint heads;
  float factor;  // of queries
  uint row_bytes;
  uint unrotated;
  uint compressed_rows_of_page;
  uint chosen_stride;
  uint compressed_row_bytes;
  uint compressed_unrotated;
} push;

const uint kPagePositions = 128u;
const uint kBlock = 128u;
const uint kElements = (kDim + kBlock - 1u) / kBlock;
shared float queries[kHeads][kDim];
shared float weights[kHeads][kBlock];
shared uvec3 rows[kBlock];  // address of the page, and the first byte
shared float block_most[kHeads];
shared float most[kHeads], sum[kHeads], old_factors[kHeads], new_factors[kHeads];

struct Token {
  uint begin;             // position of the first row of the window
  uint window;            // rows of the window
  uint window_table;      // entry of the page of position 0, were it there
  uint far;               // compressed rows that are seen
  uint compressed_table;  // entry of the first page of these
  uint is_chosen;         // by a list; else they are the first
};
Token token_at(uint row) {
  const uint at = 6u * row;
  return Token(push.tokens.at[at], push.tokens.at[at + 1u], push.tokens.at[at + 2u],
               push.tokens.at[at + 3u], push.tokens.at[at + 4u], push.tokens.at[at + 5u]);
}

// The place of row `i` of those that the token sees.
uvec3 place_of_row(Token token, uint token_row, uint i) {
  if (i < token.window) {
    const uint position = token.begin + i;
    return uvec3(address_at(push.page_table, token.window_table + position / kPagePositions),
                 position % kPagePositions * push.row_bytes);
  }
  uint row = i - token.window;
  if (token.is_chosen != 0u) row = push.chosen.at[token_row * push.chosen_stride + row];
  return uvec3(address_at(push.page_table, token.compressed_table + row / push.compressed_rows_of_page),
               row % push.compressed_rows_of_page * push.compressed_row_bytes);
}
// Of row `i` of the block; the first `near` of them are of the window.
float element_of(uint i, uint near, uint d) {
  if (kCompressedFormat == kFormat || i < near)
    return element_at(Words(rows[i].xy), rows[i].z, LatentShape(kDim, push.unrotated), d);
  return element_in(kCompressedFormat, Words(rows[i].xy), rows[i].z, LatentShape(kDim, push.compressed_unrotated), d);
}
uint head_of(uint h) { return min(gl_WorkGroupID.y * kHeads + h, push.heads - 1u); }

// The products of row `t` of the block with every head's query.
void make_scores(uint t, uint near) {
  float scores[kHeads];
  for (uint h = 0u; h < kHeads; ++h) scores[h] = 0.0;
  for (uint d = 0u; d < kDim; ++d) {
    const float element = element_of(t, near, d);
    for (uint h = 0u; h < kHeads; ++h) scores[h] = fused(element, queries[h][d], scores[h]);
  }
  for (uint h = 0u; h < kHeads; ++h) weights[h][t] = scores[h];
}

// Turns scores into weights, and merges the heads' maxima and sums with those of earlier blocks.
void weigh(uint t, uint count) {
  if (t < kHeads) {
    float greatest = MINUS_INFINITY;
    for (uint i = 0u; i < count; ++i) greatest = larger(weights[t][i], greatest);
    block_most[t] = greatest;
  }
  barrier();
  for (uint h = 0u; h < kHeads && t < count; ++h) {
    const float base = block_most[h] == MINUS_INFINITY ? 0.0 : block_most[h];
    weights[h][t] = exp2_of(sub(weights[h][t], base));
  }
  barrier();
  if (t < kHeads) {
    float block_sum = 0.0;
    for (uint i = 0u; i < count; ++i) block_sum = add(block_sum, weights[t][i]);
    const float joint = larger(block_most[t], most[t]);
    const float base = joint == MINUS_INFINITY ? 0.0 : joint;
    old_factors[t] = exp2_of(sub(most[t], base));
    new_factors[t] = exp2_of(sub(block_most[t], base));
    most[t] = joint;
    sum[t] = fused(block_sum, new_factors[t], mul(sum[t], old_factors[t]));
  }
  barrier();
}

void main() {
  const uint t = gl_LocalInvocationID.x, token_row = gl_WorkGroupID.x;
  const Token token = token_at(token_row);
  const uint first = token_row * push.heads * kDim;
  for (uint n = t; n < kHeads * kDim; n += kBlock)
    queries[n / kDim][n % kDim] =
        mul(push.queries.at[first + head_of(n / kDim) * kDim + n % kDim], push.factor);
  if (t < kHeads) {
    most[t] = MINUS_INFINITY;
    sum[t] = 0.0;
  }
  float values[kElements][kHeads];
  for (uint e = 0u; e < kElements; ++e)
    for (uint h = 0u; h < kHeads; ++h) values[e][h] = 0.0;
  const uint all = token.window + token.far;
  for (uint begin = 0u; begin < all; begin += kBlock) {
    const uint count = min(all - begin, kBlock), near = token.window - min(token.window, begin);
    barrier();
    if (t < count) rows[t] = place_of_row(token, token_row, begin + t);
    barrier();
    if (t < count) make_scores(t, near);
    barrier();
    weigh(t, count);
    for (uint e = 0u; e < kElements; ++e) {
      const uint d = t + e * kBlock;
      if (d >= kDim) break;
      float of_block[kHeads];
      for (uint h = 0u; h < kHeads; ++h) of_block[h] = 0.0;
      for (uint i = 0u; i < count; ++i) {
        const float element = element_of(i, near, d);
        for (uint h = 0u; h < kHeads; ++h) of_block[h] = fused(weights[h][i], element, of_block[h]);
      }
      for (uint h = 0u; h < kHeads; ++h)
        values[e][h] = fused(of_block[h], new_factors[h], mul(values[e][h], old_factors[h]));
    }
  }
  barrier();
  for (uint h = 0u; h < kHeads && gl_WorkGroupID.y * kHeads + h < push.heads; ++h) {
    const float sink = mul(push.sinks.at[head_of(h)], LOG2_E);
    const float joint = larger(sink, most[h]);
    const float base = joint == MINUS_INFINITY ? 0.0 : joint;
    const float factor = exp2_of(sub(most[h], base));
    const float all_sum = fused(sum[h], factor, exp2_of(sub(sink, base)));
    for (uint e = 0u; e < kElements; ++e) {
      const uint d = t + e * kBlock;
      if (d < kDim)
        push.result.at[first + head_of(h) * kDim + d] = divide(mul(values[e][h], factor), all_sum);
    }
  }
}
