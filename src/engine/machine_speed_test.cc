// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/machine_speed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compute/cpu/backend.h"
#include "kernels/isa_choice.h"

namespace aster::engine {
namespace {

TEST(MachineSpeedTest, WhatIsMeasuredIsThere) {
  const SystemClock clock;
  ThreadPool pool(2);
  const auto speed = MeasureSpeed(pool, kernels::FastestIsa(), clock);
  ASSERT_TRUE(speed.ok()) << speed.error().message();
  // Every machine in use reaches these, even emulated; a test cannot know how fast it is.
  EXPECT_GT(speed->multiply_flops_per_s, 1e6);
  EXPECT_GT(speed->memory_bytes_per_s, 1e5);
  EXPECT_THAT(speed->how, testing::HasSubstr("2 threads"));
}

// One of 48 MiB was killed while it measured itself.
TEST(MachineSpeedTest, ANodeInASmallControlGroupTakesAQuarterOfWhatIsThere) {
  using machine_speed_internal::StreamBytes;
  constexpr uint64_t kMiB = uint64_t{1} << 20;
  EXPECT_EQ(StreamBytes(0, 30 * kMiB), 30 * kMiB / 4);
  EXPECT_EQ(StreamBytes(300 * kMiB, 30 * kMiB), 30 * kMiB / 4);
  EXPECT_EQ(StreamBytes(0, 8192 * kMiB), 64 * kMiB);
  EXPECT_EQ(StreamBytes(50 * kMiB, 8192 * kMiB), 100 * kMiB);
  EXPECT_EQ(StreamBytes(300 * kMiB, 8192 * kMiB), 256 * kMiB);
}

TEST(MachineSpeedTest, ADeviceAndItsBusAreMeasuredLikewise) {
  const SystemClock clock;
  ThreadPool pool(2);
  compute::Context context{pool, kernels::FastestIsa()};
  compute::CpuBackend backend(context);  // in place of a device
  const auto speed = MeasureDevice(backend, clock);
  ASSERT_TRUE(speed.ok()) << speed.error().message();
  EXPECT_GT(speed->multiply_flops_per_s, 1e6);
  EXPECT_GT(speed->memory_bytes_per_s, 1e5);
  EXPECT_GT(speed->bus_round_trip_s, 0);
  EXPECT_GT(speed->bus_bytes_per_s, 1e5);
}

}  // namespace
}  // namespace aster::engine
