// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Logarithm, exponential, sine and cosine in double precision, from basic operations only, so that
// tables built with them are the same on every machine. For tables and parameters, not for inner
// loops: those use OpsTable. Must not know what the tables are for.
#pragma once

namespace aster::kernels {

inline constexpr double kPi = 0x1.921fb54442d18p1;

// Natural logarithm of a positive normal number. Error below 2 ulp (of 1 near 1: the error is
// absolute there, 2^-52).
double Log(double x);

// e^x for |x| <= 700. Error below 2 ulp.
double Exp(double x);

// base^exponent for a positive base: Exp(exponent * Log(base)).
double Power(double base, double exponent);

struct SineAndCosine {
  double sine;
  double cosine;
};
// For |x| up to 2^24; the error of either is below 2^-52.
SineAndCosine SinCos(double x);

}  // namespace aster::kernels
