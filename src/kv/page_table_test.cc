// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kv/page_table.h"

#include <gtest/gtest.h>

#include "kv/world_for_test.h"

namespace aster::kv {
namespace {

constexpr uint64_t kPlenty = uint64_t{16} << 20;

std::vector<int32_t> Tokens(size_t count, int32_t first = 100) {
  std::vector<int32_t> tokens(count);
  for (size_t i = 0; i < count; ++i) tokens[i] = first + static_cast<int32_t>(i);
  return tokens;
}

// A sequence of `tokens` computed in one go.
CheckedTable Computed(const Layout& layout, Pool& pool, const std::vector<int32_t>& tokens) {
  CheckedTable checked(layout, pool, layout.all_layers());
  CHECK(checked.Compute(layout.all_layers(), tokens));
  return checked;
}

TEST(PageTable, ForksShareEveryPageUntilOneWrites) {
  const Layout layout = PlainLayout();  // 16 positions a page, 3 layers
  Pool pool(kPlenty);
  CheckedTable first = Computed(layout, pool, Tokens(40));
  EXPECT_EQ(pool.usage().held_bytes, 9 * kPageAlignment);
  CheckedTable second(first);
  EXPECT_EQ(pool.usage().held_bytes, 9 * kPageAlignment);
  EXPECT_EQ(second.table().Page(1, 2), first.table().Page(1, 2));
  ASSERT_TRUE(second.Compute(layout.all_layers(), {1}));
  EXPECT_NE(second.table().Page(1, 2), first.table().Page(1, 2));
  EXPECT_EQ(second.table().Page(1, 1), first.table().Page(1, 1));
  EXPECT_EQ(pool.usage().held_bytes, 12 * kPageAlignment);
  ASSERT_TRUE(first.Compute(layout.all_layers(), {2}));
  EXPECT_EQ(pool.usage().held_bytes, 12 * kPageAlignment);
  first.Verify();
  second.Verify();
}

// Writes of one branch at the end of a full page must not change the other branch or the index.
TEST(PageTable, RewindingIntoAPublishedPageLeavesOthersAlone) {
  const Layout layout = PlainLayout();
  Pool pool(kPlenty);
  CheckedTable first = Computed(layout, pool, Tokens(32));
  CheckedTable second(first);
  second.Truncate(20);
  ASSERT_TRUE(second.Compute(layout.all_layers(), {1, 2, 3}));
  first.Verify();
  second.Verify();
  first.Truncate(30);
  ASSERT_TRUE(first.Compute(layout.all_layers(), {4}));
  CheckedTable third(layout, pool, layout.all_layers());
  third.Adopt(Tokens(32));
  EXPECT_EQ(third.length(), 16u);  // no table has the second page as it was
  third.Verify();
  first.Verify();
}

// Counts pages by the position where they begin.
class CountingStore final : public PageStore {
 public:
  bool Contains(const PageKey& /*key*/, const Columns& /*columns*/) override { return false; }
  bool Load(const Hash128& /*prefix*/, const Columns& /*columns*/,
            std::span<const StoredPage> /*pages*/) override {
    return false;
  }
  bool Keep(const PageSet& set) override {
    ++asked;
    if (room == 0) {
      refused += set.was_refused ? 0 : 1;
      return false;
    }
    --room;
    refused -= set.was_refused ? 1 : 0;
    kept_.emplace_back(set.begin, std::vector<int32_t>(set.tokens.begin(), set.tokens.end()));
    return true;
  }

  uint32_t room = UINT32_MAX;  // for this many pages more
  uint32_t asked = 0;
  uint32_t refused = 0;  // and not kept since
  const std::vector<std::pair<uint32_t, std::vector<int32_t>>>& kept() const { return kept_; }

