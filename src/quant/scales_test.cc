// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "quant/scales.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "quant/random_for_test.h"

namespace aster::quant {
namespace {

TEST(Scales, EightScalesAndMinimaComeBack) {
  Random random(1);
  for (int round = 0; round < 1000; ++round) {
    ScalesAndMins values;
    for (uint8_t& scale : values.scales) scale = random.NextU32() & 63;
    for (uint8_t& min : values.mins) min = random.NextU32() & 63;
    uint8_t packed[12];
    PackScalesAndMins(values, packed);
    const ScalesAndMins back = UnpackScalesAndMins(packed);
    EXPECT_EQ(back.scales, values.scales);
    EXPECT_EQ(back.mins, values.mins);
  }
}

TEST(Scales, SixteenSignedScalesComeBack) {
  Random random(2);
  for (int round = 0; round < 1000; ++round) {
    std::array<int8_t, 16> scales;
    for (int8_t& scale : scales) scale = static_cast<int8_t>((random.NextU32() & 63) - 32);
    uint8_t packed[12];
    PackScales6(scales, packed);
    EXPECT_EQ(UnpackScales6(packed), scales);
  }
}

// Twelve bytes hold exactly sixteen 6-bit numbers, so packing must be the inverse, too.
TEST(Scales, AnyTwelveBytesComeBack) {
  Random random(3);
  for (int round = 0; round < 1000; ++round) {
    uint8_t bytes[12];
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.NextU32());
    uint8_t back[12];
    PackScalesAndMins(UnpackScalesAndMins(bytes), back);
    EXPECT_TRUE(std::equal(std::begin(bytes), std::end(bytes), std::begin(back)));
    PackScales6(UnpackScales6(bytes), back);
    EXPECT_TRUE(std::equal(std::begin(bytes), std::end(bytes), std::begin(back)));
  }
}

}  // namespace
}  // namespace aster::quant
