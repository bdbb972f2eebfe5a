// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "text/merges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace aster::text {
namespace {

using testing::ElementsAre;

// The definition of merging, without optimisations.
std::vector<Symbol> MergeSlowly(const MergeTable& table, std::vector<Symbol> symbols) {
  for (;;) {
    size_t best = symbols.size();
    Merge merge;
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      const Merge candidate = table.Find(symbols[i], symbols[i + 1]);
      if (!candidate.exists() || candidate.rank >= merge.rank) continue;
      best = i;
      merge = candidate;
    }
    if (best == symbols.size()) return symbols;
    symbols[best] = merge.result;
    symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(best) + 1);
  }
}

std::vector<Symbol> MergeAll(const MergeTable& table, std::vector<Symbol> symbols) {
  MergeWorkspace workspace;
  workspace.MergeAll(table, symbols);
  return symbols;
}

// Merges of `letters` symbols and of their results, in random order, some with equal rank.
MergeTable RandomTable(Random& random, Symbol letters, size_t merges) {
  MergeTable table;
  Symbol next = letters;
  for (size_t i = 0; i < merges; ++i) {
    const auto left = static_cast<Symbol>(random.NextBelow(next));
    const auto right = static_cast<Symbol>(random.NextBelow(next));
    table.Add(left, right, {static_cast<uint32_t>(random.NextBelow(merges)), next++});
  }
  return table;
}

TEST(MergesTest, LowestRankFirstAndThenLeftmost) {
  MergeTable table;
  table.Add('b', 'c', {0, 1000});
  table.Add('a', 'b', {1, 1001});
  table.Add('a', 'a', {2, 1002});
  EXPECT_THAT(MergeAll(table, {'a', 'b', 'c', 'a', 'b'}), ElementsAre('a', 1000, 1001));
  EXPECT_THAT(MergeAll(table, {'a', 'a', 'a'}), ElementsAre(1002, 'a'));
  EXPECT_THAT(MergeAll(table, {}), ElementsAre());
  EXPECT_THAT(MergeAll(table, {'z'}), ElementsAre('z'));
}

TEST(MergesTest, TheFirstMergeOfAPairCounts) {
  MergeTable table;
  table.Add(1, 2, {7, 10});
  table.Add(1, 2, {3, 11});
  EXPECT_EQ(table.size(), 1U);
  EXPECT_EQ(table.Find(1, 2).result, 10U);
  EXPECT_FALSE(table.Find(2, 1).exists());
}

TEST(MergesTest, FindsEveryMergeAmongMany) {
  MergeTable table;
  for (Symbol i = 0; i < 100'000; ++i) table.Add(i, i * 7, {i, i + 1});
  for (Symbol i = 0; i < 100'000; ++i) {
    ASSERT_EQ(table.Find(i, i * 7).rank, i);
    ASSERT_FALSE(table.Find(i, i * 7 + 1).exists());
  }
}

TEST(MergesTest, ShortAndLongRunsMergeAsTheyShould) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const auto letters = static_cast<Symbol>(1 + random.NextBelow(4));
    const MergeTable table = RandomTable(random, letters, 1 + random.NextBelow(60));
    // Lengths around the one at which the method changes.
    for (const size_t size : {2, 3, 8, 39, 40, 41, 42, 100, 300}) {
      std::vector<Symbol> symbols(size);
      for (Symbol& symbol : symbols) symbol = static_cast<Symbol>(random.NextBelow(letters));
      ASSERT_EQ(MergeAll(table, symbols), MergeSlowly(table, symbols)) << seed << ' ' << size;
    }
  }
}

TEST(MergesTest, UnknownSymbolsStayApart) {
  MergeTable table;
  table.Add('a', 'a', {0, 1000});
  std::vector<Symbol> symbols(100, kNoSymbol - 5);
  EXPECT_EQ(MergeAll(table, symbols), symbols);
}

TEST(MergesTest, AMillionEqualLettersTakeNoTime) {
  MergeTable table;  // 1 → 2 → 4 → … → 1024 letters
  for (Symbol i = 0; i < 10; ++i) table.Add(i, i, {i, i + 1});
  EXPECT_EQ(MergeAll(table, std::vector<Symbol>(size_t{1} << 20, 0)),
            std::vector<Symbol>(1024, 10));
}

}  // namespace
}  // namespace aster::text