 private:
  std::vector<std::pair<uint32_t, std::vector<int32_t>>> kept_;
};

TEST(PageTable, DraftsReachTheStoreOnlyWhenAccepted) {
  const Layout layout = PlainLayout();
  CountingStore store;
  Pool pool(kPlenty, &store);
  PageTable table(layout, pool, layout.all_layers());
  const std::vector<int32_t> tokens = Tokens(48);
  const auto advance = [&](std::span<const int32_t> more, uint32_t drafts) {
    ASSERT_TRUE(table.Reserve(static_cast<uint32_t>(more.size())).ok());
    table.Advance(layout.all_layers(), more, drafts);
  };
  advance(std::span(tokens).first(14), 0);
  // One token is certain; of three draft tokens that fill the page the last two are wrong.
  advance(std::vector<int32_t>{tokens[14], tokens[15], 7, 8}, 3);
  EXPECT_TRUE(store.kept().empty());
  ASSERT_EQ(table.Truncate(16), 16u);
  advance(std::vector<int32_t>{tokens[16]}, 0);
  ASSERT_EQ(store.kept().size(), 1u);
  EXPECT_EQ(store.kept()[0].second, Tokens(16));
  // A page that wrong draft tokens filled is not offered, until it is full again.
  advance(std::span(tokens).subspan(17, 13), 0);
  advance(std::vector<int32_t>{tokens[30], 9, 9}, 2);
  ASSERT_EQ(table.Truncate(31), 31u);
  advance(std::span(tokens).subspan(31, 2), 0);
  ASSERT_EQ(store.kept().size(), 2u);
  EXPECT_EQ(store.kept()[1].first, 16u);
  EXPECT_EQ(store.kept()[1].second, Tokens(16, tokens[16]));
}

TEST(PageTable, PagesRefusedByTheStoreAreOfferedAgain) {
  const Layout layout = PlainLayout();
  CountingStore store;
  Pool pool(kPlenty, &store);
  const auto positions = [&] {
    std::vector<uint32_t> begins;
    for (const auto& [begin, tokens] : store.kept()) begins.push_back(begin);
    return begins;
  };
  {
    PageTable table(layout, pool, layout.all_layers());
    const auto advance = [&](std::span<const int32_t> more) {
      ASSERT_TRUE(table.Reserve(static_cast<uint32_t>(more.size())).ok());
      table.Advance(more);
    };
    store.room = 1;
    advance(Tokens(70));
    EXPECT_EQ(positions(), (std::vector<uint32_t>{0}));
    EXPECT_EQ(store.refused, 3u);
    // Refused pages are offered again with the next step, even if it fills no page; and only those,
    // up to the first that is refused again.
    store.room = 1;
    store.asked = 0;
    advance(Tokens(1));
    EXPECT_EQ(positions(), (std::vector<uint32_t>{0, 16}));
    EXPECT_EQ(store.refused, 2u);
    EXPECT_EQ(store.asked, 2u);
    // Pages that are written again after a rewind have other content.
    ASSERT_EQ(table.Truncate(40), 40u);
    advance(Tokens(1));
    EXPECT_EQ(positions(), (std::vector<uint32_t>{0, 16}));
  }
  // Another sequence with the same prefix.
  store.room = UINT32_MAX;
  PageTable other(layout, pool, layout.all_layers());
  ASSERT_EQ(other.Adopt(Tokens(41)), 32u);
  ASSERT_TRUE(other.Reserve(16).ok());
  other.Advance(Tokens(16, 50));
  EXPECT_EQ(positions(), (std::vector<uint32_t>{0, 16, 32}));
  EXPECT_EQ(store.kept().back().second, Tokens(16, 50));
  // The store that has all of it is not asked again.
  store.room = 0;
  store.refused = 0;
  PageTable third(layout, pool, layout.all_layers());
  ASSERT_EQ(third.Adopt(Tokens(41)), 32u);
  ASSERT_TRUE(third.Reserve(1).ok());
  third.Advance(Tokens(1));
  EXPECT_EQ(store.refused, 0u);
}

TEST(PageTable, AdoptsTheLongestPrefixInWholePages) {
  const Layout layout = PlainLayout();
  Pool pool(kPlenty);
  {
    const CheckedTable gone = Computed(layout, pool, Tokens(47));
  }
  EXPECT_EQ(pool.usage().held_bytes, 0u);
  EXPECT_EQ(pool.usage().cached_bytes, 6 * kPageAlignment);
  CheckedTable checked(layout, pool, layout.all_layers());
  checked.Adopt(Tokens(15));
  EXPECT_EQ(checked.length(), 0u);
  std::vector<int32_t> wanted = Tokens(47);
  wanted[40] = 5;
  checked.Adopt(wanted);
  EXPECT_EQ(checked.length(), 32u);
  checked.Verify();
  // A sequence also adopts from the middle of a page, which is replaced, but not along another
  // history.
  checked.Truncate(20);
  checked.Adopt(Tokens(47));
  EXPECT_EQ(checked.length(), 32u);
  checked.Truncate(20);
  std::vector<int32_t> other = Tokens(47);
  other[3] = 5;
  checked.Adopt(other);
  EXPECT_EQ(checked.length(), 20u);
  checked.Verify();
}

// Without its sinks, a window is not adopted.
TEST(PageTable, AdoptsNoWindowWithoutItsSinks) {
  const Layout layout = WindowLayout();
  Pool pool(kPlenty);
  CheckedTable first = Computed(layout, pool, Tokens(40));
  first.Truncate(7);
  ASSERT_TRUE(first.Compute(layout.all_layers(), {1}));  // the page of the sinks is another now
  CheckedTable second(layout, pool, layout.all_layers());
  second.Adopt(Tokens(40));
  EXPECT_EQ(second.length(), 0u);
  second.Verify();
}

// A prompt that two sequences compute at the same time ends up in memory once.
TEST(PageTable, EqualPagesBecomeOne) {
  const Layout layout = PlainLayout();
  Pool pool(kPlenty);
  CheckedTable first = Computed(layout, pool, Tokens(32));
  CheckedTable second = Computed(layout, pool, Tokens(32));
  EXPECT_EQ(pool.usage().held_bytes, 6 * kPageAlignment);
  second.Verify();
}

TEST(PageTable, OtherModelsShareNothing) {
  const Layout layout = PlainLayout();
  const Layout other = MakeLayout(16, 0, {{{.transposed = true}}, {{}}, {{.row_bytes = 3}}}, 2);
  Pool pool(kPlenty);
  const CheckedTable first = Computed(layout, pool, Tokens(32));
  CheckedTable second(other, pool, other.all_layers());
  second.Adopt(Tokens(32));
  EXPECT_EQ(second.length(), 0u);
}

// A history is evicted from its end, so that the rest can still be adopted.
TEST(PageTable, EvictionTakesTheLastPagesFirst) {
  const Layout layout = MakeLayout(16, 0, {{{}}, {{}}});
  Pool pool(8 * kPageAlignment);
  {
    const CheckedTable gone = Computed(layout, pool, Tokens(64));
  }
  {
    const CheckedTable other = Computed(layout, pool, Tokens(16, 5000));
  }
  CheckedTable checked(layout, pool, layout.all_layers());
  checked.Adopt(Tokens(64));
  EXPECT_EQ(checked.length(), 48u);
  checked.Verify();
}

TEST(PageTable, ReserveFailsWithoutChangeAndSaysWhatIsMissing) {
  const Layout layout = MakeLayout(16, 0, {{{}}, {{}}});
  Pool pool(6 * kPageAlignment);
  CheckedTable checked = Computed(layout, pool, Tokens(40));
  const Status status = checked.table().Reserve(30);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), Code::kResourceExhausted);
  EXPECT_EQ(status.error().message(),
            "the KV cache needs 16.0 KiB for 30 more positions after 40, and 0 B of 24.0 KiB are "
            "free: allow more memory");
  checked.Verify();
  EXPECT_TRUE(checked.Compute(layout.all_layers(), Tokens(8)));
  checked.Verify();
  EXPECT_EQ(checked.table().Reserve(kMaxPositions).error().code(), Code::kInvalidArgument);
}

