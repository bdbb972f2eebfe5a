// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "node/hints.h"

#include <gtest/gtest.h>

namespace aster::node {
namespace {

TEST(Hints, EachIsAskedOnceInAWhile) {
  Hints hints;
  EXPECT_TRUE(hints.Add("a:1", 0));
  EXPECT_FALSE(hints.Add("a:1", 4 * kNsPerSecond));
  EXPECT_EQ(hints.Take(), "a:1");
  EXPECT_TRUE(hints.empty());
  EXPECT_TRUE(hints.Add("a:1", 5 * kNsPerSecond));
}

TEST(Hints, AFloodOfThemIsAskedSlowly) {
  Hints hints({.addresses = 4, .period_ns = 5 * kNsPerSecond});
  int asked = 0;
  for (int64_t i = 0; i < 10'000; ++i) {
    if (!hints.Add("host" + std::to_string(i) + ":1", i * kNsPerMs)) continue;
    hints.Take();
    ++asked;
  }
  EXPECT_EQ(asked, 8);
  // Addresses that are not asked do not pile up.
  asked = 0;
  for (int64_t i = 0; i < 60; ++i)
    asked += hints.Add(std::to_string(i), i * kNsPerSecond + 100 * kNsPerSecond);
  EXPECT_EQ(asked, 4);
}

}  // namespace
}  // namespace aster::node
