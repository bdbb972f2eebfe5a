// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/math.h"

#include <bit>
#include <cstdint>

#include "base/check.h"

namespace aster::kernels {
namespace {

// Two parts of ln 2 and three of pi / 2. All but the last end in zeros, so that products with the
// whole numbers here are exact.
constexpr double kLn2High = 0x1.62e42fefa38p-1;
constexpr double kLn2Low = 0x1.ef35793c7673p-45;
constexpr double kInverseLn2 = 0x1.71547652b82fep0;
constexpr double kHalfPiHigh = 0x1.921fb54p0;
constexpr double kHalfPiMiddle = 0x1.10b4611p-30;
constexpr double kHalfPiLow = 0x1.4c4c6628b80dcp-59;
constexpr double kInverseHalfPi = 0x1.45f306dc9c883p-1;

// Adding it rounds a double of modest size to an integer in the low bits of the sum.
constexpr double kRoundingShift = 0x1.8p52;

// x^first/first! - x^(first+2)/(first+2)! + … to the last power.
double AlternatingSeries(double x, int first, int last) {
  const double x2 = x * x;
  double sum = 1.0;
  for (int power = last; power > first; power -= 2) {
    sum = 1.0 - sum * x2 / static_cast<double>(power * (power - 1));
  }
  return first == 1 ? x * sum : sum;
}

}  // namespace

double Log(double x) {
  const auto bits = std::bit_cast<uint64_t>(x);
  DCHECK(x > 0 && (bits >> 52) != 0 && (bits >> 52) != 0x7ff);
  // x = 2^exponent * m with m in [sqrt(1/2), sqrt(2)): the offset moves the border there.
  constexpr uint64_t kSqrtHalf = 0x3fe6a09e667f3bcd;
  const uint64_t offset = bits - kSqrtHalf;
  const auto exponent = static_cast<double>(static_cast<int64_t>(offset) >> 52);
  const auto m = std::bit_cast<double>((offset & 0xfffffffffffff) + kSqrtHalf);
  // ln m = 2 atanh(s), whose series ends below 2^-53 of its first term.
  const double s = (m - 1.0) / (m + 1.0);
  const double s2 = s * s;
  double series = 0.0;
  for (int power = 23; power >= 3; power -= 2) {
    series = (series + 1.0 / static_cast<double>(power)) * s2;
  }
  return exponent * kLn2High + (2.0 * s + (2.0 * s * series + exponent * kLn2Low));
}

double Exp(double x) {
  DCHECK(x >= -700.0 && x <= 700.0);
  const double shifted = x * kInverseLn2 + kRoundingShift;
  const double n = shifted - kRoundingShift;
  const double r = (x - n * kLn2High) - n * kLn2Low;
  double sum = 1.0;
  for (int power = 14; power >= 1; --power) sum = 1.0 + r * sum / static_cast<double>(power);
  return std::bit_cast<double>(std::bit_cast<uint64_t>(sum) +
                               (std::bit_cast<uint64_t>(shifted) << 52));
}

double Power(double base, double exponent) { return Exp(exponent * Log(base)); }

SineAndCosine SinCos(double x) {
  DCHECK(x >= -0x1p24 && x <= 0x1p24);
  const double shifted = x * kInverseHalfPi + kRoundingShift;
  const double n = shifted - kRoundingShift;
  const double r = ((x - n * kHalfPiHigh) - n * kHalfPiMiddle) - n * kHalfPiLow;
  const double sine = AlternatingSeries(r, 1, 17);
  const double cosine = AlternatingSeries(r, 0, 18);
  switch (std::bit_cast<uint64_t>(shifted) & 3) {
    case 0:
      return {sine, cosine};
    case 1:
      return {cosine, -sine};
    case 2:
      return {-sine, -cosine};
    default:
      return {-cosine, sine};
  }
}

}  // namespace aster::kernels