TEST(PageTable, WhatWasReservedTooMuchIsGivenBack) {
  const Layout layout = PlainLayout();
  Pool pool(kPlenty);
  CheckedTable checked = Computed(layout, pool, Tokens(10));
  ASSERT_TRUE(checked.table().Reserve(100).ok());
  EXPECT_EQ(checked.table().HeldBytes(), 7 * 3 * kPageAlignment);
  ASSERT_TRUE(checked.table().Reserve(1).ok());
  EXPECT_EQ(checked.table().HeldBytes(), 3 * kPageAlignment);
  checked.Verify();
}

// The first stream can go back to position 97, the second only to 24. The first, which has fewer
// sinks, must go back as well, and is complete only up to 16.
TEST(PageTable, RewindsToALengthThatEveryStreamHolds) {
  const StreamChoice first = {.window = 9, .sinks = 12};
  const StreamChoice second = {.window = 12, .sinks = 24};
  for (const bool of_one_layer : {true, false}) {
    const Layout layout = of_one_layer ? MakeLayout(8, 0, {{first, second}, {{}}})
                                       : MakeLayout(8, 0, {{first}, {second}, {{}}});
    Pool pool(kPlenty);
    CheckedTable checked = Computed(layout, pool, Tokens(100));
    EXPECT_EQ(checked.table().Truncate(97), 16u);
    checked.TakeLengths(Tokens(100));
    checked.Verify();
    // The same happens when another computation rewinds them.
    const uint32_t last = layout.layer_count() - 1;
    ASSERT_TRUE(checked.Compute({0, last}, Tokens(84, 116)));
    ASSERT_TRUE(checked.Compute({last, last + 1}, Tokens(81, 116)));
    ASSERT_TRUE(checked.Compute({last, last + 1}, {1}));
    EXPECT_EQ(checked.table().length({0, last}), of_one_layer ? 16u : 24u);
    checked.Verify();
  }
}

