// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/parts/group_part.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>

#include "model/forward/runner_for_test.h"
#include "model/memory/memory.h"
#include "model/shape/tensors.h"
#include "model/synth/presets.h"

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
  EXPECT_EQ(all.head_groups, (PartRange{0, shape.kv_head_count}));
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

// Of a tensor that holds several matrices, a part has its own rows of each.
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

// A part has rows of each expert's matrices; the router is the same on every node.
TEST(GroupPart, ExpertsAreDividedByRows) {
  const Shape shape = ShapeOfPreset("gpt-oss-tiny").value();
  const GroupPart first = Part(0, {1, 1});
  const uint32_t width = shape.experts.feed_forward / 2, embedding = shape.embedding / 2;
  EXPECT_EQ(DividedRows(first, shape, "blk.0.ffn_up_exps.weight"), (PartRange{0, width}));
  EXPECT_EQ(DividedRows(first, shape, "blk.0.ffn_gate_exps.bias"), (PartRange{0, width}));
  EXPECT_EQ(DividedRows(first, shape, "blk.0.ffn_down_exps.weight"), (PartRange{0, embedding}));
  EXPECT_EQ(DividedRows(first, shape, "blk.0.attn_sinks.weight"),
            (PartRange{0, shape.head_count / 2}));
  EXPECT_FALSE(DividedRows(first, shape, "blk.0.ffn_gate_inp.weight"));
  const auto bytes_of = [&](const char* name, std::vector<uint64_t> dims) {
    return BytesOfPart(first, shape, {.name = name, .dims = std::move(dims)}, 1 << 20);
  };
  const uint64_t rows = shape.experts.feed_forward, count = shape.experts.count;
  EXPECT_EQ(bytes_of("blk.0.ffn_up_exps.weight", {shape.embedding, rows, count}), 1u << 19);
  EXPECT_EQ(bytes_of("blk.0.ffn_up_exps.bias", {rows, count}), 1u << 19);
  EXPECT_EQ(bytes_of("blk.0.ffn_gate_inp.weight", {shape.embedding, count}), 1u << 20);
}

// The leader has the MTP block, and the whole head for it.
TEST(GroupPart, OnlyTheLeaderHasTheMtpBlock) {
  const Shape shape = SmallDeepSeek4({0, 4});
  ASSERT_EQ(shape.mtp_layers, 1u);
  uint64_t next = 0, head = 0;
  for (const TensorSpec& spec : TensorsOf(shape)) {
    const uint64_t rows = spec.dims.back();
    if (spec.name == "output.weight") head = BytesOfPart(Part(0, {1, 1}), shape, spec, rows);
    if (!IsOfMtpBlock(spec)) continue;
    next += BytesOfPart(Part(0, {1, 1}), shape, spec, rows);
    EXPECT_EQ(BytesOfPart(Part(1, {1, 1}), shape, spec, rows), 0u);
  }
  EXPECT_GT(next, 1000u);
  EXPECT_EQ(head, shape.vocab_size + DividedRows(Part(0, {1, 1}), shape, "output.weight")->count());
}

