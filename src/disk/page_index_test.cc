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
    name.columns = {1, 3, 4};
    EXPECT_EQ(PageFileName::Parse(name.ToText()), name);
  }
  // Columns that do not exist.
  PageFileName name = Name(1, 2, 3);
  for (const kv::Columns columns :
       {kv::Columns{0, 2, 2}, kv::Columns{2, 2, 4}, kv::Columns{1, 3, 2}}) {
    name.columns = columns;
    EXPECT_FALSE(PageFileName::Parse(name.ToText())) << name.ToText();
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

PageFileName PartName(uint32_t begin, uint32_t end, uint32_t count,
                      kv::LayerRange layers = {0, 4}) {
  PageFileName name = Name(1, 0, 0, layers);
  name.columns = {begin, end, count};
  return name;
}

// Parts of rows: one file with all wanted columns, or several that have them together.
TEST(PageIndex, FindsColumns) {
  using Names = std::vector<PageFileName>;
  PageIndex index;
  for (const PageFileName& name :
       {PartName(2, 4, 8), PartName(0, 3, 8), PartName(3, 8, 8, {2, 4}), PartName(0, 1, 2)}) {
    index.Add({.name = name, .bytes = 10});
  }
  EXPECT_EQ(index.Find({.low = 1}, 2, {1, 3, 8}), (Names{PartName(0, 3, 8)}));
  EXPECT_EQ(index.Find({.low = 1}, 1, {1, 4, 8}), (Names{PartName(0, 3, 8), PartName(2, 4, 8)}));
  EXPECT_EQ(index.Find({.low = 1}, 2, {0, 8, 8}),
            (Names{PartName(0, 3, 8), PartName(3, 8, 8, {2, 4})}));
  EXPECT_EQ(index.Find({.low = 1}, 2, {}).size(), 2u);
  EXPECT_TRUE(index.Find({.low = 1}, 1, {}).empty());
  EXPECT_TRUE(index.Find({.low = 1}, 1, {3, 5, 8}).empty());
  // Whole rows have every part; parts are not whole rows for other machines.
  EXPECT_EQ(index.Find({.low = 1}, 2), std::nullopt);
  EXPECT_TRUE(index.LayersOf({.low = 1}).empty());
  index.Add({.name = Name(1, 0, 0), .bytes = 10});
  EXPECT_EQ(index.Find({.low = 1}, 1, {3, 5, 8}), (Names{Name(1, 0, 0)}));
  EXPECT_EQ(index.LayersOf({.low = 1}).size(), 1u);
}

// Histories that branch: evicted files are not needed by the rest, are enough, and are the oldest.
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
      EXPECT_GT(left, leave);  // no more than needed
      gone.insert(name.prefix_at_end.low);
      ASSERT_TRUE(index.Remove(name));
      left = index.total_bytes();
    }
    EXPECT_LE(left, leave);
    std::map<uint64_t, int64_t> last_use;  // of each and of the files that continue it
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
