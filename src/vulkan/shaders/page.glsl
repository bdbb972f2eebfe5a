// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Keys and values in a page of one head (src/kernels/pages.h), one KV type a compilation (KV_TYPE).
// After exact.glsl and conversions.glsl. The push constants have `layout_`, a PageShape; a page is
// Words from its first byte.
#define KV_F16 0
#define KV_BF16 1
#define KV_Q8 2
#define KV_Q8I 3

const uint kPagePositions = 128u;
const uint kKeyBlock = 16u;
const uint kQ8Group = 32u;

// Offsets in bytes, all even.
struct PageShape {
  uint key_dim;
  uint value_dim;
  uint value_stride;  // elements
  uint key_block_bytes;
  uint key_scales_offset;  // within a block of keys
  uint values_offset;
  uint value_scales_offset;
};

uint half_bits_at(Words page, uint byte_) {
  return page.at[byte_ / 4u] >> (byte_ & 2u) * 8u & 0xffffu;
}
float signed_byte_at(Words page, uint byte_) {
  return float(bitfieldExtract(int(page.at[byte_ / 4u]), int(byte_ & 3u) * 8, 8));
}

// Element `d` of the key at position `p` of the page; of Q8 without its scale.
float key_at(Words page, PageShape shape, uint p, uint d) {
  const uint block = p / kKeyBlock * shape.key_block_bytes, lane = p % kKeyBlock;
#if KV_TYPE == KV_F16
  return from_half(half_bits_at(page, block + (d * kKeyBlock + lane) * 2u));
#elif KV_TYPE == KV_BF16
  const uint element = (d / 2u * kKeyBlock + lane) * 2u + (d & 1u);
  return from_bfloat16(half_bits_at(page, block + element * 2u));
#else
  return signed_byte_at(page, block + d * kKeyBlock + lane);
#endif
}
float value_at(Words page, PageShape shape, uint p, uint d) {
#if KV_TYPE == KV_F16
  const uint element = p * shape.value_stride + d;
  return from_half(half_bits_at(page, shape.values_offset + element * 2u));
#elif KV_TYPE == KV_BF16
  const uint element = (p / 2u * shape.value_stride + d) * 2u + (p & 1u);
  return from_bfloat16(half_bits_at(page, shape.values_offset + element * 2u));
#else
  return signed_byte_at(page, shape.values_offset + p * shape.value_stride + d);
#endif
}

// Where the scale of a group of 32 stands, in bytes.
uint key_scale_offset(PageShape shape, uint p, uint group) {
  return p / kKeyBlock * shape.key_block_bytes + shape.key_scales_offset +
         (group * kKeyBlock + p % kKeyBlock) * 2u;
}
uint value_scale_offset(PageShape shape, uint p, uint group) {
  return shape.value_scales_offset + (group * kPagePositions + p) * 2u;
}
