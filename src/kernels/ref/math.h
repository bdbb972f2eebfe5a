// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Functions of one float as fixed sequences of basic operations: the specification that every
// instruction set repeats lane by lane. Nothing here calls the platform's mathematics library:
// std::fma and std::sqrt are single IEEE operations. For baseline sources only.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/math_constants.h"

namespace aster::kernels::ref {

// The larger one; b if they are equal (also for two zeros) or one is NaN.
inline float Max(float a, float b) { return a > b ? a : b; }

// 2^n times p, for n in the low bits of `shifted` and a p and a result that are normal numbers.
inline float ScaleByShifted(float p, float shifted) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(p) +
                              (std::bit_cast<uint32_t>(shifted) << 23));
}

// Error at most 1 ulp. Zero if e^x is below 2^-126.
inline float Exp(float x) {
  if (std::isnan(x)) return x;
  if (x < kExpMin) return 0.0f;
  if (x > kExpMax) return HUGE_VALF;
  const float shifted = std::fma(x, kLog2E, kRoundingShift);
  const float n = shifted - kRoundingShift;
  float r = std::fma(-n, kLn2High, x);
  r = std::fma(-n, kLn2Low, r);
  const float* c = kExpCoefficients;
  float p = c[4];
  for (int i = 3; i >= 0; --i) p = std::fma(p, r, c[i]);
  p = std::fma(p, r, 1.0f);
  p = std::fma(p, r, 1.0f);
  return ScaleByShifted(p, shifted);
}

// Error at most 1.5 ulp, for x <= 0: the weights of attention. Zero if 2^x is below 2^-126. The
// polynomial is computed in pairs of terms, which shortens the chain of dependent steps.
inline float Exp2(float x) {
  if (std::isnan(x)) return x;
  if (x < kExp2Min) return 0.0f;
  const float shifted = x + kRoundingShift;
  const float r = x - (shifted - kRoundingShift);
  const float r2 = r * r;
  const float* c = kExp2Coefficients;
  float p = std::fma(c[5], r2, std::fma(c[4], r, c[3]));
  p = std::fma(p, r2, std::fma(c[2], r, c[1]));
  p = std::fma(p, r2, std::fma(c[0], r, 1.0f));
  // As a product, because p may be just below 1 if n is -126.
  return p * ScaleByShifted(1.0f, shifted);
}

// Error at most 3 ulp. Zero below -88.7.
inline float Sigmoid(float x) { return 1.0f / (1.0f + Exp(-x)); }

// x * sigmoid(x) in one division; NaN at minus infinity.
inline float Silu(float x) { return x / (1.0f + Exp(-x)); }

// ln(1 + e^x) as max(x, 0) + ln(1 + u) with u = e^-|x|. Error at most 3 ulp.
inline float Softplus(float x) {
  const float u = Exp(-std::fabs(x));
  const float s = u / (2.0f + u);
  const float s2 = s * s;
  const float* c = kLog1pCoefficients;
  float q = c[4];
  for (int i = 3; i >= 0; --i) q = std::fma(q, s2, c[i]);
  const float log1p = std::fma(s2 * s, q, s + s);
  return (x > 0.0f ? x : 0.0f) + log1p;
}

inline float SqrtSoftplus(float x) { return std::sqrt(Softplus(x)); }

// silu(min(gate, limit)) * (up within ±limit). NaN stays NaN.
inline float Swiglu(float gate, float up, float limit) {
  const float g = limit < gate ? limit : gate;
  const float u = limit < up ? limit : up;
  return Silu(g) * (u < -limit ? -limit : u);
}

// gpt-oss: g * sigmoid(1.702 * g) * (u + 1), both limited as above. NaN stays NaN.
inline float SwigluOai(float gate, float up, float limit) {
  const float g = limit < gate ? limit : gate;
  const float u = limit < up ? limit : up;
  const float gated = g / (1.0f + Exp(-(kSwigluOaiSlope * g)));
  return gated * ((u < -limit ? -limit : u) + 1.0f);
}

// The tanh form: x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2, whose second factor is a
// sigmoid. NaN at minus infinity.
inline float Gelu(float x) {
  const float slope = std::fma(x * x, kGeluCubic, kGeluLinear);
  return x / (1.0f + Exp(-(x * slope)));
}

// gelu(min(gate, limit)) * (up within ±limit). NaN stays NaN.
inline float Geglu(float gate, float up, float limit) {
  const float g = limit < gate ? limit : gate;
  const float u = limit < up ? limit : up;
  return Gelu(g) * (u < -limit ? -limit : u);
}

// cap * tanh(x / cap), with tanh = (1 - u) / (1 + u) and u = e^-2|x|. The error is at most 2^-22 of
// the cap.
inline float Softcap(float x, float cap) {
  const float ratio = x / cap;
  const float u = Exp(-2.0f * std::fabs(ratio));
  const float capped = cap * ((1.0f - u) / (1.0f + u));
  return ratio < 0.0f ? -capped : capped;
}

}  // namespace aster::kernels::ref
