// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/checked.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace aster {
namespace {

// Every pair of eight-bit numbers, compared with arithmetic that is wide enough.
TEST(Checked, AgreesWithWiderArithmetic) {
  for (uint32_t a = 0; a < 256; ++a) {
    for (uint32_t b = 0; b < 256; ++b) {
      const auto narrow_a = static_cast<uint8_t>(a);
      const auto narrow_b = static_cast<uint8_t>(b);
      const auto expected = [](uint32_t wide) {
        return wide < 256 ? std::optional<uint8_t>(static_cast<uint8_t>(wide)) : std::nullopt;
      };
      ASSERT_EQ(CheckedAdd(narrow_a, narrow_b), expected(a + b));
      ASSERT_EQ(CheckedMul(narrow_a, narrow_b), expected(a * b));
      if (b == 0) continue;
      ASSERT_EQ(CheckedRoundUp(narrow_a, narrow_b), expected((a + b - 1) / b * b));
      ASSERT_EQ(DivideUp(a, b), (a + b - 1) / b);
    }
  }
}

TEST(Checked, Edges) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(CheckedAdd(kMost, uint64_t{0}), kMost);
  EXPECT_EQ(CheckedAdd(kMost, uint64_t{1}), std::nullopt);
  EXPECT_EQ(CheckedMul(uint64_t{1} << 32, uint64_t{1} << 32), std::nullopt);
  EXPECT_EQ(CheckedMul(kMost / 3, uint64_t{3}), kMost);
  EXPECT_EQ(CheckedRoundUp(kMost, uint64_t{32}), std::nullopt);
  EXPECT_EQ(CheckedRoundUp(kMost - 31, uint64_t{32}), kMost - 31);
  EXPECT_EQ(DivideUp(kMost, 2), kMost / 2 + 1);
}

TEST(Checked, CastsThatFit) {
  EXPECT_EQ(CheckedCast<uint8_t>(255), 255);
  EXPECT_EQ(CheckedCast<uint8_t>(256), std::nullopt);
  EXPECT_EQ(CheckedCast<uint8_t>(-1), std::nullopt);
  EXPECT_EQ(CheckedCast<int32_t>(uint64_t{0x7FFFFFFF}), 0x7FFFFFFF);
  EXPECT_EQ(CheckedCast<int32_t>(uint64_t{0x80000000}), std::nullopt);
  EXPECT_EQ(CheckedCast<int64_t>(std::numeric_limits<uint64_t>::max()), std::nullopt);
  EXPECT_EQ(CheckedCast<uint64_t>(int64_t{-5}), std::nullopt);
}

}  // namespace
}  // namespace aster
