#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The experts of a row by their scores, and their weights (SelectGroupedExperts and RouterWeights
// of src/kernels/routing.cc): a workgroup a row. The next expert is the best of those that follow the
// last chosen one in the order of scores, then numbers, so that chosen ones need not be marked.
#include "memory.glsl"
#include "exact.glsl"
#include "row_groups.glsl"

layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
  Floats scores;  // [rows][stride]
  Floats bias;    // [experts], for the choice only
  Words given;    // [rows][used] experts, where scores do not choose
  WordsOut ids;   // [rows][used]
  FloatsOut weights;
  Floats scales;  // [experts], of the weights
  uint rows;
  uint experts;
  uint stride;
  uint used;
  uint has_bias;
  uint is_given;
  uint normalized;
  float lowest_sum;
  float scale;
  uint groups;  // of neighbouring experts, at most one for an invocation
  uint used_groups;
  uint has_scales;
} push;

shared float best_scores[64];
shared uint best_experts[64];
shared float group_ranks[64];
shared uint group_is_used[64];
const uint kNone = 0xffffffffu;

// NaN ranks with minus infinity.
float rank_of(uint row, uint expert) {
  const float score = push.scores.at[row * push.stride + expert];
  const float rank_ = push.has_bias != 0u ? add(score, push.bias.at[expert]) : flushed(score);
  return is_nan(rank_) ? MINUS_INFINITY : rank_;
}
// Whether expert `a` comes before `b`.
bool precedes(float score_a, uint a, float score_b, uint b) {
  return b == kNone || score_a > score_b || (score_a == score_b && a < b);
}

// By the largest score of a group or, where there is a bias, by the sum of its two largest.
float rank_of_group(uint row, uint first, uint size) {
  float best = MINUS_INFINITY;
  float second = MINUS_INFINITY;
  for (uint i = first; i < first + size; ++i) {
    const float score = rank_of(row, i);
    if (score > best) {
      second = best;
      best = score;
    } else if (score > second) {
      second = score;
    }
  }
  const float rank_ = push.has_bias != 0u ? add(best, second) : best;
  return is_nan(rank_) ? MINUS_INFINITY : rank_;
}

// Chooses the groups from which experts are chosen: those that fewer than used_groups others precede.
void choose_groups(uint row) {
  const uint t = gl_LocalInvocationID.x;
  const uint size = push.experts / push.groups;
  if (t < push.groups) group_ranks[t] = rank_of_group(row, t * size, size);
  barrier();
  if (t < push.groups) {
    uint before = 0u;
    for (uint i = 0u; i < push.groups; ++i)
      if (i != t && precedes(group_ranks[i], i, group_ranks[t], t)) ++before;
    group_is_used[t] = before < push.used_groups ? 1u : 0u;
  }
  barrier();
}
bool may_choose(uint expert) {
  return push.groups == 1u || group_is_used[expert / (push.experts / push.groups)] != 0u;
}

// The first expert after `last`, computed by all invocations together.
uint next_expert(uint row, uint last) {
  const uint t = gl_LocalInvocationID.x;
  const float last_score = rank_of(row, last == kNone ? 0u : last);
  float best_score = 0.0;
  uint best = kNone;
  for (uint i = t; i < push.experts; i += gl_WorkGroupSize.x) {
    if (!may_choose(i)) continue;
    const float score = rank_of(row, i);
    const bool follows = last == kNone || (last != i && precedes(last_score, last, score, i));
    if (follows && precedes(score, i, best_score, best)) {
      best_score = score;
      best = i;
    }
  }
  barrier();
  best_scores[t] = best_score;
  best_experts[t] = best;
  barrier();
  for (uint half_ = gl_WorkGroupSize.x / 2u; half_ > 0u; half_ /= 2u) {
    if (t < half_ && best_experts[t + half_] != kNone &&
        precedes(best_scores[t + half_], best_experts[t + half_], best_scores[t],
                 best_experts[t])) {
      best_scores[t] = best_scores[t + half_];
      best_experts[t] = best_experts[t + half_];
    }
    barrier();
  }
  return best_experts[0];
}

void main() {
  const uint row = row_of_group();
  if (row >= push.rows) return;
  const uint first = row * push.used;
  uint expert = kNone;
  float sum = 0.0;
  if (push.groups > 1u) choose_groups(row);
  for (uint i = 0u; i < push.used; ++i) {
    if (push.is_given != 0u) expert = push.given.at[first + i];
    else expert = next_expert(row, expert);
    sum = add(sum, push.scores.at[row * push.stride + expert]);
    if (gl_LocalInvocationID.x == 0u) push.ids.at[first + i] = expert;
  }
  if (sum < push.lowest_sum) sum = push.lowest_sum;
  // Experts by their numbers once more, from the invocation that has written them.
  for (uint i = 0u; i < push.used && gl_LocalInvocationID.x == 0u; ++i) {
    const uint chosen = push.ids.at[first + i];
    const float score = push.scores.at[row * push.stride + chosen];
    const float share = push.normalized != 0u ? divide(score, sum) : flushed(score);
    const float weight = mul(share, push.scale);
    push.weights.at[first + i] =
        push.has_scales != 0u ? mul(weight, push.scales.at[chosen]) : weight;
  }
}
