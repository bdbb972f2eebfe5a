// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "eval/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace aster::eval {
namespace {

TEST(WilsonInterval, OfKnownRates) {
  // By hand: the roots of (rate - p)^2 = z^2 p (1 - p) / n.
  const Interval half = WilsonInterval(50, 100);
  EXPECT_NEAR(half.low, 0.4038315, 1e-6);
  EXPECT_NEAR(half.high, 0.5961685, 1e-6);
  const Interval most = WilsonInterval(23, 24);
  EXPECT_NEAR(most.low, 0.797580, 1e-5);
  EXPECT_NEAR(most.high, 0.992613, 1e-5);
}

TEST(WilsonInterval, EndsAreWhereTheRateWouldBeOddByTheNormalQuantile) {
  for (const uint64_t asked : {1, 2, 7, 24, 500, 100000}) {
    for (uint64_t right = 0; right <= asked; right += 1 + asked / 7) {
      const Interval interval = WilsonInterval(right, asked);
      const double rate = static_cast<double>(right) / static_cast<double>(asked);
      EXPECT_LE(interval.low, rate);
      EXPECT_GE(interval.high, rate);
      for (const double end : {interval.low, interval.high}) {
        if (end == 0 || end == 1) continue;
        const double deviation = std::sqrt(end * (1 - end) / static_cast<double>(asked));
        EXPECT_NEAR(std::abs(rate - end) / deviation, 1.959964, 1e-5);
      }
    }
  }
}

TEST(WilsonInterval, AtTheEndsAndOfNothing) {
  EXPECT_EQ(WilsonInterval(0, 10).low, 0);
  EXPECT_NEAR(WilsonInterval(0, 10).high, 0.277533, 1e-5);
  EXPECT_EQ(WilsonInterval(10, 10).high, 1);
  EXPECT_EQ(WilsonInterval(0, 0).low, 0);
  EXPECT_EQ(WilsonInterval(0, 0).high, 1);
}

TEST(McNemarP, OfSplitsCountedByHand) {
  EXPECT_EQ(McNemarP(0, 0), 1);
  EXPECT_EQ(McNemarP(4, 4), 1);
  EXPECT_NEAR(McNemarP(1, 0), 1, 1e-12);             // 2 * 1/2
  EXPECT_NEAR(McNemarP(0, 5), 2.0 / 32, 1e-12);      // 2 * 1/2^5
  EXPECT_NEAR(McNemarP(1, 9), 22.0 / 1024, 1e-12);   // 2 * (1 + 10) / 2^10
  EXPECT_NEAR(McNemarP(2, 8), 112.0 / 1024, 1e-12);  // 2 * (1 + 10 + 45) / 2^10
  EXPECT_NEAR(McNemarP(3, 4), 1, 1e-12);             // 2 * (1 + 7 + 21 + 35) / 2^7
  EXPECT_NEAR(McNemarP(5, 15), 43400.0 / 1048576, 1e-12);
}

TEST(McNemarP, DoesNotCareWhichIsFirst) {
  for (uint64_t a = 0; a < 40; ++a) {
    for (uint64_t b = 0; b < 40; ++b) {
      EXPECT_EQ(McNemarP(a, b), McNemarP(b, a));
      EXPECT_GT(McNemarP(a, b), 0);
      EXPECT_LE(McNemarP(a, b), 1);
    }
  }
}

TEST(McNemarP, OfManyQuestions) {
  // 2^-5000 underflows, and the result is still right: near the normal distribution's.
  const double p = McNemarP(4900, 5100);
  EXPECT_NEAR(p, std::erfc((200 - 1) / std::sqrt(10000.0) / std::sqrt(2.0)), 1e-3);
  EXPECT_LT(McNemarP(0, 5000), 1e-300);
}

}  // namespace
}  // namespace aster::eval
