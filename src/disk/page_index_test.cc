// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "disk/page_index.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.h"

namespace aster::disk {
namespace {

PageFileName Name(uint64_t at_end, uint64_t at_begin, uint32_t index,
                  kv::LayerRange layers = {0, 4}) {
  return {.prefix_at_end = {.low = at_end},
          .prefix_at_begin = {.low = at_begin},
          .begin = index * 64,
          .end = (index + 1) * 64,
          .layers = layers};
}

TEST(PageFileName, ComesBackFromItsText) {
  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    PageFileName name = Name(random.NextU64(), random.NextU64(), random.NextU32() >> 8);
    name.prefix_at_end.high = random.NextU64() >> random.NextBelow(64);
    name.layers.begin = static_cast<uint32_t>(random.NextBelow(100));
    name.layers.end = name.layers.begin + 1 + static_cast<uint32_t>(random.NextBelow(100));
    EXPECT_EQ(PageFileName::Parse(name.ToText()), name);
  }
}

TEST(PageFileName, WhatIsNoneIsNone) {
  const std::string good = Name(5, 4, 1).ToText();
  ASSERT_TRUE(PageFileName::Parse(good));
  for (size_t i = 0; i < good.size(); ++i) {
    std::string cut = good.substr(0, i);
    EXPECT_FALSE(PageFileName::Parse(cut)) << cut;
    for (const char c : {'-', 'x', 'A', ' ', '/', '\0', '+'}) {
      std::string other = good;
      other[i] = c;
      EXPECT_EQ(PageFileName::Parse(other).has_value(), other == good) << other;
    }
    const std::string longer = good.substr(0, i) + "0" + good.substr(i);
    const auto other = PageFileName::Parse(longer);
    EXPECT_TRUE(!other || (i > 64 && other->ToText() == longer)) << longer;
  }
  EXPECT_FALSE(PageFileName::Parse(""));
  EXPECT_FALSE(PageFileName::Parse(".rows"));
  PageFileName empty = Name(1, 2, 1);
  empty.end = empty.begin;
  EXPECT_FALSE(PageFileName::Parse(empty.ToText()));
}

TEST(PageIndex, FindsByPrefixAndLayer) {
  PageIndex index;
  index.Add({.name = Name(1, 0, 0, {0, 2}), .bytes = 10});
  index.Add({.name = Name(1, 0, 0, {2, 4}), .bytes = 20});
  EXPECT_EQ(index.Find({.low = 1}, 1), Name(1, 0, 0, {0, 2}));
  EXPECT_EQ(index.Find({.low = 1}, 2), Name(1, 0, 0, {2, 4}));
  EXPECT_EQ(index.Find({.low = 1}, 4), std::nullopt);
  EXPECT_EQ(index.Find({.low = 2}, 1), std::nullopt);
  index.Add({.name = Name(1, 0, 0, {0, 2}), .bytes = 15});
  EXPECT_EQ(index.total_bytes(), 35u);
  EXPECT_EQ(index.size(), 2u);
  EXPECT_TRUE(index.Remove(Name(1, 0, 0, {0, 2})));
  EXPECT_FALSE(index.Remove(Name(1, 0, 0, {0, 2})));
  EXPECT_EQ(index.total_bytes(), 20u);
}

// Histories that branch: what goes is never needed by what stays, is enough, and is the oldest.
TEST(PageIndex, WhatStaysIsWholeAndUsedLater) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    PageIndex index;
    std::vector<IndexedFile> files;
    for (uint64_t i = 1; i <= 60; ++i) {
      const bool is_new = files.empty() || random.NextBelow(6) == 0;
      const PageFileName parent =
          is_new ? PageFileName{} : files[random.NextBelow(files.size())].name;
      const uint32_t at = is_new ? 0 : parent.begin / 64 + 1;
      files.push_back({.name = Name(i, parent.prefix_at_end.low, at),
                       .bytes = 1 + random.NextBelow(100),
                       .used_ns = static_cast<int64_t>(random.NextBelow(20))});
      index.Add(files.back());
    }
    const uint64_t leave = random.NextBelow(index.total_bytes() + 10);
    std::set<uint64_t> gone;
    uint64_t left = index.total_bytes();
    for (const PageFileName& name : index.Oldest(leave)) {
      EXPECT_GT(left, leave);  // not one more than it takes
      gone.insert(name.prefix_at_end.low);
      ASSERT_TRUE(index.Remove(name));
      left = index.total_bytes();
    }
    EXPECT_LE(left, leave);
    std::map<uint64_t, int64_t> last_use;  // of each and what continues it
    for (auto file = files.rbegin(); file != files.rend(); ++file) {
      int64_t& use = last_use[file->name.prefix_at_end.low];
      use = std::max(use, file->used_ns);
      int64_t& before = last_use[file->name.prefix_at_begin.low];
      before = std::max(before, use);
    }
    for (const IndexedFile& file : files) {
      const uint64_t own = file.name.prefix_at_end.low;
      if (gone.contains(own)) continue;
      EXPECT_FALSE(gone.contains(file.name.prefix_at_begin.low)) << seed;
      for (const uint64_t other : gone) EXPECT_LE(last_use[other], last_use[own]) << seed;
    }
  }
}

}  // namespace
}  // namespace aster::disk
