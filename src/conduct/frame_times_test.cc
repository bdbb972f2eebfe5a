// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/frame_times.h"

#include <gtest/gtest.h>

#include <vector>

namespace aster::conduct {
namespace {

std::vector<wire::Hop> Hops(uint64_t first_ns, uint64_t second_ns, uint64_t queue_ns = 0) {
  return {{.queue_ns = queue_ns, .compute_ns = first_ns, .bytes_out = 0},
          {.queue_ns = 0, .compute_ns = second_ns, .bytes_out = 0}};
}

TEST(FrameTimes, AreThoseOfFramesThatWaitNowhere) {
  FrameTimes times;
  EXPECT_FALSE(times.is_known());
  EXPECT_EQ(times.FramesInFlight(), 1u);
  times.Learn(1, Hops(300, 500, /*queue_ns=*/2000), 3000);
  EXPECT_EQ(times.Of(1).slowest_ns, 500);
  EXPECT_EQ(times.Of(1).round_trip_ns, 1000);
  EXPECT_EQ(times.FramesInFlight(), 2u);
}

TEST(FrameTimes, AreInterpolatedBetweenNumbersOfRows) {
  FrameTimes times;
  times.Learn(1, Hops(100, 100), 300);
  // Foreseen as long as nothing was seen.
  EXPECT_EQ(times.Of(3).slowest_ns, 160);
  times.Learn(5, Hops(180, 180), 460);
  EXPECT_EQ(times.Of(3).slowest_ns, 140);
  EXPECT_EQ(times.Of(3).round_trip_ns, 380);
  EXPECT_EQ(times.Of(7).slowest_ns, 220);
}

TEST(FrameTimes, OneThatWasHeldUpCountsForNothing) {
  FrameTimes times;
  for (int i = 0; i < 4; ++i) times.Learn(1, Hops(100, 100), 250);
  times.Learn(1, Hops(90000, 100), 90150);
  EXPECT_EQ(times.Of(1).slowest_ns, 100);
  EXPECT_EQ(times.Of(1).round_trip_ns, 250);
}

TEST(FrameTimes, WhatMakesNoSenseIsNotLearnt) {
  FrameTimes times;
  times.Learn(0, Hops(1, 1), 5);
  times.Learn(FrameTimes::kMostRows + 1, Hops(1, 1), 5);
  times.Learn(1, {}, 5);
  times.Learn(1, Hops(1, 1), 0);
  EXPECT_FALSE(times.is_known());
  // Stages that say they took longer than the whole way.
  times.Learn(1, Hops(700, 700), 10);
  EXPECT_EQ(times.Of(1).round_trip_ns, 1400);
}

}  // namespace
}  // namespace aster::conduct
