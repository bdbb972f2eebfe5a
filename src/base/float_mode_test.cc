// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/float_mode.h"

#include <gtest/gtest.h>

#include <limits>

namespace aster {
namespace {

// Not inlined, as the compiler's own evaluation would ignore the mode.
float Multiply(float a, float b) {
  const volatile float hidden = a;
  return hidden * b;
}

TEST(FloatMode, FlushesDenormalsInsideAndRestoresThemOutside) {
  const float smallest_normal = std::numeric_limits<float>::min();
  const float denormal = std::numeric_limits<float>::denorm_min() * 1024;
  ASSERT_FALSE(InComputeFloatMode());
  {
    const ComputeFloatMode mode;
    EXPECT_TRUE(InComputeFloatMode());
    const float result = Multiply(smallest_normal, 0.5F);
    const float from_denormal = Multiply(denormal, 1024.0F * 1024.0F * 1024.0F);
    EXPECT_EQ(result, 0.0F);
    EXPECT_EQ(from_denormal, 0.0F);
    EXPECT_EQ(Multiply(smallest_normal, 1.0F), smallest_normal);
  }
  EXPECT_FALSE(InComputeFloatMode());
  EXPECT_GT(Multiply(smallest_normal, 0.5F), 0.0F);
  EXPECT_GT(Multiply(denormal, 1024.0F), 0.0F);
}

TEST(FloatMode, Nests) {
  const ComputeFloatMode outer;
  {
    const ComputeFloatMode inner;
  }
  EXPECT_TRUE(InComputeFloatMode());
}

}  // namespace
}  // namespace aster