// Sinks and a window: the memory that is held is the same after a thousand positions and after a
// hundred; the rest is a cache.
TEST(PageTable, WindowsHoldConstantMemory) {
  const Layout layout = WindowLayout();
  Pool pool(kPlenty);
  CheckedTable checked(layout, pool, layout.all_layers());
  uint64_t most_bytes = 0;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(checked.Compute(layout.all_layers(), {i}));
    if (i <= 100) most_bytes = std::max(most_bytes, pool.usage().held_bytes);
    ASSERT_LE(pool.usage().held_bytes, most_bytes) << i;
  }
  checked.Verify();
  EXPECT_TRUE(checked.table().Page(0, 0));
  EXPECT_FALSE(checked.table().Page(0, 1));
}

// Whatever the chunks were, the rows for the next computation are the same.
TEST(PageTable, RewindsWithinTheSlackAndSaysHowFarOtherwise) {
  const Layout layout = MakeLayout(8, 5, {{{.window = 20, .sinks = 3}}, {{}}});
  Pool pool(kPlenty);
  CheckedTable checked = Computed(layout, pool, Tokens(100));
  CheckedTable fork(checked);
  EXPECT_EQ(fork.table().Truncate(95), 95u);
  // Rows of the window of position 60 are gone; those of the page with the sinks are all there.
  EXPECT_EQ(checked.table().Truncate(60), 8u);
  EXPECT_EQ(checked.table().history().length(), 8u);
  EXPECT_EQ(checked.table().Truncate(0), 0u);
}

// Pages that slid out use only free memory: two sequences can run for any time in the memory that
// two of them hold, while a third one adopts their pages.
TEST(PageTable, PagesBeforeAWindowAreFreedFirst) {
  for (Layout (*make)() : {WindowLayout, CompressedLayout}) {
    const Layout layout = make();
    constexpr uint32_t kLength = 600;
    constexpr uint32_t kChunk = 5;
    Pool pool(2 * layout.BytesFor(layout.all_layers(), kLength, kChunk));
    CheckedTable first(layout, pool, layout.all_layers());
    CheckedTable second(layout, pool, layout.all_layers());
    for (uint32_t done = 0; done < kLength; done += kChunk) {
      const auto number = static_cast<int32_t>(done);
      ASSERT_TRUE(first.Compute(layout.all_layers(), Tokens(kChunk, number)));
      ASSERT_TRUE(second.Compute(layout.all_layers(), Tokens(kChunk, 5000 + number)));
      first.Verify();
      second.Verify();
      if (done % 50 != 0) continue;
      CheckedTable third(layout, pool, layout.all_layers());
      third.Adopt(Tokens(done, 0));
      third.Verify();
    }
    EXPECT_GT(pool.usage().evicted_pages, 0u);
  }
}

