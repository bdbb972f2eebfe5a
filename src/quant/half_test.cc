// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "quant/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace aster::quant {
namespace {

// The definition of a half, in exact arithmetic.
double HalfValue(uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const int mantissa = half & 1023;
  const double sign = (half & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 31) return mantissa != 0 ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

TEST(Half, EveryHalfIsTheFloatItStandsFor) {
  for (uint32_t i = 0; i < 65536; ++i) {
    const auto half = static_cast<uint16_t>(i);
    const double expected = HalfValue(half);
    const float actual = HalfToFloat(half);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(actual)) << i;
      EXPECT_EQ(FloatToHalf(actual), (half & 0x8000) | 0x7e00) << i;
    } else {
      EXPECT_EQ(static_cast<double>(actual), expected) << i;
      EXPECT_EQ(std::signbit(actual), std::signbit(expected)) << i;
      EXPECT_EQ(FloatToHalf(actual), half) << i;
    }
  }
}

// Between two neighbours: the midpoint rounds to the even one, everything else to the nearer one.
TEST(Half, RoundsToTheNearestAndTiesToEven) {
  for (uint32_t i = 0; i < 0x7c00; ++i) {
    const auto lower = static_cast<uint16_t>(i);
    const auto upper = static_cast<uint16_t>(i + 1);  // the last is infinity, here 65536
    const double upper_value = upper == 0x7c00 ? 65536.0 : HalfValue(upper);
    const auto middle = static_cast<float>((HalfValue(lower) + upper_value) / 2);
    const uint16_t even = (i & 1) == 0 ? lower : upper;
    EXPECT_EQ(FloatToHalf(middle), even) << i;
    EXPECT_EQ(FloatToHalf(-middle), even | 0x8000) << i;
    EXPECT_EQ(FloatToHalf(std::nextafter(middle, 0.0f)), lower) << i;
    EXPECT_EQ(FloatToHalf(std::nextafter(middle, INFINITY)), upper) << i;
  }
}

TEST(Half, ExtremeFloats) {
  EXPECT_EQ(FloatToHalf(std::numeric_limits<float>::max()), 0x7c00);
  EXPECT_EQ(FloatToHalf(-INFINITY), 0xfc00);
  EXPECT_EQ(FloatToHalf(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(FloatToHalf(-std::numeric_limits<float>::denorm_min()), 0x8000);
  EXPECT_EQ(FloatToHalf(NAN), 0x7e00);
}

TEST(Bfloat16, EveryBfloat16IsTheFloatItStandsFor) {
  for (uint32_t i = 0; i < 65536; ++i) {
    const auto bfloat16 = static_cast<uint16_t>(i);
    const float value = Bfloat16ToFloat(bfloat16);
    EXPECT_EQ(std::bit_cast<uint32_t>(value), i << 16);
    const uint16_t quiet = std::isnan(value) ? bfloat16 | 0x40 : bfloat16;
    EXPECT_EQ(FloatToBfloat16(value), quiet) << i;
  }
}

TEST(Bfloat16, RoundsToTheNearestAndTiesToEven) {
  for (uint32_t i = 0; i < 0x7f80; ++i) {  // up to the step into infinity
    const auto at = [i](uint32_t low) { return std::bit_cast<float>(i << 16 | low); };
    const auto even = static_cast<uint16_t>(i + (i & 1));
    EXPECT_EQ(FloatToBfloat16(at(0x8000)), even) << i;
    EXPECT_EQ(FloatToBfloat16(at(0x7fff)), i) << i;
    EXPECT_EQ(FloatToBfloat16(at(0x8001)), i + 1) << i;
    EXPECT_EQ(FloatToBfloat16(-at(0x8001)), (i + 1) | 0x8000) << i;
  }
  EXPECT_EQ(FloatToBfloat16(std::bit_cast<float>(0x7f800001u)), 0x7fc0) << "a NaN stays one";
}

TEST(E8m0, IsHalfOfAPowerOfTwo) {
  for (int exponent = 0; exponent < 256; ++exponent) {
    EXPECT_EQ(static_cast<double>(E8m0ToHalfFloat(static_cast<uint8_t>(exponent))),
              std::ldexp(1.0, exponent - 128))
        << exponent;
  }
}

TEST(Ue4m3, IsHalfOfAnUnsignedByteFloat) {
  for (int bits = 0; bits < 256; ++bits) {
    const int exponent = (bits >> 3) & 15;
    const int mantissa = bits & 7;
    double expected =
        exponent == 0 ? std::ldexp(mantissa, -10) : std::ldexp(8 + mantissa, exponent - 7 - 3 - 1);
    if (bits == 0x7f) expected = 0;
    EXPECT_EQ(static_cast<double>(Ue4m3ToHalfFloat(static_cast<uint8_t>(bits))), expected) << bits;
  }
}

}  // namespace
}  // namespace aster::quant
