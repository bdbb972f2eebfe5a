// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// For tests that compare every instruction set with the reference: values from ordinary to extreme,
// and comparisons of bits. Only for tests.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/float_mode.h"
#include "base/random.h"
#include "kernels/isa_choice.h"
#include "kernels/math_constants.h"

namespace aster::kernels {

// Tests of this kind run once per instruction set of the machine, in the compute float mode.
class IsaTest : public testing::TestWithParam<Isa> {
  ComputeFloatMode mode_;
};

inline std::string IsaTestName(const testing::TestParamInfo<Isa>& info) {
  return std::string(IsaName(info.param));
}

#define INSTANTIATE_FOR_EVERY_ISA(suite) \
  INSTANTIATE_TEST_SUITE_P(Every, suite, testing::ValuesIn(AvailableIsas()), IsaTestName)

// NaN has many patterns, and machines may differ in which one they make.
inline uint32_t PlainBits(float x) {
  return std::isnan(x) ? 0x7fc00000u : std::bit_cast<uint32_t>(x);
}

inline ::testing::AssertionResult SameBits(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) return testing::AssertionFailure() << "sizes differ";
  for (size_t i = 0; i < a.size(); ++i) {
    if (PlainBits(a[i]) == PlainBits(b[i])) continue;
    return testing::AssertionFailure()
           << "element " << i << " of " << a.size() << ": " << a[i] << " (" << std::hex
           << PlainBits(a[i]) << ") and " << b[i] << " (" << PlainBits(b[i]) << ")";
  }
  return testing::AssertionSuccess();
}

// Ordinary numbers: normal, of deviation `scale`.
inline std::vector<float> NormalValues(size_t count, uint64_t seed, float scale = 1.0f) {
  std::vector<float> values(count);
  FillNormal(seed, 0, 0, values);
  for (float& value : values) value *= scale;
  return values;
}

// Mostly ordinary numbers, among them zeros, denormals, the largest, infinities and NaN.
inline std::vector<float> WildValues(size_t count, uint64_t seed) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kOdd[] = {0.0f,       -0.0f,
                            0x1p-149f,  -0x1p-140f,
                            0x1p-126f,  -0x1p-126f,
                            0x1p-24f,   -0x1p-15f,
                            65504.0f,   65520.0f,
                            -70000.0f,  0x1.fffffep127f,
                            -0x1p127f,  kInfinity,
                            -kInfinity, 88.7f,
                            -87.3f,     -104.0f,
                            1.0f,       -1.0f,
                            0.5f,       std::numeric_limits<float>::quiet_NaN()};
  Random random(seed, 1);
  std::vector<float> values = NormalValues(count, seed, 4.0f);
  for (float& value : values) {
    const uint64_t kind = random.NextBelow(64);
    if (kind < 4) value = kOdd[random.NextBelow(std::size(kOdd))];
    if (kind == 5) value = std::ldexp(value, static_cast<int>(random.NextBelow(60)) - 30);
  }
  return values;
}

}  // namespace aster::kernels
