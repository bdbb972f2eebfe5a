#version 450
// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// EncodeLatentRow of src/kernels/latent.cc: a workgroup a row, which begins at a word. An
// invocation makes whole words.
#include "memory.glsl"
#include "exact.glsl"
#include "conversions.glsl"
#include "latent.glsl"
#include "row_groups.glsl"

layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
  Floats x;         // [rows], stride floats apart
  WordsOut packed;  // [rows][row_words]
  uint rows;
  uint stride;
  uint row_bytes;
  uint row_words;
  LatentShape shape;
} push;

const uint kMostGroups = 64u;  // of a row of kMaxLatentDim elements
// The bits of their largest magnitudes, then their exponents or scales.
shared uint groups[kMostGroups];

const bool kIsBytes = kFormat == kF8 || kFormat == kF8Fine;
const bool kIsScaled = kFormat == kF4Scaled;
const uint kGroup = kFormat == kF8       ? kF8Group
                    : kFormat == kF8Fine ? kF8FineGroup
                    : kIsScaled          ? kF4ScaledGroup
                                         : kF4Group;

// Elements that are in groups.
uint grouped() { return kFormat == kF16 ? 0u : kFormat == kF8 ? push.shape.unrotated : push.shape.dim; }
// The least bits of a group's largest magnitude: smaller ones count as this.
uint smallest() { return kIsBytes ? 0x38d1b717u : kIsScaled ? 0x3c400000u : 0x01c00000u; }

// The biased exponent of the smallest power of two whose product with the format's limit reaches a
// group's largest magnitude.
uint exponent_for(uint largest) {
  if (largest >= kInfBits) return kNanExponent;
  const uint bits = BITS(divide(FLOAT(largest), kIsBytes ? 448.0 : 6.0));
  return (bits >> 23) + ((bits & kMantissa) != 0u ? 1u : 0u);
}

// Of a magnitude up to 448.
uint to_e4m3(float value) {
  const uint sign = BITS(value) >> 24 & 0x80u, magnitude = BITS(value) & ~kSign;
  if (magnitude < 121u << 23) {  // 2^-6: counts of 2^-9, which an addition rounds
    const float count = sub(add(mul(FLOAT(magnitude), 512.0), 8388608.0), 8388608.0);
    return sign | uint(count);
  }
  return sign | (magnitude + 0x7ffffu + (magnitude >> 20 & 1u) >> 20) - (120u << 3);
}
// Of a magnitude up to 6; ties to even.
uint to_e2m1(float value) {
  const uint sign = BITS(value) >> 28 & 8u;
  const float magnitude = abs(value);
  if (magnitude <= 0.25) return sign;
  if (magnitude < 0.75) return sign | 1u;
  if (magnitude <= 1.25) return sign | 2u;
  if (magnitude < 1.75) return sign | 3u;
  if (magnitude <= 2.5) return sign | 4u;
  if (magnitude < 3.5) return sign | 5u;
  return sign | (magnitude <= 5.0 ? 6u : 7u);
}

// A group's scale as an 8-bit float.
const uint kNanScale = 0x7fu;
uint scale_for(uint largest) {
  if (largest >= kInfBits) return kNanScale;
  return to_e4m3(min(divide(FLOAT(largest), 6.0), 448.0));
}

// The code of element `d` of a row.
uint code_of(uint row, uint d) {
  if (kIsScaled) {
    const uint scale = groups[d / kGroup];
    if (scale == kNanScale) return 0u;
    return to_e2m1(divide(push.x.at[row * push.stride + d], from_e4m3(scale)));
  }
  const uint exponent = groups[d / kGroup];
  if (exponent == kNanExponent) return 0u;
  const float scaled = mul(push.x.at[row * push.stride + d], FLOAT(254u - exponent << 23));
  return kIsBytes ? to_e4m3(scaled) : to_e2m1(scaled);
}
uint half_byte(uint row, uint d, uint upper) {
  return to_half(push.x.at[row * push.stride + d]) >> upper * 8u & 0xffu;
}

uint packed_byte(uint row, uint byte_) {
  if (kFormat == kF16) return half_byte(row, byte_ / 2u, byte_ & 1u);
  if (kFormat == kF4 || kIsScaled) {
    const uint codes = push.shape.dim / 2u, middle = kF4Group / 2u;
    if (byte_ >= codes) return groups[byte_ - codes];
    const uint d = byte_ / middle * kF4Group + byte_ % middle;
    return code_of(row, d) | code_of(row, d + middle) << 4;
  }
  if (kFormat == kF8Fine)
    return byte_ < push.shape.dim ? code_of(row, byte_) : groups[byte_ - push.shape.dim];
  if (byte_ < push.shape.unrotated) return code_of(row, byte_);
  const uint group_count = (push.shape.unrotated + kF8Group - 1u) / kF8Group;
  const uint behind = byte_ - push.shape.unrotated;
  if (behind < group_count) return groups[behind];
  const uint halves = behind - group_count;
  return half_byte(row, push.shape.unrotated + halves / 2u, halves & 1u);
}

void main() {
  const uint t = gl_LocalInvocationID.x, row = row_of_group();
  if (row >= push.rows) return;
  if (t < kMostGroups) groups[t] = smallest();
  barrier();
  for (uint d = t; d < grouped(); d += gl_WorkGroupSize.x)
    atomicMax(groups[d / kGroup], BITS(push.x.at[row * push.stride + d]) & ~kSign);
  barrier();
  if (t < kMostGroups) groups[t] = kIsScaled ? scale_for(groups[t]) : exponent_for(groups[t]);
  barrier();
  for (uint word = t; word < push.row_words; word += gl_WorkGroupSize.x) {
    uint bytes = 0u;
    for (uint i = 0u; i < 4u && 4u * word + i < push.row_bytes; ++i)
      bytes |= packed_byte(row, 4u * word + i) << 8u * i;
    push.packed.at[row * push.row_words + word] = bytes;
  }
}
