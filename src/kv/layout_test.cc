// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kv/layout.h"

#include <gtest/gtest.h>

#include <limits>

#include "kv/world_for_test.h"

namespace aster::kv {
namespace {

// Compares the needed rows and pages with their definition.
void CheckNeeds(const StreamChoice& choice) {
  const Layout layout = MakeLayout(8, 0, {{choice}});
  const Stream& stream = layout.streams(0)[0];
  const uint32_t page_rows = 8 / choice.stride;
  for (uint32_t length = 0; length < 100; ++length) {
    for (uint32_t index = 0; index < 14; ++index) {
      uint32_t first = page_rows;
      for (uint32_t row = page_rows; row-- > 0;) {
        if (CheckedTable::Reads(stream, index * page_rows + row, length)) first = row;
      }
      const auto where = [&] {
        return testing::Message() << "stride " << choice.stride << " window " << choice.window
                                  << " sinks " << choice.sinks << " every " << choice.read_every
                                  << " length " << length << " page " << index;
      };
      ASSERT_EQ(stream.Needs(index, length), first < page_rows) << where();
      if (first == page_rows) continue;
      const bool has_sinks = index < stream.SinkPages();
      ASSERT_EQ(stream.FirstRowNeeded(index, length), has_sinks ? 0 : first) << where();
    }
  }
}

TEST(Layout, NeedsExactlyTheRowsThatAreRead) {
  for (const uint32_t stride : {1u, 2u, 4u, 8u}) {
    for (const uint32_t window : {0u, stride + 1, 2 * stride, 17u, 40u}) {
      for (const uint32_t sinks : {0u, 1u, 8u, 21u}) {
        for (const uint32_t read_every : {1u, 4u, 8u, 16u}) {
          if (window == 0 && sinks + read_every > 1) continue;
          if (read_every > 1 && read_every > window) continue;
          CheckNeeds(
              {.stride = stride, .window = window, .sinks = sinks, .read_every = read_every});
        }
      }
    }
  }
}

// A table can go back by the slack, and at least to the last page boundary.
TEST(Layout, RowsFromElsewhereReachBackToAPageBoundaryAtMost) {
  const Layout layout = MakeLayout(16, 6, {{{.window = 24}}});
  EXPECT_EQ(layout.ReachOf(0), 0u);
  EXPECT_EQ(layout.ReachOf(5), 0u);
  EXPECT_EQ(layout.ReachOf(16), 16u);
  EXPECT_EQ(layout.ReachOf(20), 16u);
  EXPECT_EQ(layout.ReachOf(31), 25u);
  EXPECT_EQ(layout.ReachOf(32), 32u);
}

TEST(Layout, WindowsAreExactNearTheLastPosition) {
  const Layout layout = MakeLayout(128, 0, {{{.window = 128}}});
  const Stream& stream = layout.streams(0)[0];
  constexpr uint32_t kLast = kMaxPositions - 1;
  EXPECT_TRUE(stream.Needs(kLast / 128, kLast));
  EXPECT_FALSE(stream.Needs(kLast / 128 - 1, kLast));  // it computes the last row of its page
  EXPECT_TRUE(stream.Needs(kLast / 128 - 1, kLast - 1));
}

TEST(Layout, RefusesWhatDoesNotFitTogether) {
  const auto codec = std::make_shared<PlainCodec>("bytes", 8, 16);
  const auto code_of = [](uint32_t page_positions, const Stream& stream) {
    const Result<Layout> layout = Layout::Create({}, page_positions, 0, {{stream}});
    return layout.ok() ? "" : layout.error().message();
  };
  EXPECT_EQ(code_of(16, {codec}), "");
  EXPECT_EQ(code_of(16, {nullptr}), "a stream of layer 0: it has no codec");
  EXPECT_EQ(code_of(32, {codec}),
            "a stream of layer 0: its codec has 16 rows in a page, 32 positions make 32");
  EXPECT_EQ(code_of(32, {codec, 2}), "");
  EXPECT_EQ(code_of(16, {codec, 1, 8, 0, 4}), "");
  EXPECT_EQ(code_of(16, {codec, 1, 8, 0, 9}),
            "a stream of layer 0: a window of 8 that is read every 9 positions");
  EXPECT_EQ(code_of(16, {codec, 1, 8, 0, 0}),
            "a stream of layer 0: a window of 8 that is read every 0 positions");
  EXPECT_EQ(code_of(40, {codec, 3}),
            "a stream of layer 0: pages of 40 positions do not hold whole rows of 3");
  EXPECT_NE(code_of(16, {codec, 0}), "");
  EXPECT_NE(code_of(0, {codec}), "");
  EXPECT_NE(code_of(std::numeric_limits<uint32_t>::max(), {codec}), "");
  EXPECT_EQ(code_of(16, {codec, 1, 1}),
            "a stream of layer 0: a window of 1 keeps nothing: more than 1 is needed");
  EXPECT_EQ(code_of(32, {codec, 2, 2}),
            "a stream of layer 0: a window of 2 keeps nothing: more than 2 is needed");
  EXPECT_NE(code_of(16, {codec, 1, 0, 4}), "");
  EXPECT_NE(code_of(16, {std::make_shared<PlainCodec>("", 8, 16)}), "");
  EXPECT_NE(code_of(16, {std::make_shared<PlainCodec>("\x1b[2J", 8, 16)}), "");
  EXPECT_NE(code_of(16, {std::make_shared<PlainCodec>("bytes", 0, 16)}), "");
  EXPECT_NE(code_of(16, {std::make_shared<PlainCodec>("bytes", size_t{1} << 40, 16)}), "");
}

TEST(Layout, DigestNamesEverythingThatRowsDependOn) {
  const std::vector<std::vector<StreamChoice>> plain = {{{}}, {{}}};
  const Hash128 digest = MakeLayout(16, 0, plain).digest();
  EXPECT_EQ(MakeLayout(16, 0, plain).digest(), digest);
  // The slack and the format in memory change no row.
  EXPECT_EQ(MakeLayout(16, 99, plain).digest(), digest);
  EXPECT_NE(MakeLayout(16, 0, plain, /*model=*/2).digest(), digest);
  EXPECT_NE(MakeLayout(32, 0, plain).digest(), digest);
  EXPECT_NE(MakeLayout(16, 0, {{{}}}).digest(), digest);
  EXPECT_NE(MakeLayout(16, 0, {{{}, {}}}).digest(), digest);
  EXPECT_NE(MakeLayout(16, 0, {{{}}, {{.row_bytes = 9}}}).digest(), digest);
  EXPECT_NE(MakeLayout(16, 0, {{{}}, {{.stride = 2}}}).digest(), digest);
  EXPECT_NE(MakeLayout(16, 0, {{{}}, {{.window = 8}}}).digest(), digest);
  EXPECT_NE(MakeLayout(16, 0, {{{}}, {{.transposed = true}}}).digest(), digest);
  EXPECT_NE(MakeLayout(16, 0, {{{.window = 8}}, {{}}}).digest(),
            MakeLayout(16, 0, {{{}}, {{.window = 8}}}).digest());
  EXPECT_NE(MakeLayout(16, 0, {{{.window = 8, .sinks = 4}}}).digest(),
            MakeLayout(16, 0, {{{.window = 8}}}).digest());
}

// The hash of a history must be the same on every machine and in every later version: it names
// files and pages. If this fails, kDigestVersion must be raised.
TEST(Layout, DigestNeverChanges) {
  EXPECT_EQ(PlainLayout().digest().ToHex(), "f9bda5c3848618c7a0d866c0bacbef96");
  EXPECT_EQ(CompressedLayout().digest().ToHex(), "9322a412c9dd2ec2184ef77657e01040");
}

TEST(Layout, DescribesItself) {
  EXPECT_EQ(WindowLayout().Describe({0, 2}),
            "model 00000000, pages of 8; layers 0 to 1: bytes, last 20 and first 3");
  EXPECT_EQ(CompressedLayout().Describe({1, 3}),
            "model 00000000, pages of 16; layer 1: bytes, last 24 + bytes, transposed every 4 + "
            "bytes, last 8; layer 2: bytes, last 24 + bytes every 16 + bytes, last 16");
  EXPECT_EQ(MakeLayout(8, 0, {{}}).Describe({0, 1}),
            "model 00000000, pages of 8; layer 0: nothing");
}

// The bound that admission uses always holds, and is not much too high.
TEST(Layout, TablesStayWithinThePlannedBytes) {
  for (Layout (*make)() : {PlainLayout, WindowLayout, CompressedLayout}) {
    const Layout layout = make();
    for (const uint32_t chunk : {1u, 7u, 16u, 33u}) {
      Pool pool(uint64_t{16} << 20);
      CheckedTable checked(layout, pool, layout.all_layers());
      while (checked.length() < 300) {
        ASSERT_TRUE(checked.table().Reserve(chunk).ok());
        const uint64_t most = layout.BytesFor(layout.all_layers(), checked.length() + chunk, chunk);
        EXPECT_LE(checked.table().HeldBytes(), most);
        EXPECT_GE(checked.table().HeldBytes() * 2, most);
        ASSERT_TRUE(checked.Compute(layout.all_layers(), std::vector<int32_t>(chunk, 1)));
      }
    }
  }
}

}  // namespace
}  // namespace aster::kv
