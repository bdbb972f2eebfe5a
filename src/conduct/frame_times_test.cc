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
  // The time is estimated, as three rows were not measured.
  EXPECT_EQ(times.Of(3).slowest_ns, 160);
  times.Learn(5, Hops(180, 180), 460);
  EXPECT_EQ(times.Of(3).slowest_ns, 140);
  EXPECT_EQ(times.Of(3).round_trip_ns, 380);
  EXPECT_EQ(times.Of(7).slowest_ns, 220);
}

TEST(FrameTimes, AnExpensiveSecondRowSaysNothingOfManyRows) {
  FrameTimes times;
  times.Learn(1, Hops(100, 200), 300);
  times.Learn(2, Hops(170, 340), 510);
  EXPECT_EQ(times.Of(4).slowest_ns, 460);
  EXPECT_EQ(times.Of(4).before_last_ns, 230);
  EXPECT_EQ(times.Of(4).round_trip_ns, 690);
  times.Learn(4, Hops(180, 360), 540);
  EXPECT_EQ(times.Of(5).slowest_ns, 360 + 160.0 / 3);
}

TEST(FrameTimes, AnOutlierIsIgnored) {
  FrameTimes times;
  for (int i = 0; i < 4; ++i) times.Learn(1, Hops(100, 100), 250);
  times.Learn(1, Hops(90000, 100), 90150);
  EXPECT_EQ(times.Of(1).slowest_ns, 100);
  EXPECT_EQ(times.Of(1).round_trip_ns, 250);
}

TEST(FrameTimes, GapsBehindFramesAheadAreNoShorterThanOthers) {
  const auto learn = [](FrameTimes& times, int count, double gap_ns, bool was_ahead) {
    for (int i = 0; i < count; ++i) times.LearnGap(gap_ns, was_ahead);
  };
  FrameTimes times;
  times.Learn(1, Hops(100, 100), 250);
  learn(times, 2, 5000, /*was_ahead=*/false);
  EXPECT_EQ(times.Of(1).gap_ns, 0) << "two gaps may both be delays";
  learn(times, 3, 30, /*was_ahead=*/false);
  EXPECT_EQ(times.Of(3).gap_ns, 30);
  EXPECT_EQ(times.Of(3).ahead_gap_ns, 30);
  learn(times, 3, 90, /*was_ahead=*/true);
  EXPECT_EQ(times.Of(1).gap_ns, 30);
  EXPECT_EQ(times.Of(1).ahead_gap_ns, 90);
  // Negative gaps come from frames that were shorter than others.
  learn(times, 3, -5, /*was_ahead=*/false);
  EXPECT_EQ(times.Of(1).gap_ns, 0);
  // After a long time the gap ahead is forgotten.
  learn(times, 600, 10, /*was_ahead=*/false);
  EXPECT_EQ(times.Of(1).ahead_gap_ns, 10);
}

TEST(FrameTimes, WhatMakesNoSenseIsNotLearnt) {
  FrameTimes times;
  times.Learn(0, Hops(1, 1), 5);
  times.Learn(FrameTimes::kMostRows + 1, Hops(1, 1), 5);
  times.Learn(1, {}, 5);
  times.Learn(1, Hops(1, 1), 0);
  EXPECT_FALSE(times.is_known());
  // Stages that report longer times than the round trip.
  times.Learn(1, Hops(700, 700), 10);
  EXPECT_EQ(times.Of(1).round_trip_ns, 1400);
}

}  // namespace
}  // namespace aster::conduct
