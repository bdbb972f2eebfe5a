// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Attention in integers to pages of bytes (PrepareIntQuery, IntScore and IntValues of
// src/kernels/ref/attention.cc), for attend.comp. Queries become bytes, and weights whole numbers of
// fourteen bits, two planes of seven, so that both meet rows by dot products of bytes.
#include "dot.glsl"

layout(constant_id = 7) const uint kValueGroups = 1;  // of 32 elements of a row of values

const uint kKeyGroups = (kKeyDim + kQ8Group - 1u) / kQ8Group;
const uint kGroupWords = kQ8Group / 4u;
const uint kQuads = kPagePositions / 4u;
const float kMostWeight = 16383.0;
const uint kPlaneBits = 7u;
// A group whose largest magnitude is below 2^-110 becomes zero.
const uint kSmallestScaledBits = 0x08800000u;

shared uint query_words[kKeyGroups * kGroupWords * kRows];  // [word][row]
shared float query_scales[kKeyGroups * kRows];
shared uint largest[kRows * kValueGroups];  // bits of magnitudes
shared uint low_planes[kRows * kValueGroups * kQuads], high_planes[kRows * kValueGroups * kQuads];

// The factor that scales the largest magnitude, given by its bits, to `most`, and the size of a unit
// then.
float factor_for(uint largest_bits, float most_) {
  if (largest_bits >= kInfBits || largest_bits < kSmallestScaledBits) return 0.0;
  return divide(most_, FLOAT(largest_bits));
}
float unit_for(uint largest_bits, float most_) {
  if (largest_bits >= kInfBits) return NOT_A_NUMBER;
  return largest_bits < kSmallestScaledBits ? 0.0 : divide(FLOAT(largest_bits), most_);
}
int rounded(float x, float factor) { return factor == 0.0 ? 0 : int(roundEven(mul(x, factor))); }

// A group of a row's query, whose first element stands at `at` in memory.
void prepare_query(uint r, uint group, uint at) {
  const uint count = min(kQ8Group, kKeyDim - group * kQ8Group);
  uint most_bits = 0u;
  for (uint i = 0u; i < count; ++i)
    most_bits = max(most_bits, BITS(mul(push.queries.at[at + i], push.factor)) & ~kSign);
  const float factor = factor_for(most_bits, 127.0);
  query_scales[group * kRows + r] = unit_for(most_bits, 127.0);
  for (uint word = 0u; word < kGroupWords; ++word) {
    uint bytes = 0u;
    for (uint i = 4u * word; i < min(4u * word + 4u, count); ++i)
      bytes |= (uint(rounded(mul(push.queries.at[at + i], push.factor), factor)) & 255u) << 8u * (i & 3u);
    query_words[(group * kGroupWords + word) * kRows + r] = bytes;
  }
}

// The scores of position `p`'s key, whose block begins at a byte, with every row's query.
void make_int_scores(Words page, uint p, uint block) {
  float scores[kRows];
  for (uint r = 0u; r < kRows; ++r) scores[r] = 0.0;
  for (uint group = 0u; group < kKeyGroups; ++group) {
    const uint words = min(kGroupWords, (kKeyDim + 3u) / 4u - group * kGroupWords);
    int dots[kRows];
    for (uint r = 0u; r < kRows; ++r) dots[r] = 0;
    uint keys[kGroupWords];
    UNROLL for (uint i = 0u; i < kGroupWords; ++i)
      keys[i] = page.at[block / 4u + (group * kGroupWords + min(i, words - 1u)) * kKeyBlock + p % kKeyBlock];
    // Beyond the row's end a query has zeros.
    UNROLL for (uint i = 0u; i < kGroupWords; ++i)
      for (uint r = 0u; r < kRows; ++r)
        dots[r] += dot4(keys[i], query_words[(group * kGroupWords + i) * kRows + r]);
    const float scale = from_half(half_bits_at(page, key_scale_offset(push.shape, p, group)));
    for (uint r = 0u; r < kRows; ++r)
      scores[r] = fused(float(dots[r]), mul(query_scales[group * kRows + r], scale), scores[r]);
  }
  for (uint r = 0u; r < kRows; ++r) weights[p * kRowStride + r] = scores[r];
}

float scaled_weight(Words page, uint p, uint r, uint group) {
  const float scale = from_half(half_bits_at(page, value_scale_offset(push.shape, p, group)));
  return abs(mul(weights[p * kRowStride + r], scale));
}

// Turns weights of the page into whole numbers, for each group of elements; zeros if a row does not
// see a position. Called by all invocations, before the first value is weighted.
void make_int_weights(Words page, uint first_position) {
  const uint t = gl_LocalInvocationID.x;
  for (uint n = t; n < kRows * kValueGroups; n += kThreads) largest[n] = 0u;
  barrier();
  for (uint group = 0u; group < kValueGroups; ++group)
    for (uint r = 0u; r < kRows; ++r)
      if (sees(seen[r], first_position + t))
        atomicMax(largest[r * kValueGroups + group], BITS(scaled_weight(page, t, r, group)));
  barrier();
  for (uint n = t; n < kRows * kValueGroups * kQuads; n += kThreads) {
    const uint of_row = n / kQuads, r = of_row / kValueGroups, group = of_row % kValueGroups;
    const float factor = factor_for(largest[of_row], kMostWeight);
    uint low = 0u, high = 0u;
    for (uint i = 0u; i < 4u; ++i) {
      const uint p = n % kQuads * 4u + i;
      if (!sees(seen[r], first_position + p)) continue;
      const uint weight = uint(rounded(scaled_weight(page, p, r, group), factor));
      low |= (weight & (1u << kPlaneBits) - 1u) << 8u * i;
      high |= (weight >> kPlaneBits) << 8u * i;
    }
    low_planes[n] = low;
    high_planes[n] = high;
  }
  barrier();
}

// A whole number of any size, rounded to the nearest, ties to even.
float float_of(int whole) { return add(mul(float(whole >> 12), 4096.0), float(whole & 0xfff)); }

// Element `d` of the page's values, weighed for row `r`.
float int_value(Words page, uint d, uint r) {
  const uint of_row = r * kValueGroups + d / kQ8Group;
  int low = 0, high = 0;
  for (uint first = 0u; first < kQuads; first += kBatch) {
    uint batch[kBatch];
    UNROLL for (uint i = 0u; i < kBatch; ++i)
      batch[i] = page.at[push.shape.values_offset / 4u + (first + i) * push.shape.value_stride + d];
    UNROLL for (uint i = 0u; i < kBatch; ++i) {
      low += dot4(batch[i], low_planes[of_row * kQuads + first + i]);
      high += dot4(batch[i], high_planes[of_row * kQuads + first + i]);
    }
  }
  const float unit = unit_for(largest[of_row], kMostWeight);
  return add(mul(float_of(low + (high << kPlaneBits)), unit), 0.0);
}
