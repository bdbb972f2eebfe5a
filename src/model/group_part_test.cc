// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/group_part.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>

#include "model/presets.h"

namespace aster::model {
namespace {

GroupPart Part(uint32_t index, std::initializer_list<uint32_t> shares) {
  GroupPart part{.index = index, .count = static_cast<uint32_t>(shares.size())};
  std::ranges::copy(shares, part.shares.begin());
  return part;
}

TEST(GroupPart, PartsFollowEachOther) {
  for (const uint32_t count : {16u, 250u, 4096u}) {
    uint32_t next = 0;
    for (uint32_t i = 0; i < 3; ++i) {
      const PartRange range = RangeOf(Part(i, {3, 1, 2}), count, 16);
      EXPECT_EQ(range.begin, next);
      next = range.end;
    }
    EXPECT_EQ(next, count);
  }
}

TEST(GroupPart, SharesAreKept) {
  EXPECT_EQ(RangeOf(Part(0, {3, 1}), 8), (PartRange{0, 6}));
  EXPECT_EQ(RangeOf(Part(1, {1, 1}), 40, 16), (PartRange{16, 40}));
}

TEST(GroupPart, WholeHasAll) {
  const Shape shape = ShapeOfPreset("llama-1b").value();
  const PartRanges all = RangesOf({}, shape);
  EXPECT_EQ(all.kv_heads, (PartRange{0, shape.kv_head_count}));
  EXPECT_EQ(all.vocab, (PartRange{0, shape.vocab_size}));
  EXPECT_FALSE(DividedRows({}, shape, "blk.0.attn_q.weight"));
}

TEST(GroupPart, QueriesGoWithTheirKeys) {
  const Shape shape = ShapeOfPreset("tiny").value();  // 4 heads read 2
  const GroupPart second = Part(1, {1, 1});
  EXPECT_EQ(DividedRows(second, shape, "blk.3.attn_q.weight"), (PartRange{128, 256}));
  EXPECT_EQ(DividedRows(second, shape, "blk.3.attn_k.bias"), (PartRange{64, 128}));
  EXPECT_FALSE(DividedRows(second, shape, "blk.3.attn_q_norm.weight"));
  EXPECT_FALSE(DividedRows(second, shape, "output_norm.weight"));
}

// Tensors that hold several matrices: of each the part's own rows.
TEST(GroupPart, FusedTensorsAreDividedMatrixByMatrix) {
  const Shape shape = ShapeOfPreset("phi4-mini-tiny").value();  // 4 heads of 64 read 2
  const GroupPart first = Part(0, {1, 1});
  const auto bytes_of = [&](const char* name, std::vector<uint64_t> dims) {
    const uint64_t bytes = dims[0] * dims[1];
    return BytesOfPart(first, shape, {.name = name, .dims = std::move(dims)}, bytes);
  };
  EXPECT_EQ(bytes_of("blk.0.attn_qkv.weight", {256, 512}), 256u * 256);
  EXPECT_EQ(bytes_of("blk.0.ffn_up.weight", {256, 1536}), 256u * 768);
  EXPECT_EQ(bytes_of("blk.0.ffn_down.weight", {768, 256}), 768u * 128);
}

TEST(GroupPart, EveryPartHasAHead) {
  const Shape shape = ShapeOfPreset("tiny").value();
  EXPECT_TRUE(CheckGroup(Part(0, {1, 1}), shape).ok());
  EXPECT_EQ(CheckGroup(Part(0, {1, 1, 1}), shape).error().code(), Code::kInvalidArgument);
  EXPECT_EQ(CheckGroup(Part(0, {9, 1}), shape).error().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace aster::model
