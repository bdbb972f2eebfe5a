// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/shape/shape.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "model/memory/memory.h"
#include "model/shape/shape_for_test.h"
#include "model/shape/tensors.h"
#include "model/synth/presets.h"

namespace aster::model {
namespace {

Shape Tiny() { return ShapeOfPreset("tiny").value(); }

TEST(Shape, EveryPresetSurvivesItsMetadata) {
  for (const Preset& preset : Presets()) {
    const auto shape = ReadBack(MetadataOf(preset.shape));
    ASSERT_TRUE(shape.ok()) << preset.name << ": " << shape.error().message();
    EXPECT_EQ(shape->arch, preset.shape.arch);
    EXPECT_EQ(shape->layer_count, preset.shape.layer_count);
    EXPECT_EQ(shape->head_dim, preset.shape.head_dim);
    EXPECT_EQ(shape->kv_head_count, preset.shape.kv_head_count);
    EXPECT_EQ(shape->feed_forward, preset.shape.feed_forward);
    EXPECT_EQ(shape->experts.count, preset.shape.experts.count);
    EXPECT_EQ(shape->vocab_size, preset.shape.vocab_size);
    EXPECT_EQ(shape->rope.base, preset.shape.rope.base);
  }
}

TEST(Shape, RopeScalingSurvivesItsMetadata) {
  Shape shape = Tiny();
  shape.rope.scaling = RopeScaling::kYarn;
  shape.rope.factor = 4.0f;
  shape.rope.original_context = 1024;
  shape.rope.beta_fast = 16.0f;
  const auto read = ReadBack(MetadataOf(shape));
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(read->rope.scaling, RopeScaling::kYarn);
  EXPECT_EQ(read->rope.factor, 4.0f);
  EXPECT_EQ(read->rope.original_context, 1024u);
  EXPECT_EQ(read->rope.beta_fast, 16.0f);
}

TEST(Shape, SuppressedTokensAreRead) {
  gguf::MetadataBuilder metadata = MetadataOf(Tiny());
  const auto read = [&](std::vector<int32_t> tokens) {
    metadata.Set("tokenizer.ggml.suppress_tokens", tokens);
    return ReadBack(metadata);
  };
  EXPECT_TRUE(ReadBack(metadata)->suppressed.empty());
  EXPECT_EQ(read({31, 7, 31})->suppressed, (std::vector<int32_t>{7, 31}));
  EXPECT_EQ(read({})->suppressed, std::vector<int32_t>());
  const auto vocab_size = static_cast<int32_t>(Tiny().vocab_size);
  std::vector<int32_t> all(Tiny().vocab_size);
  std::iota(all.begin(), all.end(), 0);
  for (const std::vector<int32_t>& bad : {{-1}, {vocab_size}, all}) {
    const auto refused = read(bad);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message().find("tokenizer.ggml.suppress_tokens"), std::string::npos);
  }
}

TEST(Shape, ZeroExpertsAndAWindowOfZeroAreNone) {
  gguf::MetadataBuilder metadata = MetadataOf(Tiny());
  metadata.Set("llama.expert_count", uint32_t{0});
  metadata.Set("llama.attention.sliding_window", uint32_t{0});
  EXPECT_EQ(ReadBack(metadata)->sliding_window, 0u);
  metadata.Set("llama.attention.sliding_window", uint32_t{64});
  EXPECT_EQ(ReadBack(metadata)->sliding_window, 64u);
}

TEST(Memory, TheNarrowerWindowCounts) {
  const auto window_and_sinks = [](uint32_t trained, uint32_t window, uint32_t sinks) {
    Shape shape = Tiny();
    shape.sliding_window = trained;
    const MemoryOptions options = Narrowed({.window = window, .sinks = sinks}, shape);
    return std::pair(options.window, options.sinks);
  };
  EXPECT_EQ(window_and_sinks(0, 0, 0), std::pair(0u, 0u));
  EXPECT_EQ(window_and_sinks(0, 50, 4), std::pair(50u, 4u));
  EXPECT_EQ(window_and_sinks(64, 0, 0), std::pair(64u, 0u));
  EXPECT_EQ(window_and_sinks(64, 100, 4), std::pair(64u, 0u));
  EXPECT_EQ(window_and_sinks(64, 50, 4), std::pair(50u, 4u));
}

TEST(Shape, AMissingKeyIsNamed) {
  const std::set<std::string> optional = {
      "llama.attention.head_count_kv", "llama.attention.key_length", "llama.attention.value_length",
      "llama.rope.freq_base", "llama.rope.dimension_count"};
  const gguf::MetadataBuilder whole = MetadataOf(Tiny());
  for (const std::string& key : whole.keys()) {
    gguf::MetadataBuilder metadata = whole;
    metadata.Remove(key);
    const auto shape = ReadBack(metadata);
    EXPECT_EQ(shape.ok(), optional.contains(key)) << key;
    if (!shape.ok()) {
      EXPECT_NE(shape.error().message().find(key), std::string::npos) << shape.error().message();
    }
  }
}

TEST(Shape, NumbersThatCannotBeAreRefused) {
  const auto refused = [](const char* key, auto value) {
    gguf::MetadataBuilder metadata = MetadataOf(Tiny());
    metadata.Set(key, value);
    return !ReadBack(metadata).ok();
  };
  EXPECT_TRUE(refused("llama.block_count", uint32_t{0}));
  EXPECT_TRUE(refused("llama.block_count", uint32_t{1} << 31));
  EXPECT_TRUE(refused("llama.block_count", "four"));
  EXPECT_TRUE(refused("llama.embedding_length", uint32_t{0xffffffff}));
  EXPECT_TRUE(refused("llama.attention.head_count_kv", uint32_t{3}));
  EXPECT_TRUE(refused("llama.attention.value_length", uint32_t{32}));
  EXPECT_TRUE(refused("llama.attention.layer_norm_rms_epsilon", 0.0f));
  EXPECT_TRUE(refused("llama.attention.layer_norm_rms_epsilon", 1e38f));
  EXPECT_TRUE(refused("llama.rope.freq_base", 1.0f));
  EXPECT_TRUE(refused("llama.rope.freq_base", 0.5f));
  EXPECT_TRUE(refused("llama.rope.dimension_count", uint32_t{65}));
  EXPECT_TRUE(refused("llama.rope.scaling.type", "spiral"));
  EXPECT_TRUE(refused("llama.expert_count", uint32_t{8}));
  EXPECT_TRUE(refused("llama.logit_scale", 0.5f));
  EXPECT_TRUE(refused("llama.attention.head_count", std::vector<uint32_t>{4, 4, 2, 4}));
  EXPECT_TRUE(refused("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(refused("llama.attention.head_count", std::vector<uint32_t>{4, 4, 4, 4}));
}

Shape TinyOss() { return ShapeOfPreset("gpt-oss-tiny").value(); }

TEST(Shape, OfGptOssSurvivesItsMetadata) {
  Shape shape = TinyOss();
  const auto read = ReadBack(MetadataOf(shape));
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(read->full_every, 2u);
  EXPECT_EQ(read->experts.limit, 7.0f);
  EXPECT_EQ(read->rope.factor, 32.0f);
  shape.full_every = 3;
  shape.experts.limit = 5.0f;
  const auto other = ReadBack(MetadataOf(shape));
  ASSERT_TRUE(other.ok()) << other.error().message();
  EXPECT_EQ(other->full_every, 3u);
  EXPECT_EQ(other->experts.limit, 5.0f);
}

TEST(Shape, GptOssOfAnotherKindIsRefusedByName) {
  const auto refused = [](const std::string& key, auto value) {
    gguf::MetadataBuilder metadata = MetadataOf(TinyOss());
    metadata.Set("gpt-oss." + key, value);
    const auto shape = ReadBack(metadata);
    return !shape.ok() && shape.error().message().find(key) != std::string::npos;
  };
  EXPECT_TRUE(refused("expert_gating_func", uint32_t{2}));
  EXPECT_TRUE(refused("expert_shared_count", uint32_t{1}));
  EXPECT_TRUE(refused("expert_weights_scale", 2.5f));
  EXPECT_TRUE(refused("leading_dense_block_count", uint32_t{1}));
  EXPECT_TRUE(refused("nextn_predict_layers", uint32_t{1}));
  EXPECT_TRUE(refused("attention.sliding_window", uint32_t{0}));
  EXPECT_TRUE(refused("attention.sliding_window", uint32_t{1}));
  EXPECT_TRUE(refused("attention.sliding_window_pattern", "even"));
  EXPECT_TRUE(refused("rope.scaling.type", "longrope"));
  EXPECT_FALSE(refused("expert_gating_func", uint32_t{3}));
  gguf::MetadataBuilder without = MetadataOf(TinyOss());
  without.Remove("gpt-oss.attention.sliding_window");
  EXPECT_FALSE(ReadBack(without).ok());
}

TEST(Shape, OfGemma3SurvivesItsMetadata) {
  Shape shape = ShapeOfPreset("gemma3-tiny").value();
  const auto read = ReadBack(MetadataOf(shape));
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(read->full_every, 3u);
  EXPECT_EQ(read->attention_scale, 0.15f);
  EXPECT_EQ(read->logit_cap, 30.0f);
  EXPECT_EQ(read->rope.base, 1000000.0f);
  EXPECT_EQ(read->rope.factor, 8.0f);
  EXPECT_EQ(read->window_rope.base, 10000.0f);
  EXPECT_EQ(read->window_rope.scaling, RopeScaling::kNone);
  shape.window_rope.base = 30000.0f;
  EXPECT_EQ(ReadBack(MetadataOf(shape))->window_rope.base, 30000.0f);
}

// Files have no scale: the 27 B model is recognised by its number of layers.
TEST(Shape, OfGemma3HasTheScaleOfItsSize) {
  const auto scale_of = [](std::string_view preset) {
    const gguf::MetadataBuilder metadata = MetadataOf(ShapeOfPreset(preset).value());
    const auto read = ReadBack(metadata);
    return read.ok() ? AttentionScaleOf(*read) : 0.0f;
  };
  EXPECT_EQ(scale_of("gemma3-1b"), 1.0f / 16);
  EXPECT_EQ(scale_of("gemma3-12b"), 1.0f / 16);
  EXPECT_EQ(scale_of("gemma3-27b"), 1.0f / std::sqrt(168.0f));
  EXPECT_EQ(scale_of("gemma3-proportions"), 1.0f / std::sqrt(168.0f));
  gguf::MetadataBuilder published = MetadataOf(ShapeOfPreset("gemma3-27b").value());
  published.Remove("gemma3.attention.scale");
  EXPECT_EQ(ReadBack(published)->attention_scale, 1.0f / std::sqrt(168.0f));
}

TEST(Shape, Gemma3OfAnotherKindIsRefusedByName) {
  const auto refused = [](const std::string& key, auto value) {
    gguf::MetadataBuilder metadata = MetadataOf(ShapeOfPreset("gemma3-tiny").value());
    metadata.Set("gemma3." + key, value);
    const auto shape = ReadBack(metadata);
    return !shape.ok() && shape.error().message().find(key) != std::string::npos;
  };
  EXPECT_TRUE(refused("attn_logit_softcapping", 50.0f));
  EXPECT_TRUE(refused("attention.shared_kv_layers", uint32_t{5}));
  EXPECT_TRUE(refused("embedding_length_per_layer_input", uint32_t{256}));
  EXPECT_TRUE(refused("attention.key_length_swa", uint32_t{128}));
  EXPECT_TRUE(refused("rope.dimension_count_swa", uint32_t{32}));
  EXPECT_TRUE(refused("attention.causal", false));
  EXPECT_TRUE(refused("attention.scale", -1.0f));
  EXPECT_TRUE(refused("attention.sliding_window", uint32_t{1}));
  EXPECT_TRUE(refused("attention.sliding_window_pattern", "all"));
  EXPECT_TRUE(refused("rope.scaling.type", "yarn"));
  EXPECT_TRUE(refused("rope.freq_base_swa", 0.5f));
  EXPECT_TRUE(refused("expert_count", uint32_t{8}));
  EXPECT_FALSE(refused("final_logit_softcapping", 20.0f));
  for (const char* key : {"gemma3.rope.freq_base", "gemma3.attention.sliding_window"}) {
    gguf::MetadataBuilder without = MetadataOf(ShapeOfPreset("gemma3-tiny").value());
    without.Remove(key);
    const auto shape = ReadBack(without);
    ASSERT_FALSE(shape.ok());
    EXPECT_NE(shape.error().message().find(key), std::string::npos);
  }
}

TEST(Shape, OfMistral3SurvivesItsMetadata) {
  Shape shape = ShapeOfPreset("mistral3-tiny").value();
  const auto read = ReadBack(MetadataOf(shape));
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(read->temperature, 0.1f);
  EXPECT_EQ(read->rope.log_multiplier, 1.0f);
  EXPECT_EQ(read->rope.factor, 16.0f);
  // Mistral Small 3 has the same architecture, without growing queries and RoPE scaling.
  shape.temperature = 0.0f;
  shape.rope = {.base = 1e9f, .dimensions = 64};
  const auto plain = ReadBack(MetadataOf(shape));
  ASSERT_TRUE(plain.ok()) << plain.error().message();
  EXPECT_EQ(plain->temperature, 0.0f);
  EXPECT_EQ(QueryFactorAt(*plain, 1 << 20), 1.0);
}

TEST(Shape, Mistral3OfAnotherKindIsRefusedByName) {
  const auto refused = [](const std::string& key, auto value) {
    return IsRefused("mistral3-tiny", key, value);
  };
  EXPECT_TRUE(refused("expert_count", uint32_t{8}));
  EXPECT_TRUE(refused("leading_dense_block_count", uint32_t{1}));
  EXPECT_TRUE(refused("nextn_predict_layers", uint32_t{1}));
  EXPECT_TRUE(refused("attention.temperature_scale", -0.1f));
  EXPECT_TRUE(refused("attention.temperature_length", uint32_t{99}));
  EXPECT_TRUE(refused("rope.dimension_count", uint32_t{32}));
  EXPECT_TRUE(refused("rope.scaling.yarn_log_multiplier", -1.0f));
  EXPECT_TRUE(refused("rope.scaling.yarn_ext_factor", 0.5f));
  EXPECT_TRUE(refused("rope.scaling.yarn_attn_factor", 0.5f));
  EXPECT_FALSE(refused("attention.temperature_length", uint32_t{1024}));
  // Other architectures do not support it.
  EXPECT_TRUE(IsRefused("tiny", "attention.temperature_scale", 0.1f));
  Shape unscaled = ShapeOfPreset("mistral3-tiny").value();
  unscaled.rope.original_context = 0;
  EXPECT_FALSE(CheckShape(unscaled).ok());
}

TEST(Shape, OfPhi3SurvivesItsMetadata) {
  Shape shape = ShapeOfPreset("phi4-mini-tiny").value();
  const auto read = ReadBack(MetadataOf(shape));
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(read->rope.dimensions, 48u);
  EXPECT_EQ(read->rope.original_context, 4096u);
  EXPECT_EQ(read->rope.attention_factor, shape.rope.attention_factor);
  EXPECT_EQ(read->sliding_window, 512u);
  EXPECT_EQ(RopeFactorsOf(*read), "rope_factors_long.weight");
  shape.context_length = 4096;
  EXPECT_EQ(RopeFactorsOf(shape), "rope_factors_short.weight");
  // Phi 3.5's window is wider than its context.
  shape.sliding_window = 262144;
  EXPECT_EQ(ReadBack(MetadataOf(shape))->sliding_window, 0u);
}

TEST(Shape, Phi3OfAnotherKindIsRefusedByName) {
  const auto refused = [](const std::string& key, auto value) {
    return IsRefused("phi4-mini-tiny", key, value);
  };
  EXPECT_TRUE(refused("rope.scaling.type", "spiral"));
  EXPECT_TRUE(refused("expert_count", uint32_t{16}));
  EXPECT_TRUE(refused("nextn_predict_layers", uint32_t{1}));
  EXPECT_TRUE(refused("rope.scaling.attn_factor", -1.0f));
  EXPECT_TRUE(refused("rope.scaling.original_context_length", uint32_t{0}));
  EXPECT_FALSE(refused("rope.scaling.type", "longrope"));
  gguf::MetadataBuilder yarn = MetadataOf(ShapeOfPreset("phi4-mini-tiny").value());
  yarn.Set("phi3.rope.scaling.type", "yarn");
  yarn.Set("phi3.rope.scaling.factor", 4.0f);
  EXPECT_NE(ReadBack(yarn).error().message().find("rope.scaling.type"), std::string::npos);
}

TEST(Shape, OfGlmSurvivesItsMetadata) {
  const Shape shape = ShapeOfPreset("glm-tiny").value();
  const auto read = ReadBack(MetadataOf(shape));
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(read->rope.dimensions, 32u);
  EXPECT_EQ(read->experts.score, kernels::RouterScore::kSigmoid);
  EXPECT_TRUE(read->experts.choice_bias);
  EXPECT_TRUE(read->experts.normalized);
  EXPECT_EQ(read->experts.scale, 2.5f);
  EXPECT_EQ(read->experts.shared, 1u);
  EXPECT_EQ(read->experts.dense_layers, 1u);
  EXPECT_EQ(read->feed_forward, 512u);
  EXPECT_FALSE(read->has_experts(0));
  EXPECT_TRUE(read->has_experts(1));
}

// The number of layers includes them.
TEST(Shape, MtpBlocksOfGlmAreLeftOut) {
  Shape shape = ShapeOfPreset("glm-4.5-air").value();
  shape.left_out = 1;
  const gguf::MetadataBuilder metadata = MetadataOf(shape);
  const auto read = ReadBack(metadata);
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(read->layer_count, 46u);
  EXPECT_EQ(read->left_out, 1u);
  EXPECT_EQ(read->mtp_layers, 0u);
}

// DeepSeek V3: the best experts of half of the groups.
TEST(Shape, GroupsOfExpertsAreRead) {
  const Shape shape = ShapeOfPreset("deepseek-v3").value();
  gguf::MetadataBuilder metadata = MetadataOf(shape);
  const auto read = ReadBack(metadata);
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(read->experts.groups, 8u);
  EXPECT_EQ(read->experts.used_groups, 4u);
  const auto reads = [&](uint32_t groups, uint32_t used) {
    metadata.Set("deepseek2.expert_group_count", groups);
    metadata.Set("deepseek2.expert_group_used_count", used);
    return ReadBack(metadata);
  };
  EXPECT_FALSE(reads(7, 4).ok());
  EXPECT_FALSE(reads(8, 0).ok());
  EXPECT_FALSE(reads(8, 9).ok());
  EXPECT_FALSE(reads(128, 4).ok());
  EXPECT_FALSE(reads(64, 1).ok()) << "4 experts cannot be 8";
  // Using all groups is the same as no groups.
  for (const uint32_t groups : {0u, 1u, 8u}) EXPECT_EQ(reads(groups, groups)->experts.groups, 1u);
}

TEST(Shape, GlmOfAnotherKindIsRefusedByName) {
  const auto refused = [](const std::string& key, auto value) {
    return IsRefused("glm-tiny", key, value);
  };
  EXPECT_TRUE(refused("expert_gating_func", uint32_t{4}));
  EXPECT_TRUE(refused("expert_group_count", uint32_t{65}));
  EXPECT_TRUE(refused("expert_shared_count", uint32_t{17}));
  EXPECT_TRUE(refused("expert_shared_feed_forward_length", uint32_t{512}));
  EXPECT_TRUE(refused("expert_weights_scale", -1.0f));
  EXPECT_TRUE(refused("expert_weights_scale", 1e9f));
  EXPECT_TRUE(refused("leading_dense_block_count", uint32_t{4}));
  EXPECT_TRUE(refused("nextn_predict_layers", uint32_t{5}));
  EXPECT_TRUE(refused("attention.sliding_window", uint32_t{128}));
  EXPECT_FALSE(refused("expert_gating_func", uint32_t{1}));
  EXPECT_FALSE(refused("expert_group_count", uint32_t{1}));
  EXPECT_FALSE(refused("nextn_predict_layers", uint32_t{0}));
  gguf::MetadataBuilder without = MetadataOf(ShapeOfPreset("glm-tiny").value());
  without.Remove("glm4moe.rope.dimension_count");
  EXPECT_FALSE(ReadBack(without).ok());
  Shape shape = ShapeOfPreset("glm-tiny").value();
  shape.tied_head = true;
  EXPECT_FALSE(CheckShape(shape).ok());
  shape = ShapeOfPreset("glm-tiny").value();
  shape.feed_forward = 0;
  EXPECT_FALSE(CheckShape(shape).ok());
  shape = ShapeOfPreset("glm-tiny").value();
  shape.experts.scale = std::nanf("");
  EXPECT_FALSE(CheckShape(shape).ok());
}

TEST(Shape, MiniMaxOfAnotherKindIsRefusedByName) {
  const auto refused = [](const std::string& key, auto value) {
    return IsRefused("minimax-m2-tiny", key, value);
  };
  EXPECT_TRUE(refused("expert_gating_func", uint32_t{3}));
  EXPECT_TRUE(refused("expert_shared_count", uint32_t{1}));
  EXPECT_TRUE(refused("leading_dense_block_count", uint32_t{1}));
  EXPECT_FALSE(refused("expert_gating_func", uint32_t{2}));
  gguf::MetadataBuilder published = MetadataOf(ShapeOfPreset("minimax-m2").value());
  for (const char* key : {"expert_weights_norm", "expert_weights_scale"})
    published.Remove(std::string("minimax-m2.") + key);
  const auto read = ReadBack(published);
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_TRUE(read->experts.normalized);
  EXPECT_EQ(read->experts.scale, 1.0f);
}

TEST(Shape, OfQwenNextSurvivesItsMetadata) {
  for (const char* preset : {"qwen3-next-tiny", "qwen3.5-tiny", "qwen3.5-moe-tiny"}) {
    const Shape shape = ShapeOfPreset(preset).value();
    const auto read = ReadBack(MetadataOf(shape));
    ASSERT_TRUE(read.ok()) << read.error().message();
    EXPECT_EQ(read->recurrence.full_every, 4u);
    EXPECT_EQ(read->recurrence.key_heads, 2u);
    EXPECT_EQ(read->recurrence.value_heads, 4u);
    EXPECT_EQ(read->recurrence.key_dim, 64u);
    EXPECT_EQ(read->recurrence.value_dim, 64u);
    EXPECT_EQ(read->recurrence.taps, 4u);
    EXPECT_EQ(read->recurrence.in_turn, shape.arch != Arch::kQwen3Next);
    EXPECT_EQ(read->experts.shared_gate, shape.arch != Arch::kQwen35);
    EXPECT_EQ(read->experts.shared, shape.experts.shared);
    EXPECT_TRUE(read->has_state(2));
    EXPECT_FALSE(read->has_state(3));
    EXPECT_EQ(read->layer_count, 4u);
    EXPECT_EQ(read->left_out, shape.mtp_layers);
  }
  // Qwen3-Next may lack the interval; a block after its layers does not count as a layer.
  gguf::MetadataBuilder metadata = MetadataOf(ShapeOfPreset("qwen3-next-tiny").value());
  metadata.Remove("qwen3next.full_attention_interval");
  metadata.Set("qwen3next.block_count", uint32_t{5});
  metadata.Set("qwen3next.nextn_predict_layers", uint32_t{1});
  const auto read = ReadBack(metadata);
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(read->recurrence.full_every, 4u);
  EXPECT_EQ(read->layer_count, 4u);
  EXPECT_EQ(read->left_out, 1u);
}

TEST(Shape, QwenNextOfAnotherKindIsRefusedByName) {
  const auto refused = [](const std::string& key, auto value) {
    return IsRefused("qwen3-next-tiny", key, value);
  };
  EXPECT_TRUE(refused("ssm.inner_size", uint32_t{255}));
  EXPECT_TRUE(refused("ssm.state_size", uint32_t{24}));
  EXPECT_TRUE(refused("ssm.state_size", uint32_t{512}));
  EXPECT_TRUE(refused("ssm.group_count", uint32_t{3}));
  EXPECT_TRUE(refused("ssm.conv_kernel", uint32_t{9}));
  EXPECT_TRUE(refused("full_attention_interval", uint32_t{0}));
  EXPECT_TRUE(refused("expert_shared_feed_forward_length", uint32_t{100}));
  EXPECT_TRUE(refused("expert_weights_scale", 2.0f));
  EXPECT_TRUE(refused("attention.sliding_window", uint32_t{128}));
  EXPECT_FALSE(refused("full_attention_interval", uint32_t{2}));
  EXPECT_FALSE(refused("expert_shared_feed_forward_length", uint32_t{512}));
  for (const char* key : {"rope.dimension_count", "ssm.time_step_rank"}) {
    gguf::MetadataBuilder without = MetadataOf(ShapeOfPreset("qwen3-next-tiny").value());
    without.Remove(std::string("qwen3next.") + key);
    EXPECT_FALSE(ReadBack(without).ok()) << key;
  }
}

TEST(Shape, LaterGemmasAreNamedWithWhatIsKnown) {
  for (const char* name : {"gemma", "gemma3n", "gemma4-assistant"}) {
    gguf::MetadataBuilder metadata = MetadataOf(ShapeOfPreset("gemma3-tiny").value());
    metadata.Set("general.architecture", name);
    const auto shape = ReadBack(metadata);
    ASSERT_FALSE(shape.ok());
    EXPECT_NE(shape.error().message().find(name), std::string::npos);
    EXPECT_NE(shape.error().message().find("gemma3, "), std::string::npos);
  }
}

// A stream with a window keeps only its last rows, however long the text is.
TEST(Memory, OnlyLayersWithAWindowForget) {
  const Shape shape = TinyOss();
  const kv::Layout layout = MakeMemoryLayout(shape, Narrowed({}, shape), Hash128{1, 2}).value();
  EXPECT_EQ(layout.streams(0)[0].window, 128u);
  EXPECT_EQ(layout.streams(1)[0].window, 0u);
  EXPECT_EQ(layout.streams(2)[0].window, 128u);
  const uint64_t all = layout.BytesFor({1, 2}, 8192, 0);
  EXPECT_EQ(layout.BytesFor({1, 2}, 65536, 0), 8 * all);
  EXPECT_EQ(layout.BytesFor({0, 1}, 65536, 0), layout.BytesFor({0, 1}, 8192, 0));
}

// Values that other architectures or other engines' files have, and that would be computed wrongly.
TEST(Shape, WhatPlainFamiliesDoNotComputeIsRefusedByName) {
  const auto refused = [](std::string_view preset, const std::string& key, auto value) {
    const Shape shape = ShapeOfPreset(preset).value();
    gguf::MetadataBuilder metadata = MetadataOf(shape);
    metadata.Set(fmt::format("{}.{}", ArchName(shape.arch), key), value);
    const auto read = ReadBack(metadata);
    return !read.ok() && read.error().message().find(key) != std::string::npos;
  };
  for (const char* preset : {"qwen3-30b-a3b", "qwen3-next-tiny", "qwen3.5-moe-tiny"}) {
    SCOPED_TRACE(preset);
    for (const uint32_t function : {0, 2, 3, 99})
      EXPECT_TRUE(refused(preset, "expert_gating_func", function));
    EXPECT_TRUE(refused(preset, "expert_weights_norm", false));
    EXPECT_TRUE(refused(preset, "expert_weights_scale", 2.0f));
    EXPECT_TRUE(refused(preset, "leading_dense_block_count", uint32_t{1}));
    EXPECT_FALSE(refused(preset, "expert_gating_func", uint32_t{1}));
    EXPECT_FALSE(refused(preset, "expert_weights_scale", 0.0f));
    EXPECT_FALSE(refused(preset, "expert_group_count", uint32_t{1}));
  }
  EXPECT_TRUE(refused("qwen3-30b-a3b", "expert_shared_count", uint32_t{1}));
  for (const Preset& preset : Presets()) {
    SCOPED_TRACE(preset.name);
    EXPECT_TRUE(refused(preset.name, "attention.causal", false));
    EXPECT_TRUE(refused(preset.name, "rope.scale_linear", 4.0f));
  }
  EXPECT_TRUE(refused("tiny", "rope.scaling.factor", 4.0f));
  EXPECT_FALSE(refused("tiny", "rope.scaling.factor", 1.0f));
  EXPECT_TRUE(refused("tiny", "rope.scaling.attn_factor", 1.5f));
}

TEST(Shape, AnUnknownArchitectureIsNamed) {
  gguf::MetadataBuilder metadata = MetadataOf(Tiny());
  metadata.Set("general.architecture", "mamba");
  const auto shape = ReadBack(metadata);
  ASSERT_FALSE(shape.ok());
  EXPECT_EQ(shape.error().code(), Code::kUnimplemented);
  EXPECT_NE(shape.error().message().find("mamba"), std::string::npos);
  EXPECT_NE(shape.error().message().find("qwen3moe"), std::string::npos);
  EXPECT_EQ(shape.error().message().find("nearest"), std::string::npos);
  const std::pair<const char*, const char*> kNearest[] = {
      {"gemma3n", "gemma3"}, {"phimoe", "phi3"}, {"qwen2vl", "qwen2"}, {"Llama", "llama"}};
  for (const auto& [name, nearest] : kNearest) {
    EXPECT_NE(ParseArch(name).error().message().find(
                  fmt::format("\"{}\" is not supported (the nearest that is: {});", name, nearest)),
              std::string::npos);
  }
}

}  // namespace
}  // namespace aster::model
