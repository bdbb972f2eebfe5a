// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/rope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/math.h"

namespace aster::kernels {
namespace {

std::vector<double> Frequencies(const RopeSpec& spec, const float* divisors = nullptr) {
  std::vector<double> frequencies(spec.pairs);
  RopeFrequencies(spec, divisors, frequencies.data());
  return frequencies;
}

double Plain(const RopeSpec& spec, size_t i) {
  return std::pow(spec.base, -static_cast<double>(i) / static_cast<double>(spec.pairs));
}

TEST(RopeTest, FrequenciesFallGeometrically) {
  const RopeSpec spec = {.pairs = 64, .base = 500000.0};
  const auto frequencies = Frequencies(spec);
  EXPECT_EQ(frequencies[0], 1.0);
  for (size_t i = 0; i < 64; ++i) {
    EXPECT_NEAR(frequencies[i] / Plain(spec, i), 1.0, 1e-14);
  }
}

TEST(RopeTest, LinearScalingAndDivisorsDivide) {
  const RopeSpec spec = {.pairs = 4, .scaling = RopeScaling::kLinear, .factor = 8.0};
  const float divisors[] = {1.0f, 2.0f, 4.0f, 0.5f};
  const auto frequencies = Frequencies(spec, divisors);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(frequencies[i], Plain(spec, i) / 8.0 / static_cast<double>(divisors[i]), 1e-15);
  }
}

TEST(RopeTest, Llama3KeepsShortWavesAndStretchesLongOnes) {
  const RopeSpec spec = {.pairs = 64,
                         .base = 500000.0,
                         .scaling = RopeScaling::kLlama3,
                         .factor = 32.0,
                         .original_context = 8192.0};
  const auto frequencies = Frequencies(spec);
  int between = 0;
  for (size_t i = 0; i < 64; ++i) {
    const double plain = Plain(spec, i);
    const double wave = 2 * kPi / plain;
    if (wave < 8192.0 / 4) {
      EXPECT_NEAR(frequencies[i] / plain, 1.0, 1e-14);
    } else if (wave > 8192.0) {
      EXPECT_NEAR(frequencies[i] / plain * 32.0, 1.0, 1e-14);
    } else {
      const double smooth = (8192.0 / wave - 1.0) / 3.0;
      EXPECT_NEAR(frequencies[i], (1 - smooth) * plain / 32.0 + smooth * plain, 1e-15);
      ++between;
    }
  }
  EXPECT_EQ(between, 6);
}

TEST(RopeTest, YarnMixesByTurnsWithinTheOriginalContext) {
  const RopeSpec spec = {.pairs = 32,
                         .base = 160000.0,
                         .scaling = RopeScaling::kYarn,
                         .factor = 16.0,
                         .original_context = 65536.0};
  const auto frequencies = Frequencies(spec);
  for (size_t i = 0; i < 32; ++i) {
    // For these numbers the ramp runs from pair 15 to pair 25.
    const double kept = 1.0 - std::clamp((static_cast<double>(i) - 15.0) / 10.0, 0.0, 1.0);
    const double plain = Plain(spec, i);
    EXPECT_NEAR(frequencies[i] / (plain / 16.0 * (1 - kept) + plain * kept), 1.0, 1e-13) << i;
  }
  EXPECT_NEAR(YarnMagnitude(16.0), 1.0 + 0.1 * std::log(16.0), 1e-15);
}

TEST(RopeTest, AnglesAreTrueToFloatAtLargePositions) {
  const RopeSpec spec = {.pairs = 64, .base = 10000.0};
  const auto frequencies = Frequencies(spec);
  std::vector<float> cosines(64);
  std::vector<float> sines(64);
  for (const int64_t position : {int64_t{0}, int64_t{1}, int64_t{131071}, kRopePositions - 1}) {
    RopeAngles(frequencies.data(), 64, 1.25, position, cosines.data(), sines.data());
    for (size_t i = 0; i < 64; ++i) {
      const long double angle =
          static_cast<long double>(position) * static_cast<long double>(frequencies[i]);
      EXPECT_NEAR(cosines[i], static_cast<double>(1.25L * std::cos(angle)), 1e-7);
      EXPECT_NEAR(sines[i], static_cast<double>(1.25L * std::sin(angle)), 1e-7);
    }
  }
  EXPECT_EQ(cosines.size(), 64u);
}

}  // namespace
}  // namespace aster::kernels
