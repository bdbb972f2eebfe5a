// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/similar.h"

#include <gtest/gtest.h>

#include <vector>

namespace aster {
namespace {

TEST(Similar, Distances) {
  EXPECT_EQ(EditDistance("", ""), 0U);
  EXPECT_EQ(EditDistance("serve", "serve"), 0U);
  EXPECT_EQ(EditDistance("srve", "serve"), 1U);
  EXPECT_EQ(EditDistance("sevre", "serve"), 1U) << "two letters swapped";
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3U);
  EXPECT_EQ(EditDistance("", "abc"), 3U);
}

TEST(Similar, WhatWasMeant) {
  const std::vector<std::string> commands = {"run", "serve", "session", "perplexity"};
  EXPECT_EQ(MostSimilar("srve", commands), "serve");
  EXPECT_EQ(MostSimilar("SERVE", commands), "serve");
  EXPECT_EQ(MostSimilar("perplexty", commands), "perplexity");
  EXPECT_EQ(MostSimilar("rum", commands), "run");
  EXPECT_EQ(MostSimilar("download", commands), std::nullopt);
  EXPECT_EQ(MostSimilar("ab", commands), std::nullopt) << "the word is too short";
  EXPECT_EQ(MostSimilar("", commands), std::nullopt);
}

}  // namespace
}  // namespace aster
