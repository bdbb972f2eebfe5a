// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/machine_speed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/isa_choice.h"

namespace aster::engine {
namespace {

TEST(MachineSpeedTest, WhatIsMeasuredIsThere) {
  const SystemClock clock;
  ThreadPool pool(2);
  const auto speed = MeasureSpeed(pool, kernels::FastestIsa(), clock);
  ASSERT_TRUE(speed.ok()) << speed.error().message();
  // No machine that anybody runs is below these, not even emulated or with sanitizers; how fast it
  // is, a test cannot know.
  EXPECT_GT(speed->multiply_flops_per_s, 1e6);
  EXPECT_GT(speed->memory_bytes_per_s, 1e5);
  EXPECT_THAT(speed->how, testing::HasSubstr("2 threads"));
}

}  // namespace
}  // namespace aster::engine
