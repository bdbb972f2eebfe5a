// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "base/float_mode.h"
#include "base/random.h"
#include "kernels/ref/math.h"

namespace aster::kernels {
namespace {

// The difference between `actual` and `exact`, in steps of floats of that size.
double UlpsOfFloat(float actual, long double exact) {
  const auto rounded = static_cast<float>(exact);
  const float next = std::nextafter(rounded, std::numeric_limits<float>::infinity());
  const long double step = static_cast<long double>(next) - static_cast<long double>(rounded);
  return static_cast<double>(std::fabs((static_cast<long double>(actual) - exact) / step));
}

double WorstUlps(float first, float last, int steps, const std::function<float(float)>& function,
                 const std::function<long double(long double)>& exact) {
  double worst = 0;
  for (int i = 0; i <= steps; ++i) {
    const float x = first + (last - first) * (static_cast<float>(i) / static_cast<float>(steps));
    worst = std::max(worst, UlpsOfFloat(function(x), exact(x)));
  }
  return worst;
}

// By its definition, with tanh.
long double ExactGelu(long double x) {
  const long double root = std::sqrt(2 / std::numbers::pi_v<long double>);
  return x / 2 * (1 + std::tanh(root * (x + 0.044715L * x * x * x)));
}

TEST(FloatMathTest, ErrorsStayWithinWhatIsStated) {
  // If long double is computed in software, and that in qemu, this takes a minute.
  constexpr int kSteps = std::numeric_limits<long double>::digits > 64 ? 30000 : 300000;
  const auto exp = [](long double x) { return std::exp(x); };
  EXPECT_LE(WorstUlps(kExpMin, kExpMax, kSteps, ref::Exp, exp), 1.0);
  EXPECT_LE(WorstUlps(-1.0f, 1.0f, kSteps, ref::Exp, exp), 1.0);
  EXPECT_LE(
      WorstUlps(kExp2Min, 0.0f, kSteps, ref::Exp2, [](long double x) { return std::exp2(x); }),
      1.5);
  const auto sigmoid = [](long double x) { return 1 / (1 + std::exp(-x)); };
  EXPECT_LE(WorstUlps(-87.0f, 30.0f, kSteps, ref::Sigmoid, sigmoid), 3.0);
  EXPECT_LE(
      WorstUlps(-80.0f, 30.0f, kSteps, ref::Silu, [&](long double x) { return x * sigmoid(x); }),
      3.0);
  const auto softplus = [](long double x) {
    return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
  };
  EXPECT_LE(WorstUlps(-86.0f, 60.0f, kSteps, ref::Softplus, softplus), 3.0);
  EXPECT_LE(WorstUlps(-1.0f, 30.0f, kSteps, ref::Gelu, ExactGelu), 4.0);
  EXPECT_LE(WorstUlps(-2.0f, 2.0f, kSteps, ref::Softplus, softplus), 3.0);
  EXPECT_LE(WorstUlps(-86.0f, 60.0f, kSteps, ref::SqrtSoftplus,
                      [&](long double x) { return std::sqrt(softplus(x)); }),
            3.0);
}

TEST(FloatMathTest, ExpEndsExactlyWhereFloatsEnd) {
  const ComputeFloatMode mode;
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_GE(ref::Exp(kExpMin), 0x1p-126f);
  EXPECT_EQ(ref::Exp(std::nextafter(kExpMin, -infinity)), 0.0f);
  EXPECT_LT(std::exp(static_cast<long double>(std::nextafter(kExpMin, -infinity))), 0x1p-126L);
  EXPECT_LT(ref::Exp(kExpMax), infinity);
  EXPECT_GT(ref::Exp(kExpMax), 0x1.fffp127f);
  EXPECT_EQ(ref::Exp(std::nextafter(kExpMax, infinity)), infinity);
  EXPECT_GT(std::exp(static_cast<long double>(std::nextafter(kExpMax, infinity))),
            static_cast<long double>(std::numeric_limits<float>::max()));
  EXPECT_EQ(ref::Exp(infinity), infinity);
  EXPECT_EQ(ref::Exp(-infinity), 0.0f);
  EXPECT_EQ(ref::Exp(0.0f), 1.0f);
  EXPECT_EQ(ref::Exp2(0.0f), 1.0f);
  EXPECT_EQ(ref::Exp2(-infinity), 0.0f);
  EXPECT_EQ(ref::Exp2(-126.0f), 0x1p-126f);
  EXPECT_EQ(ref::Exp2(-10.0f), 0x1p-10f);
  EXPECT_TRUE(std::isnan(ref::Exp(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_TRUE(std::isnan(ref::Exp2(std::numeric_limits<float>::quiet_NaN())));
}

// All floats near the ends, where a wrong exponent would show.
TEST(FloatMathTest, ExpNeverLeavesTheNormalFloats) {
  float low = kExpMin;
  float high = kExpMax;
  for (int i = 0; i < 100000; ++i) {
    ASSERT_TRUE(std::isnormal(ref::Exp(low))) << low;
    ASSERT_TRUE(std::isnormal(ref::Exp(high))) << high;
    low = std::nextafter(low, 0.0f);
    high = std::nextafter(high, 0.0f);
  }
}

TEST(FloatMathTest, NanStaysNan) {
  const float nan = std::bit_cast<float>(0x7f8fffffu);  // its payload might reach the exponent
  for (const auto function : {ref::Exp, ref::Exp2, ref::Sigmoid, ref::Silu, ref::Softplus}) {
    EXPECT_TRUE(std::isnan(function(nan)));
  }
  EXPECT_TRUE(std::isnan(ref::Swiglu(nan, 1.0f, 2.0f)));
  EXPECT_TRUE(std::isnan(ref::Swiglu(1.0f, nan, 2.0f)));
}

TEST(FloatMathTest, SwigluOaiAddsOneBehindTheLimit) {
  EXPECT_EQ(ref::SwigluOai(0.0f, 5.0f, 7.0f), 0.0f);
  EXPECT_EQ(ref::SwigluOai(1.0f, -1.0f, 7.0f), 0.0f);
  EXPECT_NEAR(ref::SwigluOai(1.0f, 2.0f, 7.0f), 3.0 / (1.0 + std::exp(-1.702)), 1e-6);
  EXPECT_EQ(ref::SwigluOai(50.0f, 30.0f, 7.0f), ref::SwigluOai(7.0f, 7.0f, 7.0f));
  EXPECT_EQ(ref::SwigluOai(1.0f, -30.0f, 7.0f), ref::SwigluOai(1.0f, -7.0f, 7.0f));
  EXPECT_TRUE(std::isnan(ref::SwigluOai(std::nanf(""), 1.0f, 7.0f)));
}

// Where gelu is close to zero its slope's rounding matters more; the error is small beside x.
TEST(FloatMathTest, GeluFollowsItsDefinition) {
  for (float x = -12.0f; x < 12.0f; x += 0.001f) {
    const auto exact = static_cast<double>(ExactGelu(static_cast<long double>(x)));
    ASSERT_NEAR(static_cast<double>(ref::Gelu(x)), exact, 0x1p-19 * std::fabs(exact) + 1e-12) << x;
  }
  EXPECT_EQ(ref::Gelu(0.0f), 0.0f);
  EXPECT_EQ(ref::Gelu(1e30f), 1e30f);
  EXPECT_EQ(ref::Gelu(-1e30f), 0.0f);
  EXPECT_EQ(ref::Geglu(50.0f, 30.0f, 10.0f), ref::Gelu(10.0f) * 10.0f);
  EXPECT_EQ(ref::Geglu(2.0f, -30.0f, 10.0f), ref::Gelu(2.0f) * -10.0f);
  EXPECT_TRUE(std::isnan(ref::Gelu(std::nanf(""))));
}

TEST(FloatMathTest, SoftcapFollowsTanhAndIsOdd) {
  for (float x = -100.0f; x < 100.0f; x += 0.013f) {
    const double exact = 30.0 * std::tanh(static_cast<double>(x) / 30.0);
    ASSERT_NEAR(static_cast<double>(ref::Softcap(x, 30.0f)), exact, 30.0 * 0x1p-22) << x;
    ASSERT_EQ(ref::Softcap(-x, 30.0f), -ref::Softcap(x, 30.0f)) << x;
  }
  EXPECT_EQ(ref::Softcap(1e30f, 30.0f), 30.0f);
  EXPECT_EQ(ref::Softcap(-1e30f, 30.0f), -30.0f);
  EXPECT_TRUE(std::isnan(ref::Softcap(std::nanf(""), 30.0f)));
}

TEST(FloatMathTest, SwigluHoldsBothSidesWithinTheLimit) {
  EXPECT_EQ(ref::Swiglu(50.0f, 3.0f, 10.0f), ref::Silu(10.0f) * 3.0f);
  EXPECT_EQ(ref::Swiglu(-50.0f, 3.0f, 10.0f), ref::Silu(-50.0f) * 3.0f);
  EXPECT_EQ(ref::Swiglu(1.0f, 30.0f, 10.0f), ref::Silu(1.0f) * 10.0f);
  EXPECT_EQ(ref::Swiglu(1.0f, -30.0f, 10.0f), ref::Silu(1.0f) * -10.0f);
}

TEST(DoubleMathTest, LogAndExpAreAsGoodAsStated) {
  Random random(1);
  for (int i = 0; i < 100000; ++i) {
    const double x =
        std::ldexp(1.0 + random.NextDouble(), static_cast<int>(random.NextBelow(2000)) - 1000);
    const long double log = std::log(static_cast<long double>(x));
    EXPECT_LE(std::fabs(static_cast<long double>(Log(x)) - log),
              std::max(0x1p-52L, std::fabs(log) * 0x1p-51L));
    const double y = (random.NextDouble() - 0.5) * 1400.0;
    const long double exp = std::exp(static_cast<long double>(y));
    EXPECT_LE(std::fabs(static_cast<long double>(Exp(y)) - exp), exp * 0x1p-51L);
  }
  EXPECT_EQ(Log(1.0), 0.0);
  EXPECT_EQ(Exp(0.0), 1.0);
  EXPECT_NEAR(Power(10000.0, -0.5), 0.01, 1e-17);
  EXPECT_NEAR(Power(2.0, 10.0), 1024.0, 1e-11);
}

TEST(DoubleMathTest, SineAndCosineAreAsGoodAsStated) {
  Random random(2);
  const auto check = [](double x) {
    const auto [sine, cosine] = SinCos(x);
    EXPECT_LE(std::fabs(static_cast<long double>(sine) - std::sin(static_cast<long double>(x))),
              0x1p-52L)
        << x;
    EXPECT_LE(std::fabs(static_cast<long double>(cosine) - std::cos(static_cast<long double>(x))),
              0x1p-52L)
        << x;
  };
  for (int i = 0; i < 100000; ++i) {
    const double size = std::ldexp(1.0, static_cast<int>(random.NextBelow(34)) - 10);
    check((random.NextDouble() - 0.5) * 2 * size);
  }
  for (int i = -2000; i <= 2000; ++i) check(static_cast<double>(i) * kPi / 4);
  for (double x = 0; x <= 0x1p24; x += 1234.0) check(x);
  EXPECT_EQ(SinCos(0.0).sine, 0.0);
  EXPECT_EQ(SinCos(0.0).cosine, 1.0);
}

}  // namespace
}  // namespace aster::kernels
