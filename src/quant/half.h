// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The small floating-point types of model files as bit patterns, and their exact conversions: IEEE
// half (F16), bfloat16 (BF16), the exponent of MX blocks (E8M0) and the unsigned scale of NV blocks
// (UE4M3). Must not know any block layout. Scalar and the same on every machine; fast conversions
// of whole rows are in the kernels.
#pragma once

#include <bit>
#include <cstdint>

namespace aster::quant {

namespace half_internal {

inline constexpr uint32_t kSignMask = 0x80000000u;
inline constexpr uint32_t kInfinity = 0x7f800000u;

}  // namespace half_internal

// Exact: every half is a float. NaN keeps its payload.
constexpr float HalfToFloat(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t magnitude = half & 0x7fffu;
  if (magnitude >= 0x7c00u) {  // infinity or NaN: the exponent stays all ones
    return std::bit_cast<float>(sign | half_internal::kInfinity | (magnitude & 0x3ffu) << 13);
  }
  if (magnitude < 0x400u) {  // below 2^-14: in units of 2^-24
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
  }
  constexpr uint32_t kRebias = (127 - 15) << 23;
  return std::bit_cast<float>(sign | (kRebias + (magnitude << 13)));
}

// To the nearest half, ties to even; infinity from 65520 on. NaN becomes the quiet NaN of its sign.
constexpr uint16_t FloatToHalf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits & half_internal::kSignMask) >> 16);
  uint32_t magnitude = bits & ~half_internal::kSignMask;
  if (magnitude > half_internal::kInfinity) return sign | 0x7e00u;
  if (magnitude >= std::bit_cast<uint32_t>(0x1p16f)) return sign | 0x7c00u;
  if (magnitude < std::bit_cast<uint32_t>(0x1p-14f)) {
    // A float near 0.5 has steps of 2^-24, like small halves: the addition rounds.
    const float rounded = std::bit_cast<float>(magnitude) + 0.5f;
    return sign |
           static_cast<uint16_t>(std::bit_cast<uint32_t>(rounded) - std::bit_cast<uint32_t>(0.5f));
  }
  // Adds half of the lowest kept bit, or just below it if that bit is even. A carry may reach the
  // exponent, up to infinity, which is correct.
  magnitude += 0xfffu + ((magnitude >> 13) & 1);
  return sign | static_cast<uint16_t>((magnitude - ((127 - 15) << 23)) >> 13);
}

// Exact.
constexpr float Bfloat16ToFloat(uint16_t bfloat16) {
  return std::bit_cast<float>(static_cast<uint32_t>(bfloat16) << 16);
}

// To the nearest, ties to even, including subnormals (nothing is flushed to zero); too large
// numbers become infinity. NaN becomes quiet and keeps the upper part of its payload.
constexpr uint16_t FloatToBfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & ~half_internal::kSignMask) > half_internal::kInfinity) {
    return static_cast<uint16_t>((bits >> 16) | 0x40u);
  }
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}

// Half of 2^(exponent - 127): MX blocks are computed with halves of their scale, so that their
// values are integers. The pattern 255, NaN in the standard, is read as 2^128, as published tools
// do.
constexpr float E8m0ToHalfFloat(uint8_t exponent) {
  if (exponent < 2) return std::bit_cast<float>(0x00200000u << exponent);  // subnormal
  return std::bit_cast<float>(static_cast<uint32_t>(exponent - 1) << 23);
}

// Half of an unsigned float of four exponent and three mantissa bits (bias 7). The highest bit is
// ignored, but the patterns 0 and 0x7f are zero, as in published tools.
constexpr float Ue4m3ToHalfFloat(uint8_t bits) {
  if (bits == 0 || bits == 0x7f) return 0.0f;
  const uint32_t exponent = (bits >> 3) & 0xfu;
  const uint32_t mantissa = bits & 7u;
  if (exponent == 0) return static_cast<float>(mantissa) * 0x1p-10f;
  return std::bit_cast<float>((exponent + 127 - 8) << 23 | mantissa << 20);
}

}  // namespace aster::quant
