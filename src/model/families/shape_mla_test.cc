// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/families/shape_mla.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "model/memory/memory.h"
#include "model/shape/shape_for_test.h"
#include "model/synth/presets.h"

namespace aster::model {
namespace {

TEST(Shape, OfDeepSeek2SurvivesItsMetadata) {
  const Shape shape = ShapeOfPreset("kimi-k2").value();
  const auto read = ReadBack(MetadataOf(shape));
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(read->mla.query_rank, 1536u);
  EXPECT_EQ(read->mla.row_rank, 512u);
  EXPECT_EQ(read->mla.key_dim, 128u);
  EXPECT_EQ(read->mla.value_dim, 128u);
  EXPECT_EQ(read->head_dim, 576u);
  EXPECT_EQ(read->experts.dense_layers, 1u);
  const double magnitude = 1.0 + 0.1 * std::log(32.0);
  EXPECT_NEAR(AttentionScaleOf(*read), magnitude * magnitude / std::sqrt(192.0), 1e-7);
  // Files until 2025 have joined tensors.
  Shape joint = shape;
  joint.kinds.fused = true;
  const auto older = ReadBack(MetadataOf(joint));
  ASSERT_TRUE(older.ok()) << older.error().message();
  EXPECT_EQ(older->mla.key_dim, 128u);
  EXPECT_EQ(older->mla.value_dim, 128u);
  EXPECT_EQ(older->head_dim, 576u);
  EXPECT_EQ(older->kv_head_count, 1u);
  const auto lite = ReadBack(MetadataOf(ShapeOfPreset("deepseek-v2-lite").value()));
  ASSERT_TRUE(lite.ok()) << lite.error().message();
  EXPECT_EQ(lite->mla.query_rank, 0u);
  EXPECT_EQ(lite->experts.score, kernels::RouterScore::kSoftmax);
  EXPECT_FALSE(lite->experts.normalized);
  EXPECT_EQ(lite->experts.shared_width(), 2816u);
}

TEST(Shape, DeepSeek2OfAnotherKindIsRefusedByName) {
  const auto refused = [](const std::string& key, auto value) {
    return IsRefused("deepseek2-tiny", key, value);
  };
  EXPECT_TRUE(refused("attention.head_count_kv", uint32_t{4}));
  EXPECT_TRUE(refused("attention.key_length", uint32_t{64}));
  EXPECT_TRUE(refused("attention.key_length_mla", uint32_t{32}));
  EXPECT_TRUE(refused("attention.sliding_window", uint32_t{128}));
  EXPECT_TRUE(refused("attention.temperature_scale", 0.1f));
  EXPECT_TRUE(refused("rope.scaling.type", "linear"));
  EXPECT_TRUE(refused("rope.scaling.attn_factor", 1.2f));
  EXPECT_TRUE(refused("expert_group_count", uint32_t{65}));
  EXPECT_TRUE(refused("expert_gating_func", uint32_t{4}));
  Shape shape = ShapeOfPreset("deepseek2-tiny").value();
  shape.head_dim = 256;
  EXPECT_FALSE(CheckShape(shape).ok());
}

// A key says which layers have an index; in files without it, the context length does.
TEST(Shape, OfGlm5SurvivesItsMetadata) {
  const Shape shape = ShapeOfPreset("glm-5.2").value();
  gguf::MetadataBuilder metadata = MetadataOf(shape);
  const auto expect = [&](std::vector<uint8_t> own) {
    const auto read = ReadBack(metadata);
    ASSERT_TRUE(read.ok()) << read.error().message();
    EXPECT_EQ(read->index.own, own);
  };
  const auto read = ReadBack(metadata);
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(read->index.heads, 32u);
  EXPECT_EQ(read->index.dim, 128u);
  EXPECT_EQ(read->index.top, 2048u);
  EXPECT_EQ(std::ranges::count(read->index.own, 1), 21);
  EXPECT_TRUE(read->can_begin(74));
  EXPECT_FALSE(read->can_begin(75));
  EXPECT_TRUE(read->experts.normalized);
  expect(shape.index.own);
  metadata.Remove("glm-dsa.attention.indexer.types");
  expect(shape.index.own);
  metadata.Set("glm-dsa.context_length", uint32_t{202752});
  expect(std::vector<uint8_t>(78, 1));
  // Some converters give two numbers, as the published configuration does.
  metadata.Set("glm-dsa.attention.indexer.top_k_frequency", uint32_t{4});
  metadata.Set("glm-dsa.attention.indexer.skip_top_k_offset", uint32_t{3});
  expect(shape.index.own);
  const std::vector<bool> same(shape.index.own.begin(), shape.index.own.end());
  metadata.Set("glm-dsa.attention.indexer.types", same);
  expect(shape.index.own);
  metadata.Set("glm-dsa.attention.indexer.types", std::vector<bool>(78, true));
  EXPECT_FALSE(ReadBack(metadata).ok());
}

TEST(Shape, GlmDsaOfAnotherKindIsRefusedByName) {
  const auto refused = [](const std::string& key, auto value) {
    return IsRefused("glm-5-tiny", key, value);
  };
  EXPECT_TRUE(refused("attention.indexer.types", std::vector<uint32_t>{0, 1, 1, 1}));
  EXPECT_TRUE(refused("attention.indexer.types", std::vector<uint32_t>{1, 2, 1, 1}));
  EXPECT_TRUE(refused("attention.indexer.types", std::vector<uint32_t>{1, 1}));
  EXPECT_TRUE(refused("attention.indexer.key_length", uint32_t{32}));
  EXPECT_TRUE(refused("attention.indexer.key_length", uint32_t{100}));
  EXPECT_TRUE(refused("attention.indexer.top_k", uint32_t{0}));
  EXPECT_TRUE(refused("attention.indexer.top_k_frequency", uint32_t{4}));
  EXPECT_TRUE(refused("attention.q_lora_rank", uint32_t{0}));
  EXPECT_FALSE(refused("attention.indexer.types", std::vector<uint32_t>{1, 1, 1, 0}));
}

// These are the only keys of its index.
TEST(Shape, OfDeepSeek32SurvivesItsMetadata) {
  const Shape shape = ShapeOfPreset("deepseek-v3.2").value();
  const gguf::MetadataBuilder metadata = MetadataOf(shape);
  const auto read = ReadBack(metadata);
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(read->index.heads, 64u);
  EXPECT_EQ(read->index.dim, 128u);
  EXPECT_EQ(read->index.top, 2048u);
  EXPECT_EQ(read->index.own, std::vector<uint8_t>(61, 1));
  EXPECT_TRUE(read->index_rope_pairs_halves());
  EXPECT_TRUE(read->can_begin(60));
  EXPECT_EQ(read->experts.groups, 8u);
  EXPECT_EQ(read->experts.used_groups, 4u);
  EXPECT_EQ(read->experts.score, kernels::RouterScore::kSigmoid);
  EXPECT_NEAR(AttentionScaleOf(*read), 1.3688879 * 1.3688879 / std::sqrt(192.0), 1e-6);
  EXPECT_FALSE(ShapeOfPreset("glm-5")->index_rope_pairs_halves());
}

TEST(Shape, DeepSeek32OfAnotherKindIsRefusedByName) {
  const auto refused = [](const std::string& key, auto value) {
    return IsRefused("deepseek32-tiny", key, value);
  };
  EXPECT_TRUE(refused("attention.indexer.types", std::vector<uint32_t>{1, 1, 0, 1}));
  EXPECT_FALSE(refused("attention.indexer.types", std::vector<uint32_t>{1, 1, 1, 1}));
  EXPECT_TRUE(refused("attention.indexer.key_length", uint32_t{100}));
  EXPECT_TRUE(refused("attention.indexer.head_count", uint32_t{0}));
  EXPECT_TRUE(refused("attention.indexer.top_k", uint32_t{0}));
  EXPECT_TRUE(refused("attention.indexer.top_k_frequency", uint32_t{4}));
  EXPECT_TRUE(refused("attention.q_lora_rank", uint32_t{0}));
  EXPECT_TRUE(refused("rope.scaling.attn_factor", 1.2f));
  EXPECT_TRUE(refused("rope.scaling.type", "linear"));
  EXPECT_TRUE(refused("expert_gating_func", uint32_t{4}));
}

// One row for all heads, in f16.
TEST(Memory, OfMlaIsOneRow) {
  const Shape shape = ShapeOfPreset("kimi-k2").value();
  const kv::Layout layout = MakeMemoryLayout(shape, Narrowed({}, shape), Hash128{1, 2}).value();
  EXPECT_EQ(layout.BytesFor({0, 1}, 1280, 0), 1280u * 576 * 2);
  EXPECT_FALSE(MakeMemoryLayout(shape, {.type = kernels::KvType::kQ8}, Hash128{1, 2}).ok());
  EXPECT_FALSE(MakeMemoryLayout(shape, {.window = 100}, Hash128{1, 2}).ok());
}

}  // namespace
}  // namespace aster::model
