// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The constants of exp, 2^x and softplus in single precision: part of the arithmetic, so they never
// change without a new arithmetic version. ref/math.h has the steps that use them. Plain data:
// sources compiled for one instruction set may include this.
// | The polynomials are minimax fits of the relative error, their coefficients rounded to float one
// after the other with the rest fitted again; the first error is that of the polynomial alone.
#pragma once

#include <cstdint>

namespace aster::kernels {

// Adding 1.5 * 2^23 to a float of modest size rounds it to an integer, which is then in the low
// bits of the sum.
inline constexpr float kRoundingShift = 0x1.8p23f;

inline constexpr float kLog2E = 0x1.715476p0f;   // 1 / ln 2
inline constexpr float kLn2High = 0x1.62e4p-1f;  // ln 2 in two parts; products of the first with an
inline constexpr float kLn2Low = 0x1.7f7d1cp-20f;  // exponent are exact

// e^x is infinite above the first and zero below the second; between them it is a normal float.
inline constexpr float kExpMax = 0x1.62e42ep6f;   // 88.72283
inline constexpr float kExpMin = -0x1.5d589ep6f;  // -87.33654
inline constexpr float kExp2Min = -126.0f;

// e^r = 1 + r + r^2 * (c[0] + c[1] r + …) for |r| <= ln 2 / 2; 2^-28.2.
inline constexpr float kExpCoefficients[] = {0x1.fffffcp-2f, 0x1.55548cp-3f, 0x1.555858p-5f,
                                             0x1.123dep-7f, 0x1.6ac74cp-10f};

// 2^r = 1 + c[0] r + c[1] r^2 + … for |r| <= 1/2; 2^-25.7.
inline constexpr float kExp2Coefficients[] = {0x1.62e432p-1f, 0x1.ebfbe6p-3f,  0x1.c6ace2p-5f,
                                              0x1.3b2aap-7f,  0x1.601eb2p-10f, 0x1.40b28ap-13f};

// ln((1 + s) / (1 - s)) = 2 s + s^3 * (c[0] + c[1] s^2 + …) for 0 <= s <= 1/3; 2^-33.
inline constexpr float kLog1pCoefficients[] = {0x1.555558p-1f, 0x1.9996d8p-2f, 0x1.250514p-2f,
                                               0x1.b72ad8p-3f, 0x1.f090acp-3f};

// The factor of a gate of gpt-oss before the sigmoid.
inline constexpr float kSwigluOaiSlope = 1.702f;

// gelu(x) is x * sigmoid(x * (kGeluLinear + kGeluCubic * x^2)): 2 sqrt(2 / pi), and 0.044715 of it.
inline constexpr float kGeluLinear = 0x1.988454p0f;
inline constexpr float kGeluCubic = 0x1.2444f2p-4f;

// Sums in fixed point (OpsTable::fixed_accumulate): the unit is 2^-32.
inline constexpr double kFixedScale = 0x1p32;
inline constexpr double kFixedTermLimit = 0x1p50;             // a term is limited to ±2^18
inline constexpr int64_t kFixedNotFinite = int64_t{1} << 57;  // represents NaN and infinity
inline constexpr int64_t kFixedSumLimit = int64_t{1} << 56;   // a larger sum is not finite

}  // namespace aster::kernels
