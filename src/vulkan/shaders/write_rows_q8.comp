#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Writes rows of keys and values into pages of bytes with a scale per 32 (ToQ8 of src/kernels/ref/ops.cc,
// WriteRows of src/kernels/ref/attention.cc). A workgroup has four neighbouring positions of one
// key/value head, whose keys share words (or, of Q8I, whose values do); it takes 32 elements of each
// at a time.
#include "memory.glsl"
#include "exact.glsl"
#include "conversions.glsl"
#include "functions.glsl"
#include "page.glsl"
#include "written.glsl"

layout(local_size_x = 128) in;
const uint kTogether = 4u;
shared uint largest[kTogether];
shared bool finite[kTogether];
shared int quants[kTogether][kQ8Group];
shared uint scales[kTogether];

// Invocation 32 * i + e has element e of position i; one beyond the row's end does not count.
// Leaves the group's quants, and scales as halves.
void quantise(float x, bool counts) {
  const uint i = gl_LocalInvocationID.x / kQ8Group, e = gl_LocalInvocationID.x % kQ8Group;
  barrier();
  if (e == 0u) {
    largest[i] = 0u;
    finite[i] = true;
  }
  barrier();
  if (counts) {
    if ((BITS(x) & kInfBits) == kInfBits) finite[i] = false;
    else if ((BITS(x) & kInfBits) != 0u) atomicMax(largest[i], BITS(x) & ~kSign);
  }
  barrier();
  uint scale_bits = to_half(divide(FLOAT(largest[i]), 127.0));
  if (!finite[i] || scale_bits == 0x7c00u) scale_bits = 0x7e00u;
  if (e == 0u) scales[i] = scale_bits;
  const float scale = from_half(scale_bits);
  int quant = 0;
  if (counts && scale > 0.0) {
    const float scaled = mul(x, divide(1.0, scale));
    const float held = scaled < -127.0 ? -127.0 : (127.0 < scaled ? 127.0 : scaled);
    quant = int(sub(add(held, kRoundingShift), kRoundingShift));
  }
  quants[i][e] = quant;
  barrier();
}

// Replaces the bytes of a word that the mask has.
void write_masked(WordsOut page, uint byte_, uint word, uint mask) {
  const uint at = byte_ / 4u;
  page.at[at] = page.at[at] & ~mask | word & mask;
}

// Scales of two neighbouring positions share a word.
void write_scales(WordsOut page, uint first, uint i, uint byte_) {
  const uint mask = (is_written(first + i) ? 0xffffu : 0u) |
                    (is_written(first + i + 1u) ? 0xffff0000u : 0u);
  if (mask != 0u) write_masked(page, byte_, scales[i] | scales[i + 1u] << 16, mask);
}

// Which bytes of a word that the positions share are written.
uint mask_of_positions(uint first) {
  uint mask = 0u;
  for (uint n = 0u; n < kTogether; ++n)
    if (is_written(first + n)) mask |= 255u << 8u * n;
  return mask;
}

// Element e of all positions, by the first position's invocations.
void write_by_positions(WordsOut page, uint byte_, uint mask) {
  const uint i = gl_LocalInvocationID.x / kQ8Group, e = gl_LocalInvocationID.x % kQ8Group;
  if (i != 0u) return;
  uint word = 0u;
  for (uint n = 0u; n < kTogether; ++n) word |= (uint(quants[n][e]) & 255u) << 8u * n;
  write_masked(page, byte_, word, mask);
}

// Four elements of a position, of which `count` are there, by the first one's invocation.
void write_by_elements(WordsOut page, uint byte_, uint count) {
  const uint i = gl_LocalInvocationID.x / kQ8Group, e = gl_LocalInvocationID.x % kQ8Group;
  if (e % 4u != 0u) return;
  uint word = 0u, mask = 0u;
  for (uint n = 0u; n < 4u; ++n) {
    word |= (uint(quants[i][e + n]) & 255u) << 8u * n;
    if (n < count) mask |= 255u << 8u * n;
  }
  write_masked(page, byte_, word, mask);
}

void write_keys(WordsOut page, uint first) {
  const uint t = gl_LocalInvocationID.x, i = t / kQ8Group, e = t % kQ8Group;
  const uint p = first % kPagePositions, block = p / kKeyBlock * push.shape.key_block_bytes;
  const uint mask = mask_of_positions(first);
  for (uint begin = 0u; begin < push.shape.key_dim; begin += kQ8Group) {
    const uint d = begin + e;
    const bool counts = d < push.shape.key_dim;
    const float key = key_at(first + i, min(d, push.shape.key_dim - 1u));
    quantise(counts ? key : 0.0, counts);
#if KV_TYPE == KV_Q8I
    // Bytes after the row's end are not changed.
    const uint at = block + (d / 4u * kKeyBlock + (p + i) % kKeyBlock) * 4u;
    if (counts && is_written(first + i)) write_by_elements(page, at, push.shape.key_dim - d);
#else
    if (counts) write_by_positions(page, block + d * kKeyBlock + p % kKeyBlock, mask);
#endif
    if (t < 2u)
      write_scales(page, first, 2u * t, key_scale_offset(push.shape, p + 2u * t, begin / kQ8Group));
  }
}

void write_values(WordsOut page, uint first) {
  const uint t = gl_LocalInvocationID.x, i = t / kQ8Group, e = t % kQ8Group;
  const uint p = first % kPagePositions, stride = push.shape.value_stride;
  const uint mask = mask_of_positions(first);
  // The stride is a multiple of 16: elements beyond the row's end are zero.
  for (uint begin = 0u; begin < stride; begin += kQ8Group) {
    const uint d = begin + e;
    const bool counts = d < push.shape.value_dim;
    const float value = push.values.at[value_row(first + i) + min(d, push.shape.value_dim - 1u)];
    quantise(counts ? value : 0.0, counts);
#if KV_TYPE == KV_Q8I
    const uint at = push.shape.values_offset + (p / 4u * stride + d) * 4u;
    if (d < stride) write_by_positions(page, at, mask);
#else
    const uint at = push.shape.values_offset + (p + i) * stride + d;
    if (d < stride && is_written(first + i)) write_by_elements(page, at, 4u);
#endif
    if (t < 2u && begin < push.shape.value_dim) {
      const uint scale_at = value_scale_offset(push.shape, p + 2u * t, begin / kQ8Group);
      write_scales(page, first, 2u * t, scale_at);
    }
  }
}

void main() {
  const uint first = first_position(kTogether);
  const Span span = span_of_group();
  if (first >= span.position + span.rows) return;
  WordsOut page = page_of(first);
  write_keys(page, first);
  write_values(page, first);
}
