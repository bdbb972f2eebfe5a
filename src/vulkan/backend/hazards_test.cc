// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/backend/hazards.h"

#include <gtest/gtest.h>

namespace aster::vulkan {
namespace {

TEST(Hazards, ReadingWhatWasWrittenWaits) {
  Hazards hazards;
  EXPECT_FALSE(hazards.NeedsBarrier({}, {{100, 10}}));
  EXPECT_FALSE(hazards.NeedsBarrier({{110, 10}}, {}));
  EXPECT_TRUE(hazards.NeedsBarrier({{109, 1}}, {}));
}

TEST(Hazards, WritingWhatWasReadOrWrittenWaits) {
  Hazards hazards;
  EXPECT_FALSE(hazards.NeedsBarrier({{100, 10}}, {{200, 10}}));
  EXPECT_FALSE(hazards.NeedsBarrier({{100, 10}}, {{300, 10}}));
  EXPECT_TRUE(hazards.NeedsBarrier({}, {{105, 1}}));
  EXPECT_TRUE(hazards.NeedsBarrier({}, {{95, 11}}));
}

// Work before the barrier is done; the work that made it necessary is not.
TEST(Hazards, ABarrierIsForEverythingBefore) {
  Hazards hazards;
  EXPECT_FALSE(hazards.NeedsBarrier({}, {{100, 10}, {200, 10}}));
  EXPECT_TRUE(hazards.NeedsBarrier({{100, 10}}, {{300, 10}}));
  EXPECT_FALSE(hazards.NeedsBarrier({{200, 10}}, {}));
  EXPECT_TRUE(hazards.NeedsBarrier({{300, 10}}, {}));
}

TEST(Hazards, WhatIsEmptyTouchesNothing) {
  Hazards hazards;
  EXPECT_FALSE(hazards.NeedsBarrier({}, {{100, 10}, {}}));
  EXPECT_FALSE(hazards.NeedsBarrier({{}, {105, 0}}, {{}}));
}

}  // namespace
}  // namespace aster::vulkan