TEST(GroupPart, PartsOwnExpertsAndSomeAreOnAll) {
  const Shape shape = ShapeOfPreset("gpt-oss-tiny").value();
  const uint32_t count = shape.experts.count;
  GroupPart second = Part(1, {1, 1});
  second.owns_experts = true;
  EXPECT_FALSE(DividedRows(second, shape, "blk.0.ffn_up_exps.weight"));
  EXPECT_EQ(ShapeOfPart(second, shape).experts.feed_forward, shape.experts.feed_forward);
  EXPECT_EQ(ExpertsOf(second, shape, 0).size(), count / 2);
  EXPECT_EQ(ExpertsOf(second, shape, 0).front(), count / 2);
  const TensorSpec up{.name = "blk.0.ffn_up_exps.weight",
                      .dims = {shape.embedding, shape.experts.feed_forward, count},
                      .layer = 0};
  EXPECT_EQ(BytesOfPart(second, shape, up, 1 << 20), 1u << 19);
  // If the list is empty, the same number of each part's experts is replicated.
  second.replicas = 2;
  EXPECT_EQ(ReplicatedExperts(second, shape, 0),
            (std::vector<uint16_t>{static_cast<uint16_t>(count / 4),
                                   static_cast<uint16_t>(3 * count / 4)}));
  EXPECT_EQ(ExpertsOf(second, shape, 0).size(), count / 2 + 1);
  EXPECT_EQ(BytesOfPart(second, shape, up, 1 << 20), (1u << 20) / count * (count / 2 + 1));
  EXPECT_TRUE(CheckGroup(second, shape).ok());
  second.replicated = {0, 1};  // of one layer
  EXPECT_EQ(CheckGroup(second, shape).error().code(), Code::kInvalidArgument);
  second.replicated.resize(size_t{2} * shape.layer_count, static_cast<uint16_t>(count));
  EXPECT_EQ(CheckGroup(second, shape).error().code(), Code::kInvalidArgument);
  GroupPart dense = Part(0, {1, 1});
  dense.owns_experts = true;
  EXPECT_THAT(CheckGroup(dense, ShapeOfPreset("tiny").value()).error().message(),
              testing::HasSubstr("/experts"));
}

// Queries and outputs of heads are divided; rows of the KV cache belong to all heads.
TEST(GroupPart, LatentHeadsAreDividedByTheirLowRanks) {
  const Shape shape = ShapeOfPreset("flash-shape-tiny").value();  // 4 heads of 128 in 2 groups
  const GroupPart second = Part(1, {1, 1});
  EXPECT_EQ(DividedRows(second, shape, "blk.1.attn_q_b.weight"), (PartRange{256, 512}));
  EXPECT_EQ(DividedRows(second, shape, "blk.1.attn_sinks.weight"), (PartRange{2, 4}));
  EXPECT_EQ(DividedRows(second, shape, "blk.1.attn_output_a.weight"), (PartRange{128, 256}));
  EXPECT_EQ(DividedRows(second, shape, "blk.1.attn_output_b.weight"), (PartRange{128, 256}));
  EXPECT_EQ(DividedRows(second, shape, "blk.1.ffn_up_shexp.weight"), (PartRange{128, 256}));
  for (const char* whole : {"attn_q_a", "attn_kv", "indexer.attn_q_b", "attn_compressor_kv"})
    EXPECT_FALSE(DividedRows(second, shape, fmt::format("blk.1.{}.weight", whole))) << whole;
  const Shape own = ShapeOfPart(second, shape);
  EXPECT_EQ(own.head_count, 2u);
  EXPECT_EQ(own.latent.output_groups, 1u);
  EXPECT_EQ(own.experts.feed_forward, shape.experts.feed_forward / 2);
  EXPECT_EQ(CheckGroup(Part(0, {1, 1, 1}), shape).error().code(), Code::kInvalidArgument);
}

// Heads are divided one by one, and each part has the shared row.
TEST(GroupPart, HeadsOfMlaAreDividedOneByOne) {
  Shape shape = ShapeOfPreset("deepseek2-tiny").value();  // 4 heads of 128 and 64 with RoPE
  const GroupPart second = Part(1, {3, 1});
  EXPECT_EQ(HeadGroupsOf(shape), 4u);
  EXPECT_EQ(DividedRows(second, shape, "blk.1.attn_q_b.weight"), (PartRange{576, 768}));
  EXPECT_EQ(DividedRows(second, shape, "blk.1.attn_v_b.weight"), (PartRange{3, 4}));
  EXPECT_EQ(DividedRows(second, shape, "blk.0.ffn_up.weight"), (PartRange{384, 512}));
  EXPECT_EQ(DividedRows(second, shape, "blk.1.ffn_up_exps.weight"), (PartRange{192, 256}));
  for (const char* whole : {"attn_q_a", "attn_kv_a_mqa", "indexer.attn_q_b"})
    EXPECT_FALSE(DividedRows(second, shape, fmt::format("blk.1.{}.weight", whole))) << whole;
  const TensorSpec keys{.name = "blk.1.attn_k_b.weight", .dims = {128, 512, 4}};
  EXPECT_EQ(BytesOfPart(second, shape, keys, 4000), 1000u);
  EXPECT_TRUE(ColumnsOf(second, shape).is_whole());
  // Two shared experts in one tensor.
  shape.experts.shared = 2;
  const TensorSpec shared{.name = "blk.1.ffn_up_shexp.weight", .dims = {256, 512}};
  EXPECT_EQ(BytesOfPart(second, shape, shared, 512), 128u);
}

