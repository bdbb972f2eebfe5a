// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Rows of which several machines have some columns each, cut from whole rows and joined again.

#include "kv/columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "kv/chunk.h"
#include "kv/world_for_test.h"

namespace aster::kv {
namespace {

constexpr uint32_t kCount = 4;

// Streams of rows with `columns` of four columns.
Layout LayoutOf(uint32_t columns) {
  return MakeLayout(8, 5,
                    {{{.row_bytes = size_t{2} * columns, .transposed = true}},
                     {{.row_bytes = size_t{3} * columns, .window = 20, .sinks = 3}}});
}

Layout Part(uint32_t begin, uint32_t end) {
  return LayoutOf(end - begin).PartOf(LayoutOf(kCount).digest(), {begin, end, kCount});
}

class ColumnsTest : public testing::Test {
 protected:
  ColumnsTest() {
    for (int32_t i = 0; i < 61; ++i) tokens_.push_back(100 + i);
    CHECK(source_.Compute(all_, tokens_));
    whole_ = ExportBytes(source_.table(), all_, 0, 61);
  }

  // The chunk that a machine with some columns exports after it has imported `chunk`.
  std::vector<uint8_t> ThroughPart(const Layout& part, Bytes chunk) {
    Pool pool(uint64_t{1} << 24);  // pages of other columns have the same names
    PageTable table(part, pool, all_);
    const Status taken = Import(table, chunk);
    EXPECT_TRUE(taken.ok()) << taken.error().message();
    return ExportBytes(table, all_, 0, 61);
  }
  static Result<std::vector<uint8_t>> Join(const std::vector<std::vector<uint8_t>>& chunks) {
    std::vector<KvChunk> parsed;
    for (const auto& chunk : chunks) parsed.push_back(TRY(ParseKvChunk(chunk)));
    return JoinKvChunks(parsed);
  }

  Pool pool_{uint64_t{1} << 24};
  const Layout layout_ = LayoutOf(kCount);
  const LayerRange all_ = layout_.all_layers();
  std::vector<int32_t> tokens_;
  CheckedTable source_{layout_, pool_, all_};
  std::vector<uint8_t> whole_;
};

TEST_F(ColumnsTest, PartsOfAllMachinesMakeWholeRows) {
  for (const std::vector<uint32_t>& ends : {std::vector<uint32_t>{1, 4}, {2, 4}, {1, 2, 3, 4}}) {
    std::vector<Layout> layouts;
    std::vector<std::vector<uint8_t>> parts;
    uint32_t begin = 0;
    for (const uint32_t end : ends) {
      layouts.push_back(Part(begin, end));
      parts.push_back(ThroughPart(layouts.back(), whole_));
      const KvChunk part = ParseKvChunk(parts.back()).value();
      EXPECT_EQ(part.header.columns, (Columns{begin, end, kCount}));
      EXPECT_LT(part.blocks.size(), ParseKvChunk(whole_)->blocks.size());
      begin = end;
    }
    const auto joined = Join(parts).value();
    EXPECT_TRUE(std::ranges::equal(ParseKvChunk(joined)->blocks, ParseKvChunk(whole_)->blocks));
    Pool other(uint64_t{1} << 24);
    CheckedTable target(layout_, other, all_);
    ASSERT_TRUE(Import(target.table(), joined).ok());
    target.TakeLengths(tokens_);
    target.Verify();
    EXPECT_EQ(target.length(), 61u);
  }
}

// Columns are cut before a chunk is sent, or by the machine that imports it.
TEST_F(ColumnsTest, ACutChunkHasTheSameRows) {
  const Layout part = Part(1, 3);
  const auto cut = CutKvChunk(ParseKvChunk(whole_).value(), part.columns()).value();
  EXPECT_LT(cut.size(), whole_.size());
  EXPECT_EQ(ThroughPart(part, cut), ThroughPart(part, whole_));
  // A part of a part is cut in the same way.
  const Layout less = Part(2, 3);
  EXPECT_EQ(ThroughPart(less, cut), ThroughPart(less, whole_));
}

TEST_F(ColumnsTest, MissingColumnsAreReported) {
  const auto first = ThroughPart(Part(0, 2), whole_), last = ThroughPart(Part(2, 4), whole_);
  Pool other(uint64_t{1} << 24);
  PageTable target(layout_, other, all_);
  const Status taken = Import(target, first);
  ASSERT_FALSE(taken.ok());
  EXPECT_THAT(taken.error().message(),
              testing::HasSubstr("these are columns 0 to 1 of 4; whole rows are needed"));
  EXPECT_EQ(target.length(), 0u);
  EXPECT_FALSE(Join({first}).ok());
  EXPECT_FALSE(Join({last}).ok());
  EXPECT_FALSE(Join({last, first}).ok());
  EXPECT_FALSE(Join({first, first}).ok());
  EXPECT_FALSE(Join({}).ok());
  EXPECT_FALSE(CutKvChunk(ParseKvChunk(first).value(), Columns{1, 3, kCount}).ok());
  EXPECT_FALSE(CutKvChunk(ParseKvChunk(whole_).value(), Columns{0, 1, 5}).ok());
}

TEST_F(ColumnsTest, DamageIsSeen) {
  const Layout part = Part(0, 2);
  const auto good = ThroughPart(part, whole_), last = ThroughPart(Part(2, 4), whole_);
  for (size_t i = 0; i < good.size(); i += 7) {
    std::vector<uint8_t> bad = good;
    bad[i] ^= 4;
    Pool other(uint64_t{1} << 24);
    PageTable table(part, other, all_);
    EXPECT_FALSE(Import(table, bad).ok()) << i;
    EXPECT_FALSE(Join({bad, last}).ok()) << i;
  }
}

}  // namespace
}  // namespace aster::kv
