// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/families/shape_gemma4.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/memory/memory.h"
#include "model/shape/shape_for_test.h"
#include "model/synth/presets.h"

namespace aster::model {
namespace {

TEST(ShapeOfGemma4, SurvivesItsMetadata) {
  for (const char* preset : {"gemma4-tiny", "gemma4-moe-tiny"}) {
    const Shape shape = ShapeOfPreset(preset).value();
    const auto read = ReadBack(MetadataOf(shape));
    ASSERT_TRUE(read.ok()) << read.error().message();
    EXPECT_EQ(read->full_every, 3u);
    EXPECT_EQ(read->attention_scale, shape.attention_scale);
    EXPECT_EQ(read->window_rope.base, 10000.0f);
    EXPECT_EQ(read->window_rope.dimensions, 64u);
    EXPECT_EQ(read->rope.dimensions, 128u);
    EXPECT_EQ(read->kinds.window_head_dim, 64u);
    EXPECT_EQ(read->kinds.window_kv_heads, 2u);
    EXPECT_EQ(read->kinds.sharing, shape.kinds.sharing);
    EXPECT_EQ(read->kinds.sharing_feed_forward, shape.kinds.sharing_feed_forward);
    EXPECT_EQ(read->kinds.input, shape.kinds.input);
    EXPECT_EQ(read->experts.used, shape.experts.used);
    EXPECT_EQ(read->experts.feed_forward, shape.experts.feed_forward);
  }
  gguf::MetadataBuilder plain = MetadataOf(ShapeOfPreset("gemma4-31b").value());
  EXPECT_EQ(ReadBack(plain)->attention_scale, 1.0f);
}

TEST(ShapeOfGemma4, LayersDifferByTheirKind) {
  const Shape shape = ShapeOfPreset("gemma4-e2b").value();
  EXPECT_EQ(HeadDimOf(shape, 0), 256u);
  EXPECT_EQ(HeadDimOf(shape, 4), 512u);
  EXPECT_EQ(FeedForwardOf(shape, 14), 6144u);
  EXPECT_EQ(FeedForwardOf(shape, 15), 12288u);
  // Layers 13 and 14 are the last of their kinds with rows of their own.
  EXPECT_EQ(KvLayerOf(shape, 14), 14u);
  EXPECT_EQ(KvLayerOf(shape, 15), 13u);
  EXPECT_EQ(KvLayerOf(shape, 19), 14u);
  EXPECT_EQ(KvLayerOf(shape, 34), 14u);
  EXPECT_TRUE(shape.can_begin(13));
  EXPECT_FALSE(shape.can_begin(14));
  EXPECT_FALSE(shape.can_begin(34));
  EXPECT_TRUE(ShapeOfPreset("gemma4-31b")->can_begin(59));
  const Shape large = ShapeOfPreset("gemma4-31b").value();
  EXPECT_EQ(KvHeadsOf(large, 0), 16u);
  EXPECT_EQ(KvHeadsOf(large, 5), 4u);
  EXPECT_TRUE(TakesKeysAsValues(large, 5));
  EXPECT_FALSE(TakesKeysAsValues(large, 4));
}

// Layers that share rows keep none; those with a window keep only its rows.
TEST(ShapeOfGemma4, KeepsWhatItsLayersNeed) {
  const Shape shape = ShapeOfPreset("gemma4-e2b").value();
  const kv::Layout layout = MakeMemoryLayout(shape, Narrowed({}, shape), Hash128{1, 2}).value();
  const auto bytes_of = [&](uint32_t layer) {
    return layout.BytesFor({layer, layer + 1}, 12800, 0);
  };
  EXPECT_EQ(bytes_of(4), 12800u * 2 * 512 * 2);
  EXPECT_LT(bytes_of(0), 1000u * 2 * 256 * 2);
  EXPECT_TRUE(layout.streams(15).empty());
  EXPECT_TRUE(layout.streams(34).empty());
  EXPECT_EQ(bytes_of(34), 0u);
}

TEST(ShapeOfGemma4, OfAnotherKindIsRefusedByName) {
  const auto refused = [](const std::string& key, auto value) {
    return IsRefused("gemma4-tiny", key, value);
  };
  // Eight layers: every third sees all, and the last four share rows.
  const std::string pattern = "attention.sliding_window_pattern";
  EXPECT_TRUE(refused(pattern, std::vector<bool>(8, true)));
  EXPECT_TRUE(refused(pattern, std::vector<bool>(8, false)));
  EXPECT_TRUE(refused(pattern, std::vector<bool>(7, true)));
  EXPECT_TRUE(
      refused(pattern, std::vector<bool>{true, false, true, true, false, true, true, true}));
  EXPECT_TRUE(refused("attention.head_count_kv", std::vector<uint32_t>{2, 2, 1, 2, 1, 1, 2, 2}));
  EXPECT_TRUE(refused("feed_forward_length", std::vector<uint32_t>{9, 8, 8, 8, 7, 7, 7, 7}));
  EXPECT_TRUE(refused("attention.shared_kv_layers", uint32_t{8}));
  EXPECT_TRUE(refused("attention.value_length", uint32_t{64}));
  EXPECT_TRUE(refused("attention.value_length_swa", uint32_t{32}));
  EXPECT_TRUE(refused("rope.scaling.type", "linear"));
  EXPECT_TRUE(refused("attn_logit_softcapping", 50.0f));
  EXPECT_TRUE(refused("attention.causal", false));
  EXPECT_TRUE(refused("nextn_predict_layers", uint32_t{1}));
  EXPECT_TRUE(refused("expert_shared_count", uint32_t{1}));
  EXPECT_FALSE(refused("final_logit_softcapping", 20.0f));
  // Before layers that share rows there must be a layer of each kind with its own.
  Shape tiny = ShapeOfPreset("gemma4-tiny").value();
  tiny.kinds.sharing = 5;
  EXPECT_TRUE(CheckShape(tiny).ok());
  tiny.kinds.sharing = 6;
  EXPECT_FALSE(CheckShape(tiny).ok());
  for (const char* key :
       {"attention.key_length_swa", "attention.sliding_window", "rope.freq_base"}) {
    gguf::MetadataBuilder without = MetadataOf(ShapeOfPreset("gemma4-tiny").value());
    without.Remove(std::string("gemma4.") + key);
    const auto shape = ReadBack(without);
    ASSERT_FALSE(shape.ok());
    EXPECT_NE(shape.error().message().find(key), std::string::npos);
  }
}

}  // namespace
}  // namespace aster::model