TEST(GroupPart, LayersOfTwoKindsHaveWholeHeadsOnEveryPart) {
  const Shape shape = ShapeOfPreset("gemma4-31b").value();  // 4 heads of 512, or 16 of 256
  const GroupPart second = Part(1, {1, 1});
  EXPECT_EQ(HeadGroupsOf(shape), 4u);
  EXPECT_EQ(DividedRows(second, shape, "blk.0.attn_k.weight"), (PartRange{2048, 4096}));
  EXPECT_EQ(DividedRows(second, shape, "blk.5.attn_k.weight"), (PartRange{1024, 2048}));
  EXPECT_EQ(DividedRows(second, shape, "blk.5.attn_q.weight"), (PartRange{8192, 16384}));
  EXPECT_EQ(ColumnsOf(second, shape), (kv::Columns{2, 4, 4}));
  const Shape own = ShapeOfPart(second, shape);
  EXPECT_EQ(KvHeadsOf(own, 0), 8u);
  EXPECT_EQ(KvHeadsOf(own, 5), 2u);
  EXPECT_EQ(CheckGroup(second, ShapeOfPreset("gemma4-e2b").value()).error().code(),
            Code::kInvalidArgument);
}

// The same gathers as in the forward pass.
TEST(GroupPart, WhatALayerGathers) {
  const Shape next = ShapeOfPreset("qwen3-next-tiny").value();
  EXPECT_EQ(GathersOf(next, 0, false).count, 4u);
  EXPECT_EQ(GathersOf(next, 0, true).count, 3u);
  EXPECT_EQ(GathersOf(next, 0, true).numbers,
            next.recurrence.channels() + next.recurrence.values() + next.embedding);
  EXPECT_EQ(GathersOf(ShapeOfPreset("minimax-m2-tiny").value(), 0, false).count, 5u);
  EXPECT_EQ(GathersOf(ShapeOfPreset("gemma4-moe-tiny").value(), 0, false).count, 6u);
  const Shape glm = ShapeOfPreset("glm-tiny").value();
  EXPECT_EQ(GathersOf(glm, 0, true).count, 4u);  // a dense layer
  EXPECT_EQ(GathersOf(glm, 1, true).count, 3u);
  // The attention output; if experts are divided, also the wide rows of chosen and shared ones.
  EXPECT_EQ(GathersOf(glm, 1, true).inputs.size(), 1u);
  EXPECT_EQ(GathersOf(glm, 1, false).inputs.size(), 3u);
  EXPECT_EQ(GathersOf(glm, 1, false).numbers, 2 * glm.embedding);
}

TEST(GroupPart, EveryPartHasAHead) {
  const Shape shape = ShapeOfPreset("tiny").value();
  EXPECT_TRUE(CheckGroup(Part(0, {1, 1}), shape).ok());
  EXPECT_EQ(CheckGroup(Part(0, {1, 1, 1}), shape).error().code(), Code::kInvalidArgument);
  EXPECT_EQ(CheckGroup(Part(0, {9, 1}), shape).error().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace aster::model
