#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Slots (one for each expert of a row) by their experts, so that products read the weights of an
// expert once for `together` slots: those of each expert in ascending order, filled up with kNoSlot
// to a multiple of `together`; then kNoSlot to the end. One workgroup; an invocation an expert.
#include "memory.glsl"

layout(local_size_x = 256) in;
layout(push_constant) uniform Push {
  Words ids;       // [slots] of experts
  WordsOut result; // [size] slots
  uint slots;
  uint experts;
  uint together;
  uint size;
} push;

const uint kNoSlot = 0xffffffffu;
const uint kThreads = 256u;
shared uint staged[kThreads];
shared uint counts[kThreads];

uint padded(uint count) { return (count + push.together - 1u) / push.together * push.together; }

// How many slots go to the expert; written from `at` on, unless it is kNoSlot.
uint scan(uint expert, uint at) {
  uint count = 0u;
  for (uint first = 0u; first < push.slots; first += kThreads) {
    const uint mine = first + gl_LocalInvocationID.x;
    barrier();
    if (mine < push.slots) staged[gl_LocalInvocationID.x] = push.ids.at[mine];
    barrier();
    for (uint i = 0u; i < min(kThreads, push.slots - first); ++i) {
      if (staged[i] != expert) continue;
      if (at != kNoSlot) push.result.at[at + count] = first + i;
      ++count;
    }
  }
  return count;
}

void main() {
  const uint t = gl_LocalInvocationID.x;
  uint used = 0u;  // of the result, by the experts before
  for (uint first = 0u; first < push.experts; first += kThreads) {
    const uint count = scan(first + t, kNoSlot);
    counts[t] = count;
    barrier();
    uint at = used;
    for (uint i = 0u; i < t; ++i) at += padded(counts[i]);
    for (uint i = 0u; i < kThreads; ++i) used += padded(counts[i]);
    scan(first + t, at);
    for (uint i = count; i < padded(count); ++i) push.result.at[at + i] = kNoSlot;
  }
  for (uint i = used + t; i < push.size; i += kThreads) push.result.at[i] = kNoSlot;
}
