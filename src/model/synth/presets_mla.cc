// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/synth/presets_mla.h"

#include "model/families/shape_dsa.h"

namespace aster::model {
namespace {

// A DeepSeek V3 with this number of layers and experts.
Shape DeepSeek3Shape(uint32_t layers, uint32_t dense_layers, uint32_t experts) {
  return {.arch = Arch::kDeepSeek2,
          .layer_count = layers,
          .context_length = 163840,
          .embedding = 7168,
          .head_count = 128,
          .kv_head_count = 1,
          .head_dim = 576,
          .feed_forward = 18432,
          .vocab_size = 129280,
          .norm_epsilon = 1e-6f,
          .rope = {.base = 10000.0f,
                   .dimensions = 64,
                   .scaling = RopeScaling::kYarn,
                   .factor = 40.0f,
                   .original_context = 4096,
                   .log_multiplier = 0.1f},
          .experts = {.count = experts,
                      .used = 8,
                      .feed_forward = 2048,
                      .score = kernels::RouterScore::kSigmoid,
                      .choice_bias = true,
                      .dense_layers = dense_layers,
                      .shared = 1,
                      .scale = 2.5f},
          .mla = {.query_rank = 1536, .row_rank = 512, .key_dim = 128, .value_dim = 128}};
}

// 8 groups of experts, 4 for each token.
Shape DeepSeek3OfGroups() {
  Shape shape = DeepSeek3Shape(61, 3, 256);
  shape.experts.groups = 8;
  shape.experts.used_groups = 4;
  return shape;
}

Shape KimiK2Shape() {
  Shape shape = DeepSeek3Shape(61, 1, 384);
  shape.context_length = 131072;
  shape.head_count = 64;
  shape.vocab_size = 163840;
  shape.rope.base = 50000.0f;
  shape.rope.factor = 32.0f;
  shape.rope.beta_fast = 1.0f;
  shape.experts.scale = 2.827f;
  return shape;
}

// Its RoPE is not scaled.
Shape GlmFlashShape() {
  Shape shape = DeepSeek3Shape(47, 1, 64);
  shape.context_length = 202752;
  shape.embedding = 2048;
  shape.head_count = 20;
  shape.feed_forward = 10240;
  shape.vocab_size = 154880;
  shape.norm_epsilon = 1e-5f;
  shape.rope = {.base = 1000000.0f, .dimensions = 64};
  shape.experts.used = 4;
  shape.experts.feed_forward = 1536;
  shape.experts.scale = 1.8f;
  shape.mla = {.query_rank = 768, .row_rank = 512, .key_dim = 192, .value_dim = 256};
  return shape;
}

// Its queries have no low rank, and its router is a softmax.
Shape DeepSeek2LiteShape() {
  Shape shape = DeepSeek3Shape(27, 1, 64);
  shape.embedding = 2048;
  shape.head_count = 16;
  shape.feed_forward = 10944;
  shape.vocab_size = 102400;
  shape.rope.log_multiplier = 0.0707f;
  shape.experts = {.count = 64,
                   .used = 6,
                   .feed_forward = 1408,
                   .normalized = false,
                   .dense_layers = 1,
                   .shared = 2};
  shape.mla.query_rank = 0;
  return shape;
}

// All features of DeepSeek V3, and the MTP block of GLM 4.7 Flash, as small as blocks of 256 allow.
Shape TinyDeepSeek2Shape() {
  Shape shape = DeepSeek3Shape(4, 1, 8);
  shape.context_length = 65536;
  shape.embedding = 256;
  shape.head_count = 4;
  shape.feed_forward = 512;
  shape.vocab_size = 1024;
  shape.experts.used = 3;
  shape.experts.groups = 4;
  shape.experts.used_groups = 2;
  shape.experts.feed_forward = 256;
  shape.mla.query_rank = 256;
  shape.mtp_layers = 1;
  return shape;
}

// With an index in every layer.
Shape DeepSeek32Shape(uint32_t layers, uint32_t dense_layers, uint32_t experts) {
  Shape shape = DeepSeek3Shape(layers, dense_layers, experts);
  shape.arch = Arch::kDeepSeek32;
  shape.index = {.heads = 64, .dim = 128, .top = 2048, .own = std::vector<uint8_t>(layers, 1)};
  return shape;
}

Shape DeepSeek32OfGroups() {
  Shape shape = DeepSeek32Shape(61, 3, 256);
  shape.experts.groups = 8;
  shape.experts.used_groups = 4;
  return shape;
}

// All features of DeepSeek V3.2, as small.
Shape TinyDeepSeek32Shape() {
  Shape shape = TinyDeepSeek2Shape();
  shape.arch = Arch::kDeepSeek32;
  shape.index = {.heads = 8, .dim = 128, .top = 64, .own = std::vector<uint8_t>(4, 1)};
  return shape;
}

// A GLM 5 with these layers and experts: every layer has an index; in GLM 5.2 one of four.
Shape Glm5Shape(uint32_t layers, uint32_t dense_layers, uint32_t experts, bool shares_index) {
  Shape shape = DeepSeek3Shape(layers, dense_layers, experts);
  shape.arch = Arch::kGlmDsa;
  shape.context_length = shares_index ? 1048576 : 202752;
  shape.embedding = 6144;
  shape.head_count = 64;
  shape.feed_forward = 12288;
  shape.vocab_size = 154880;
  shape.norm_epsilon = 1e-5f;
  shape.rope = {.base = 1000000.0f, .dimensions = 64};
  shape.mla = {.query_rank = 2048, .row_rank = 512, .key_dim = 192, .value_dim = 256};
  shape.index = {.heads = 32, .dim = 128, .top = 2048, .own = {}};
  for (uint32_t layer = 0; layer < layers; ++layer)
    shape.index.own.push_back(!shares_index || HasIndexIn52(layer) ? 1 : 0);
  return shape;
}

// All features of GLM 5, as small as blocks of 256 allow.
Shape TinyGlm5Shape(uint32_t layers, bool shares_index) {
  Shape shape = Glm5Shape(layers, 1, 8, shares_index);
  shape.context_length = 65536;
  shape.embedding = 256;
  shape.head_count = 4;
  shape.feed_forward = 512;
  shape.vocab_size = 1024;
  shape.experts.used = 3;
  shape.experts.feed_forward = 256;
  shape.mla.query_rank = 256;
  shape.mla.key_dim = 128;
  shape.mla.value_dim = 128;
  shape.index.heads = 8;
  shape.index.top = 64;
  shape.mtp_layers = 1;
  return shape;
}

}  // namespace

std::vector<Preset> MlaPresets() {
  return {
      {"deepseek2-tiny", "every part of a DeepSeek V3, in 4 small layers", TinyDeepSeek2Shape()},
      {"deepseek2-proportions", "a DeepSeek V3 of 4 layers and 16 experts: real widths",
       DeepSeek3Shape(4, 1, 16)},
      {"deepseek-v3", "the shape of DeepSeek V3, R1 and V3.1: 671 B parameters",
       DeepSeek3OfGroups()},
      {"deepseek-v2-lite", "the shape of DeepSeek V2 Lite: 15.7 B parameters",
       DeepSeek2LiteShape()},
      {"glm-4.7-flash", "the shape of GLM 4.7 Flash: 30 B parameters", GlmFlashShape()},
      {"kimi-k2", "the shape of Kimi K2: 1 T parameters", KimiK2Shape()},
      {"deepseek32-tiny", "every part of a DeepSeek V3.2, in 4 small layers",
       TinyDeepSeek32Shape()},
      {"deepseek32-proportions", "a DeepSeek V3.2 of 4 layers and 16 experts: real widths",
       DeepSeek32Shape(4, 1, 16)},
      {"deepseek-v3.2", "the shape of DeepSeek V3.2 and V3.2-Exp: 672 B parameters",
       DeepSeek32OfGroups()},
      {"glm-5-tiny", "every part of a GLM 5, in 4 small layers", TinyGlm5Shape(4, false)},
      {"glm-5.2-tiny", "every part of a GLM 5.2, in 7 small layers", TinyGlm5Shape(7, true)},
      {"glm-5-proportions", "a GLM 5 of 4 layers and 16 experts: real widths",
       Glm5Shape(4, 1, 16, false)},
      {"glm-5", "the shape of GLM 5 and 5.1: 744 B parameters", Glm5Shape(78, 3, 256, false)},
      {"glm-5.2", "the shape of GLM 5.2: 744 B parameters", Glm5Shape(78, 3, 256, true)},
  };
}

}  // namespace aster::model
