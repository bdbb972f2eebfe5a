// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Halves and bfloat16 in integers: a device's own conversions may flush or round as they like.
// After exact.glsl.

// Exact, and never a denormal; a NaN keeps its payload. Small halves are counts of 2^-24, which a
// difference makes of them; without branches.
float from_half(uint half_bits) {
  const uint magnitude = half_bits & 0x7fffu, moved = magnitude << 13;
  precise float small = FLOAT(moved + 0x38800000u) - FLOAT(0x38800000u);
  uint bits = moved + (magnitude >= 0x7c00u ? 0x70000000u : 0x38000000u);
  bits = magnitude < 0x400u ? BITS(small) : bits;
  return FLOAT(bits | (half_bits & 0x8000u) << 16);
}

// To nearest even; NaN becomes the quiet NaN of its sign.
uint to_half(float x) {
  const uint sign = BITS(x) >> 16 & 0x8000u;
  const uint magnitude = BITS(x) & ~kSign;
  if (magnitude > kInfBits) return sign | 0x7e00u;
  if (magnitude >= 0x47800000u) return sign | 0x7c00u;  // 2^16
  if (magnitude < 0x38800000u) {                        // 2^-14: a count of 2^-24
    if (magnitude < 0x33000000u) return sign;           // 2^-25
    const uint shift = 126u - (magnitude >> 23), value = magnitude & kMantissa | kHidden;
    const uint count = value >> shift, rest = value & (1u << shift) - 1u;
    const uint middle = 1u << (shift - 1u);
    const bool up = rest > middle || (rest == middle && (count & 1u) != 0u);
    return sign | count + (up ? 1u : 0u);
  }
  return sign | (magnitude + 0xfffu + (magnitude >> 13 & 1u) - 0x38000000u) >> 13;
}

// To nearest even; a NaN keeps its upper bits and is made quiet.
uint to_bfloat16(float x) {
  if (is_nan(x)) return BITS(x) >> 16 | 0x40u;
  return BITS(x) + 0x7fffu + (BITS(x) >> 16 & 1u) >> 16;
}
float from_bfloat16(uint bits) { return FLOAT(bits << 16); }
