// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Rows of latent attention in the formats of src/kernels/latent.h, element by element. Rows stand
// at any byte. After memory.glsl, exact.glsl and conversions.glsl.

layout(constant_id = 2) const uint kFormat = 0u;
const uint kF16 = 0u;
const uint kF8 = 1u;
const uint kF4 = 2u;
const uint kF8Fine = 3u;
const uint kF4Scaled = 4u;

const uint kF8Group = 64u;
const uint kF8FineGroup = 32u;
const uint kF4Group = 32u;
const uint kF4ScaledGroup = 16u;
const uint kNanExponent = 255u;

// Elements of a row, and those of them before the ones that turn.
struct LatentShape {
  uint dim;
  uint unrotated;
};

uint byte_at(Words row, uint byte_) { return row.at[byte_ / 4u] >> (byte_ & 3u) * 8u & 0xffu; }
uint half_at(Words row, uint byte_) { return byte_at(row, byte_) | byte_at(row, byte_ + 1u) << 8; }

// 2^(exponent - 127); all ones are NaN.
float scale_of_exponent(uint exponent) {
  return exponent == kNanExponent ? NOT_A_NUMBER : FLOAT(exponent << 23);
}
float from_e4m3(uint code) {
  const uint sign = (code & 0x80u) << 24, exponent = code >> 3 & 15u, fraction = code & 7u;
  if (exponent == 0u) return FLOAT(sign | BITS(mul(float(fraction), FLOAT(0x3b000000u))));  // 2^-9
  return FLOAT(sign | exponent + 120u << 23 | fraction << 20);
}
float from_e2m1(uint code) {
  const uint sign = (code & 8u) << 28, exponent = code >> 1 & 3u, fraction = code & 1u;
  if (exponent == 0u) return FLOAT(sign | (fraction != 0u ? 0x3f000000u : 0u));
  return FLOAT(sign | exponent + 126u << 23 | fraction << 22);
}

// Of an 8-bit float; all ones are NaN, with any sign.
float scale_of_e4m3(uint code) { return (code & 0x7fu) == 0x7fu ? NOT_A_NUMBER : from_e4m3(code); }

// Element `d` of the row that begins at a byte. The format is a constant wherever this is called.
float element_in(uint format, Words row, uint first, LatentShape shape, uint d) {
  if (format == kF16) return from_half(half_at(row, first + 2u * d));
  if (format == kF4 || format == kF4Scaled) {
    const uint place = d % kF4Group, middle = kF4Group / 2u;
    const uint both = byte_at(row, first + d / kF4Group * middle + place % middle);
    const uint scales = first + shape.dim / 2u;
    const float scale = format == kF4 ? scale_of_exponent(byte_at(row, scales + d / kF4Group))
                                      : scale_of_e4m3(byte_at(row, scales + d / kF4ScaledGroup));
    return mul(from_e2m1(place < middle ? both & 15u : both >> 4), scale);
  }
  if (format == kF8Fine)
    return mul(from_e4m3(byte_at(row, first + d)),
               scale_of_exponent(byte_at(row, first + shape.dim + d / kF8FineGroup)));
  const uint exponents = first + shape.unrotated;
  if (d < shape.unrotated)
    return mul(from_e4m3(byte_at(row, first + d)),
               scale_of_exponent(byte_at(row, exponents + d / kF8Group)));
  const uint halves = exponents + (shape.unrotated + kF8Group - 1u) / kF8Group;
  return from_half(half_at(row, halves + 2u * (d - shape.unrotated)));
}
float element_at(Words row, uint first, LatentShape shape, uint d) {
  return element_in(kFormat, row, first, shape, d);
}
