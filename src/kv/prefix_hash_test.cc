// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kv/prefix_hash.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <vector>

#include "base/random.h"

namespace aster::kv {
namespace {

constexpr Hash128 kDigest = {.low = 1, .high = 2};

// Machines compare these hashes: they must never change.
TEST(PrefixHash, NeverChanges) {
  const std::vector<int32_t> tokens = {0, 1, -1, std::numeric_limits<int32_t>::max(), 128'000};
  EXPECT_EQ(ExtendPrefixHash(kDigest, {}), kDigest);
  EXPECT_EQ(ExtendPrefixHash(kDigest, tokens).ToHex(), "fae946a330fbdeabc8294458e80b560e");
}

TEST(PrefixHash, DiffersForEveryShortHistory) {
  std::set<Hash128> seen = {kDigest};
  for (int32_t a = 0; a < 30; ++a) {
    EXPECT_TRUE(seen.insert(ExtendPrefixHash(kDigest, std::vector{a})).second);
    for (int32_t b = 0; b < 30; ++b) {
      EXPECT_TRUE(seen.insert(ExtendPrefixHash(kDigest, std::vector{a, b})).second);
    }
  }
}

TEST(TokenHistory, KnowsTheHashAtEveryPositionHoweverItGrew) {
  Random random(1);
  std::vector<int32_t> tokens;
  TokenHistory history(kDigest);
  for (int step = 0; step < 500; ++step) {
    if (random.NextBelow(4) == 0) {
      const auto length = static_cast<uint32_t>(random.NextBelow(tokens.size() + 1));
      history.Truncate(length);
      tokens.resize(length);
    } else {
      std::vector<int32_t> more(random.NextBelow(200));
      for (int32_t& token : more) token = static_cast<int32_t>(random.NextBelow(3));
      history.Append(more);
      tokens.insert(tokens.end(), more.begin(), more.end());
    }
    ASSERT_TRUE(std::ranges::equal(history.tokens(), tokens));
    ASSERT_EQ(history.hash(), ExtendPrefixHash(kDigest, tokens));
    const auto at = static_cast<uint32_t>(random.NextBelow(tokens.size() + 1));
    ASSERT_EQ(history.HashAt(at), ExtendPrefixHash(kDigest, std::span(tokens).first(at)));
  }
}

TEST(TokenHistory, CountsEqualTokens) {
  TokenHistory history(kDigest);
  history.Append(std::vector<int32_t>{1, 2, 3, 4});
  EXPECT_EQ(history.CountEqual(0, std::vector<int32_t>{1, 2, 3, 4, 5}), 4u);
  EXPECT_EQ(history.CountEqual(1, std::vector<int32_t>{2, 9, 4}), 1u);
  EXPECT_EQ(history.CountEqual(4, std::vector<int32_t>{5}), 0u);
  EXPECT_EQ(history.CountEqual(2, {}), 0u);
}

}  // namespace
}  // namespace aster::kv
