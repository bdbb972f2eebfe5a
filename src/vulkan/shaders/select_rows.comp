#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// SelectLargest of src/kernels/latent.cc: the numbers of the rows that rank highest, the earliest of
// equal ones, ascending. A workgroup a token. The rank of the last chosen row is found by counting,
// byte by byte from the upper end; then every invocation lists its share of the rows. Blocks are
// chosen likewise (kBlocks), listed as floats, followed by the newest, which is not ranked.
#include "memory.glsl"
#include "exact.glsl"
#include "ranks.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 2) const bool kBlocks = false;
layout(push_constant) uniform Push {
  Floats scores;
  Words tasks;
  WordsOut chosen;  // [rows of the batch], stride words apart
  Floats blocks;    // as rank_rows.comp has them
  uint top;         // no more than any task has rows
  uint stride;
  uint block_stride;
  uint block_rows;
} push;

const uint kThreads = 256u;
shared uint counts[kThreads];
shared uint above[kThreads], equal[kThreads];  // of shares before an invocation's
shared uint prefix, wanted;

// Unsigned numbers in the order of scores: NaN ranks with minus infinity, zeros are equal.
uint key_of(uint at) {
  const float score = flushed(push.scores.at[at]);
  const uint bits = is_nan(score) ? kInfBits | kSign : score == 0.0 ? 0u : BITS(score);
  return (bits & kSign) != 0u ? ~bits : bits | kSign;
}

// Narrows `prefix`, the upper bytes of the last chosen key, by one more, and `wanted`, how many of
// the rows with this prefix are chosen.
void narrow(uint first, uint count, uint shift) {
  const uint t = gl_LocalInvocationID.x;
  counts[t] = 0u;
  barrier();
  for (uint i = t; i < count; i += kThreads) {
    const uint key = key_of(first + i);
    const bool matches = shift == 24u || key >> shift + 8u == prefix;
    if (matches) atomicAdd(counts[key >> shift & 255u], 1u);
  }
  barrier();
  if (t == 0u) {
    uint digit = 255u;
    for (; counts[digit] < wanted; --digit) wanted -= counts[digit];
    prefix = shift == 24u ? digit : prefix << 8 | digit;
  }
  barrier();
}

void main() {
  const uint t = gl_LocalInvocationID.x;
  const Task task = task_at(push.tasks, gl_WorkGroupID.x);
  const uint count = task.rows, first = task.first_score;
  if (t == 0u) {
    wanted = push.top;
    prefix = 0u;
  }
  barrier();
  for (uint i = 0u; i < 4u; ++i) narrow(first, count, 24u - 8u * i);
  // Shares of neighbouring rows, and how many are chosen before each.
  const uint share = (count + kThreads - 1u) / kThreads;
  const uint begin = min(t * share, count), end = min(begin + share, count);
  uint more = 0u, same = 0u;
  for (uint i = begin; i < end; ++i) {
    const uint key = key_of(first + i);
    if (key > prefix) ++more;
    if (key == prefix) ++same;
  }
  above[t] = more;
  equal[t] = same;
  barrier();
  if (t == 0u) {
    uint all_above = 0u, all_equal = 0u;
    for (uint i = 0u; i < kThreads; ++i) {
      const uint here_above = above[i], here_equal = equal[i];
      above[i] = all_above;
      equal[i] = all_equal;
      all_above += here_above;
      all_equal += here_equal;
    }
  }
  barrier();
  uint taken = equal[t];  // of those that are as high as the last one chosen
  uint at = task.row * push.stride + above[t] + min(taken, wanted);
  for (uint i = begin; i < end; ++i) {
    const uint key = key_of(first + i);
    const bool is_chosen = key > prefix || (key == prefix && taken < wanted);
    if (key == prefix) ++taken;
    if (!is_chosen) continue;
    push.chosen.at[at++] =
        kBlocks ? BITS(float(i))
                : row_of_task(task, i, push.blocks, push.block_stride, push.block_rows);
  }
  if (kBlocks && t == 0u) push.chosen.at[task.row * push.stride + push.top] = BITS(float(count));
}
