// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/machine_limits.h"

#include <gtest/gtest.h>

namespace aster::engine {
namespace {

TEST(MachineLimitsTest, WhatIsMeasuredIsThere) {
  const LimitMeter meter = LimitMeter::Create(16 << 20).value();
  const SystemClock clock;
  for (const size_t threads : {1, 2}) {
    ThreadPool pool(threads);
    const MachineLimits limits = meter.Measure(pool, clock);
    // Every machine in use reaches these, even emulated; a test cannot know how fast it is.
    EXPECT_GT(limits.read_bytes_per_s, 1e6);
    EXPECT_GT(limits.multiply_adds_per_s, 1e6);
    EXPECT_FALSE(limits.dot_instruction.empty());
  }
}

}  // namespace
}  // namespace aster::engine