// A sequence that goes back beyond the slack, or has the same prefix, continues from the last page
// boundary.
TEST(PageTable, PagesBeforeAWindowAreFoundAgain) {
  for (Layout (*make)() : {WindowLayout, CompressedLayout, MixedLayout}) {
    const Layout layout = make();
    const uint32_t page = layout.page_positions();
    Pool pool(kPlenty);
    const std::vector<int32_t> tokens = Tokens(200);
    CheckedTable checked(layout, pool, layout.all_layers());
    for (size_t done = 0; done < tokens.size(); done += 20) {
      const auto begin = tokens.begin() + static_cast<ptrdiff_t>(done);
      ASSERT_TRUE(checked.Compute(layout.all_layers(), {begin, begin + 20}));
    }
    for (uint32_t length = 200; length-- > 0;) {
      const std::vector<int32_t> wanted(tokens.begin(), tokens.begin() + length);
      CheckedTable back(checked);
      back.Truncate(length);
      back.Adopt(wanted);
      EXPECT_GE(back.length(), length / page * page);
      back.Verify();
      CheckedTable other(layout, pool, layout.all_layers());
      other.Adopt(wanted);
      EXPECT_EQ(other.length(), length / page * page);
      other.Verify();
      ASSERT_TRUE(other.Compute(layout.all_layers(), Tokens(30, 900)));
      other.Verify();
    }
  }
}

// The inputs of a complete compressed row are not needed by a sequence that continues after it.
TEST(PageTable, RowsOfNoUseAreNotKept) {
  const Layout layout = MakeLayout(16, 0, {{{.window = 16, .read_every = 16}}});
  Pool pool(kPlenty);
  CheckedTable checked = Computed(layout, pool, Tokens(200));
  EXPECT_EQ(pool.usage().cached_bytes, 0u);
  EXPECT_LE(pool.usage().held_bytes, kPageAlignment);
  CheckedTable other(layout, pool, layout.all_layers());
  other.Adopt(Tokens(100));  // nothing is needed there
  EXPECT_EQ(other.length(), 96u);
  other.Verify();
}

// A node holds its own layers while rows of others arrive: each has its own length.
TEST(PageTable, LayersAdvanceOnTheirOwn) {
  const Layout layout = PlainLayout();
  Pool pool(kPlenty);
  CheckedTable checked(layout, pool, layout.all_layers());
  ASSERT_TRUE(checked.Compute({1, 3}, Tokens(40)));
  EXPECT_EQ(checked.table().length(), 0u);
  EXPECT_EQ(checked.table().length({1, 3}), 40u);
  ASSERT_TRUE(checked.Compute({0, 1}, Tokens(30)));
  EXPECT_EQ(checked.table().length(), 30u);
  checked.Verify();
  // A computation with other tokens replaces those of other layers.
  ASSERT_TRUE(checked.Compute({0, 1}, {130, 131, 7}));
  EXPECT_EQ(checked.table().length({0, 1}), 33u);
  EXPECT_EQ(checked.table().length({1, 3}), 32u);
  checked.Verify();
  ASSERT_TRUE(checked.Compute(layout.all_layers(), {7, 8}));
  EXPECT_EQ(checked.table().length(), 34u);
  checked.Verify();
}

TEST(PageTable, LayersAheadThatCannotGoBackAreNamed) {
  const Layout layout = MakeLayout(8, 0, {{{}}, {{.window = 9}}});
  Pool pool(kPlenty);
  CheckedTable checked(layout, pool, layout.all_layers());
  ASSERT_TRUE(checked.Compute({1, 2}, Tokens(80)));
  ASSERT_TRUE(checked.Compute({0, 1}, Tokens(40)));
  const Status status = checked.table().Reserve(1);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), Code::kFailedPrecondition);
  EXPECT_EQ(status.error().message(),
            "layer 1 is at position 80 and cannot go back to 40, only to 0");
  EXPECT_EQ(checked.table().Truncate(40), 0u);
}

TEST(PageTable, MovesWithItsPages) {
  const Layout layout = PlainLayout();
  Pool pool(kPlenty);
  CheckedTable checked = Computed(layout, pool, Tokens(40));
  CheckedTable moved(std::move(checked));
  moved.Verify();
  CheckedTable other = Computed(layout, pool, Tokens(5));
  other = std::move(moved);
  other.Verify();
  EXPECT_EQ(other.length(), 40u);
  // A slice of a model has only its own layers.
  CheckedTable slice(layout, pool, {1, 2});
  ASSERT_TRUE(slice.Compute({1, 2}, Tokens(20)));
  EXPECT_EQ(slice.table().Page(1, 0), other.table().Page(1, 0));
  slice.Verify();
}

}  // namespace
}  // namespace aster::kv
