#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Writes rows of keys and values into pages (WriteRows of src/kernels/ref/attention.cc), F16 and
// BF16. An invocation owns whole words: if two positions share one, it writes both halves, or keeps
// that of a position that is not written. A workgroup has two neighbouring positions of one key/value
// head.
#include "memory.glsl"
#include "exact.glsl"
#include "conversions.glsl"
#include "page.glsl"
#include "written.glsl"

layout(local_size_x = 64) in;

uint narrow(float x) {
#if KV_TYPE == KV_F16
  return to_half(x);
#else
  return to_bfloat16(x);
#endif
}
uint key_bits(uint position, uint d) {
  return d < push.shape.key_dim ? narrow(key_at(position, d)) : 0u;
}
uint value_bits(uint position, uint d) {
  return d < push.shape.value_dim ? narrow(push.values.at[value_row(position) + d]) : 0u;
}

// Writes a word with numbers of position `even` in its low half and of the next in its high half.
void write_shared(WordsOut page, uint byte_, uint even, uint low, uint high) {
  const uint mask = (is_written(even) ? 0xffffu : 0u) | (is_written(even + 1u) ? 0xffff0000u : 0u);
  const uint at = byte_ / 4u;
  page.at[at] = page.at[at] & ~mask | (low | high << 16) & mask;
}

void main() {
  const uint even = first_position(2u);
  if (!is_written(even) && !is_written(even + 1u)) return;
  WordsOut page = page_of(even);
  const uint p = even % kPagePositions;
  const uint block = p / kKeyBlock * push.shape.key_block_bytes, lane = p % kKeyBlock;
#if KV_TYPE == KV_F16
  for (uint d = gl_LocalInvocationID.x; d < push.shape.key_dim; d += gl_WorkGroupSize.x)
    write_shared(page, block + (d * kKeyBlock + lane) * 2u, even, key_bits(even, d),
                 key_bits(even + 1u, d));
  for (uint i = 0u; i < 2u; ++i) {
    if (!is_written(even + i)) continue;
    const uint first = push.shape.values_offset + (p + i) * push.shape.value_stride * 2u;
    for (uint d = 2u * gl_LocalInvocationID.x; d < push.shape.value_stride;
         d += 2u * gl_WorkGroupSize.x)
      page.at[(first + d * 2u) / 4u] =
          value_bits(even + i, d) | value_bits(even + i, d + 1u) << 16;
  }
#else
  for (uint i = 0u; i < 2u; ++i) {
    if (!is_written(even + i)) continue;
    for (uint d = 2u * gl_LocalInvocationID.x; d < push.shape.key_dim; d += 2u * gl_WorkGroupSize.x)
      page.at[(block + (d / 2u * kKeyBlock + lane + i) * 4u) / 4u] =
          key_bits(even + i, d) | key_bits(even + i, d + 1u) << 16;
  }
  const uint first = push.shape.values_offset + p / 2u * push.shape.value_stride * 4u;
  for (uint d = gl_LocalInvocationID.x; d < push.shape.value_stride; d += gl_WorkGroupSize.x)
    write_shared(page, first + d * 4u, even, value_bits(even, d), value_bits(even + 1u, d));
#endif
}
