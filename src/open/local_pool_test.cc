// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/local_pool.h"

#include <gtest/gtest.h>

#include "base/clock.h"

namespace aster::open {
namespace {

TEST(LocalLinks, AreBetweenAllNodesBothWays) {
  const auto links = LocalLinks(3, std::nullopt);
  EXPECT_EQ(links.size(), 6u);
  for (const plan::LinkAbility& link : links) {
    EXPECT_NE(link.from, link.to);
    EXPECT_GT(link.round_trip_s, 0);
    EXPECT_LT(link.round_trip_s, 1e-3);
    EXPECT_GT(link.bytes_per_s, 0);
  }
  EXPECT_TRUE(LocalLinks(1, std::nullopt).empty());
}

TEST(LocalLinks, AreTheLinksThatWereAskedFor) {
  const net::LinkOptions slow{.delay_ns = 5 * kNsPerSecond / 1000, .rate_bytes_per_s = 125'000'000};
  for (const plan::LinkAbility& link : LocalLinks(2, slow)) {
    EXPECT_NEAR(link.round_trip_s, 10e-3, 1e-3);
    EXPECT_EQ(link.bytes_per_s, 125e6);
  }
  // Without a rate: that of loopback.
  const net::LinkOptions far{.delay_ns = kNsPerSecond};
  EXPECT_EQ(LocalLinks(2, far).front().bytes_per_s, LocalLinks(2, std::nullopt)[0].bytes_per_s);
}

}  // namespace
}  // namespace aster::open
