// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/families/shape_deepseek4.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "kernels/pages.h"
#include "model/memory/memory.h"
#include "model/shape/shape_for_test.h"
#include "model/shape/tensors.h"
#include "model/synth/presets.h"

namespace aster::model {
namespace {

Shape FlashTiny() { return ShapeOfPreset("flash-shape-tiny").value(); }

TEST(DeepSeek4Shape, SurvivesItsMetadata) {
  for (const char* preset : {"flash-shape-tiny", "flash-full", "pro-full"}) {
    const Shape shape = ShapeOfPreset(preset).value();
    const auto read = ReadBack(MetadataOf(shape));
    ASSERT_TRUE(read.ok()) << read.error().message();
    EXPECT_EQ(read->layer_count, shape.layer_count);
    EXPECT_EQ(read->mtp_layers, shape.mtp_layers);
    EXPECT_EQ(read->latent.ratios, shape.latent.ratios);
    EXPECT_EQ(read->latent.index_top, shape.latent.index_top);
    EXPECT_EQ(read->latent.rope.base, 160000.0f);
    EXPECT_EQ(read->latent.rope.original_context, 65536u);
    EXPECT_EQ(read->rope.scaling, RopeScaling::kNone);
    EXPECT_EQ(read->experts.scale, shape.experts.scale);
    EXPECT_EQ(read->experts.limit, 10.0f);
    EXPECT_EQ(read->experts.hash_layers, 3u);
    EXPECT_EQ(read->streams.sinkhorn, 20u);
    EXPECT_EQ(read->hidden_width(), 4 * shape.embedding);
    EXPECT_TRUE(read->latent.rounded_rows);
  }
}

TEST(DeepSeek4Shape, AMissingKeyIsNamedAndHasNoDefault) {
  const std::set<std::string> optional = {
      "deepseek4.nextn_predict_layers", "deepseek4.rope.scaling.type",
      "deepseek4.rope.scaling.yarn_beta_fast", "deepseek4.rope.scaling.yarn_beta_slow",
      "deepseek4.expert_gating_func"};
  const gguf::MetadataBuilder whole = MetadataOf(FlashTiny());
  for (const std::string& key : whole.keys()) {
    gguf::MetadataBuilder metadata = whole;
    metadata.Remove(key);
    const auto shape = ReadBack(metadata);
    // Without its count the MTP block would be a layer, for which there is a ratio of 0.
    EXPECT_EQ(shape.ok(), optional.contains(key)) << key;
    if (!shape.ok()) {
      EXPECT_NE(shape.error().message().find(key), std::string::npos) << shape.error().message();
    }
  }
}

TEST(DeepSeek4Shape, BothTypesOfRatiosAreRead) {
  const Shape shape = FlashTiny();
  gguf::MetadataBuilder metadata = MetadataOf(shape);
  metadata.Set("deepseek4.attention.compress_ratios",
               std::vector<int32_t>{0, 0, 4, 128, 4, 128, 0, 0});
  EXPECT_EQ(ReadBack(metadata)->latent.ratios, shape.latent.ratios);
  metadata.Set("deepseek4.attention.compress_ratios", std::vector<int32_t>{0, 0, -4, 128, 4, 128});
  EXPECT_FALSE(ReadBack(metadata).ok());
}

TEST(DeepSeek4Shape, WhatCannotBeComputedIsRefused) {
  const auto refusal = [](const char* key, auto value) {
    gguf::MetadataBuilder metadata = MetadataOf(FlashTiny());
    metadata.Set(fmt::format("deepseek4.{}", key), value);
    const auto shape = ReadBack(metadata);
    return shape.ok() ? std::string() : shape.error().message();
  };
  EXPECT_EQ(refusal("swiglu_clamp_exp", 10.0f), "");
  EXPECT_EQ(refusal("attention.kv_lora_rank", uint32_t{128}), "");
  EXPECT_EQ(refusal("expert_group_count", uint32_t{0}), "");
  EXPECT_NE(refusal("attention.kv_lora_rank", uint32_t{64}), "");
  EXPECT_NE(refusal("expert_group_count", uint32_t{8}), "");
  EXPECT_NE(refusal("expert_gating_func", uint32_t{2}).find("4 is expected"), std::string::npos);
  EXPECT_NE(refusal("rope.scaling.type", "linear").find("yarn is expected"), std::string::npos);
  EXPECT_NE(refusal("expert_weights_norm", false), "");
  EXPECT_NE(refusal("expert_shared_count", uint32_t{2}), "");
  EXPECT_NE(refusal("swiglu_clamp_exp", std::vector<float>{10, 10, 10, 10, 10, 7, 10}), "");
  EXPECT_NE(refusal("swiglu_clamp_exp", std::vector<float>{10, 10}), "");
  EXPECT_NE(refusal("swiglu_clamp_shexp", 7.0f), "");
  EXPECT_NE(refusal("attention.compress_ratios", std::vector<uint32_t>{0, 0, 4, 64, 4, 128}), "");
  EXPECT_NE(refusal("attention.compress_ratios", std::vector<uint32_t>{0, 0, 4}), "");
  EXPECT_NE(refusal("attention.head_count_kv", uint32_t{2}), "");
  EXPECT_NE(refusal("attention.value_length", uint32_t{64}), "");
  EXPECT_NE(refusal("attention.output_group_count", uint32_t{3}), "");
  EXPECT_NE(refusal("attention.indexer.key_length", uint32_t{48}), "");
  EXPECT_NE(refusal("rope.dimension_count", uint32_t{128}), "");
  EXPECT_NE(refusal("hyper_connection.count", uint32_t{9}), "");
  EXPECT_NE(refusal("hyper_connection.epsilon", 0.0f), "");
  EXPECT_NE(refusal("nextn_predict_layers", uint32_t{7}), "");
  EXPECT_NE(refusal("leading_dense_block_count", uint32_t{1}), "");
  EXPECT_NE(refusal("hash_layer_count", uint32_t{70}), "");
  EXPECT_NE(refusal("expert_weights_scale", 1e30f), "");
  EXPECT_NE(refusal("attention.layer_norm_rms_epsilon", 1e38f), "");
  EXPECT_NE(refusal("hyper_connection.epsilon", 1.0f), "");
  EXPECT_NE(refusal("embedding_length_out", uint32_t{77}), "");
  EXPECT_EQ(refusal("embedding_length_out", uint32_t{1024}), "");
  EXPECT_EQ(refusal("attention.sliding_window", uint32_t{1}),
            "a window (attention.sliding_window) of 1; at least 2 positions are supported");
}

// RoPE needs a base above 1, and only the file says what it is.
TEST(DeepSeek4Shape, RopesThatCannotTurnAreRefused) {
  const auto refusal = [](const char* key, float value) {
    gguf::MetadataBuilder metadata = MetadataOf(FlashTiny());
    metadata.Set(fmt::format("deepseek4.{}", key), value);
    const auto shape = ReadBack(metadata);
    return shape.ok() ? std::string() : shape.error().message();
  };
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  for (const char* key : {"rope.freq_base", "attention.compress_rope_freq_base"}) {
    for (const float base : {1.0f, 0.5f, -3.0f, kInfinite})
      EXPECT_NE(refusal(key, base).find(key), std::string::npos) << key << " " << base;
  }
  for (const float factor : {1e-30f, 0.5f, 1e38f})
    EXPECT_NE(refusal("rope.scaling.factor", factor), "");
  EXPECT_NE(refusal("rope.scaling.yarn_beta_fast", 0.5f), "");
  EXPECT_NE(refusal("rope.scaling.yarn_ext_factor", 3.0f), "");
  EXPECT_EQ(refusal("rope.scaling.yarn_ext_factor", 1.0f), "");
  // Both mean that cosines and sines are not scaled.
  EXPECT_EQ(refusal("rope.scaling.attn_factor", 1.0f), "");
  EXPECT_EQ(refusal("rope.scaling.attn_factor", 0.78294f), "");
  EXPECT_NE(refusal("rope.scaling.attn_factor", 2.0f), "");
}

TEST(DeepSeek4Shape, NumbersThatNoFileMayHoldAreNotWrittenEither) {
  const auto refused = [](const auto& change) {
    Shape shape = FlashTiny();
    change(shape);
    return !CheckShape(shape).ok();
  };
  constexpr float kNoNumber = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(refused([](Shape&) {}));
  EXPECT_TRUE(refused([](Shape& shape) { shape.rope.base = 1.0f; }));
  EXPECT_TRUE(refused([](Shape& shape) { shape.latent.rope.base = kNoNumber; }));
  EXPECT_TRUE(refused([](Shape& shape) { shape.latent.rope.factor = 0.0f; }));
  EXPECT_TRUE(refused([](Shape& shape) { shape.norm_epsilon = kNoNumber; }));
  EXPECT_TRUE(refused([](Shape& shape) { shape.latent.index_top = 0; }));
  EXPECT_TRUE(refused([](Shape& shape) { shape.streams.sinkhorn = 0; }));
  EXPECT_TRUE(refused([](Shape& shape) { shape.experts.limit = kNoNumber; }));
  EXPECT_TRUE(refused([](Shape& shape) { shape.experts.scale = 0.0f; }));
  EXPECT_TRUE(refused([](Shape& shape) { shape.tied_head = true; }));
}

uint64_t FlashParametersOf(const Shape& shape) {
  uint64_t count = 0;
  for (const TensorSpec& spec : TensorsOf(shape)) {
    uint64_t elements = spec.is_table ? 0 : 1;
    for (const uint64_t dim : spec.dims) elements *= dim;
    count += elements;
  }
  return count;
}

TEST(DeepSeek4Shape, ThePublishedShapesHaveTheirParameters) {
  EXPECT_NEAR(static_cast<double>(FlashParametersOf(ShapeOfPreset("flash-full").value())), 284e9,
              2e9);
  EXPECT_NEAR(static_cast<double>(FlashParametersOf(ShapeOfPreset("pro-full").value())), 1.6e12,
              4e10);
}

TEST(DeepSeek4Memory, RowsOfFewBitsCostWhatTheyShould) {
  const Shape shape = ShapeOfPreset("flash-full").value();
  const auto bytes = [&](const MemoryOptions& memory) {
    const kv::Layout layout =
        MakeMemoryLayout(shape, Narrowed(memory, shape), Hash128{1, 2}).value();
    double per_token = 0;
    for (uint32_t layer = 0; layer < layout.layer_count(); ++layer) {
      for (const kv::Stream& stream : layout.streams(layer)) {
        if (stream.window == 0)
          per_token += static_cast<double>(stream.codec->row_bytes()) / stream.stride;
      }
    }
    return per_token;
  };
  // 3440 numbers per token; in f16, and packed.
  EXPECT_EQ(bytes({.plain_rows = true}), 6880.0);
  EXPECT_NEAR(bytes({}), 21 * (583 + 68) / 4.0 + 20 * 583 / 128.0, 1e-9);
}

}  // namespace
}  // namespace aster::model
