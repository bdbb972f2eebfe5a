// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "net/lateness.h"

#include <gtest/gtest.h>

namespace aster::net {
namespace {

TEST(Lateness, IsCountedFromTheTimeWhenAThreadWasDueAndOnce) {
  Lateness lateness;
  EXPECT_EQ(lateness.Arrive(1000 * kNsPerSecond), 0) << "no arrival was expected";
  lateness.Expect(1001 * kNsPerSecond);
  EXPECT_EQ(lateness.Arrive(1000 * kNsPerSecond), 0) << "early";
  EXPECT_EQ(lateness.Arrive(1001 * kNsPerSecond + Lateness::kLeastNs), 0);
  EXPECT_EQ(lateness.Arrive(1011 * kNsPerSecond), 10 * kNsPerSecond);
  EXPECT_EQ(lateness.Arrive(1011 * kNsPerSecond), 0) << "the lateness was counted already";
  EXPECT_EQ(lateness.Arrive(1012 * kNsPerSecond), 1 * kNsPerSecond);
}

// A thread that pumps from time to time is not late while the loop's thread sleeps as intended:
// silence of peers counts.
TEST(Lateness, OfTwoThreadsTheLaterCounts) {
  Lateness lateness;
  lateness.Expect(1 * kNsPerSecond);
  EXPECT_EQ(lateness.Arrive(100 * kNsPerMs), 0);
  lateness.ExpectAnother(105 * kNsPerMs);
  EXPECT_EQ(lateness.Arrive(900 * kNsPerMs), 0);
  lateness.ExpectAnother(2 * kNsPerSecond);
  EXPECT_EQ(lateness.Arrive(3 * kNsPerSecond), 1 * kNsPerSecond);
}

}  // namespace
}  // namespace aster::net
