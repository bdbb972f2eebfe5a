// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/synth/presets.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "model/synth/presets_deepseek4.h"
#include "model/synth/presets_gemma.h"
#include "model/synth/presets_mimo2.h"
#include "model/synth/presets_mla.h"
#include "model/synth/presets_qwen_next.h"

namespace aster::model {
namespace {

// Small enough for any test, wide enough for blocks of 256.
const Shape kTiny = {.arch = Arch::kLlama,
                     .layer_count = 4,
                     .context_length = 4096,
                     .embedding = 256,
                     .head_count = 4,
                     .kv_head_count = 2,
                     .head_dim = 64,
                     .feed_forward = 768,
                     .vocab_size = 1024,
                     .rope = {.dimensions = 64},
                     .tied_head = true};

const Shape kLlama1b = {.arch = Arch::kLlama,
                        .layer_count = 16,
                        .context_length = 131072,
                        .embedding = 2048,
                        .head_count = 32,
                        .kv_head_count = 8,
                        .head_dim = 64,
                        .feed_forward = 8192,
                        .vocab_size = 128256,
                        .rope = {.base = 500000.0f, .dimensions = 64},
                        .tied_head = true,
                        .rope_factors = true};

const Shape kQwen3 = {.arch = Arch::kQwen3,
                      .layer_count = 28,
                      .context_length = 40960,
                      .embedding = 1024,
                      .head_count = 16,
                      .kv_head_count = 8,
                      .head_dim = 128,
                      .feed_forward = 3072,
                      .vocab_size = 151936,
                      .norm_epsilon = 1e-6f,
                      .rope = {.base = 1000000.0f, .dimensions = 128},
                      .tied_head = true};

// A Llama 3 of 8 B parameters or more.
Shape Llama3Shape(uint32_t layers, uint32_t embedding, uint32_t heads, uint32_t feed_forward) {
  Shape shape = kLlama1b;
  shape.layer_count = layers;
  shape.embedding = embedding;
  shape.head_count = heads;
  shape.head_dim = 128;
  shape.feed_forward = feed_forward;
  shape.rope.dimensions = 128;
  shape.tied_head = false;
  return shape;
}

Shape Qwen25Of7b() {
  return {.arch = Arch::kQwen2,
          .layer_count = 28,
          .context_length = 32768,
          .embedding = 3584,
          .head_count = 28,
          .kv_head_count = 4,
          .head_dim = 128,
          .feed_forward = 18944,
          .vocab_size = 152064,
          .norm_epsilon = 1e-6f,
          .rope = {.base = 1000000.0f, .dimensions = 128}};
}

// A dense Qwen3 of 8 B parameters or more.
Shape Qwen3Shape(uint32_t layers, uint32_t embedding, uint32_t heads, uint32_t feed_forward) {
  Shape shape = kQwen3;
  shape.layer_count = layers;
  shape.embedding = embedding;
  shape.head_count = heads;
  shape.feed_forward = feed_forward;
  shape.tied_head = false;
  return shape;
}

// A Qwen3 with experts.
Shape Qwen3MoeShape(uint32_t layers, uint32_t embedding, uint32_t heads, uint32_t experts,
                    uint32_t of_expert) {
  Shape shape = Qwen3Shape(layers, embedding, heads, 0);
  shape.arch = Arch::kQwen3Moe;
  shape.kv_head_count = 4;
  shape.experts = {.count = experts, .used = 8, .feed_forward = of_expert};
  return shape;
}

// As small as blocks of 256 allow.
Shape SmallQwen(Shape shape) {
  shape.layer_count = 4;
  shape.embedding = 256;
  shape.head_count = 4;
  shape.kv_head_count = 2;
  shape.head_dim = shape.rope.dimensions = 64;
  if (shape.feed_forward > 0) shape.feed_forward = 768;
  shape.vocab_size = 1024;
  if (shape.experts.count > 0) shape.experts = {.count = 8, .used = 3, .feed_forward = 256};
  return shape;
}

const Shape kQwen3MoeSmall = {.arch = Arch::kQwen3Moe,
                              .layer_count = 12,
                              .context_length = 32768,
                              .embedding = 1024,
                              .head_count = 16,
                              .kv_head_count = 4,
                              .head_dim = 64,
                              .vocab_size = 32000,
                              .norm_epsilon = 1e-6f,
                              .rope = {.base = 1000000.0f, .dimensions = 64},
                              .experts = {.count = 32, .used = 4, .feed_forward = 512}};

// The shape of gpt-oss-20b or, with 36 layers and 128 experts, of gpt-oss-120b.
Shape GptOssShape(uint32_t layers, uint32_t experts) {
  return {.arch = Arch::kGptOss,
          .layer_count = layers,
          .context_length = 131072,
          .embedding = 2880,
          .head_count = 64,
          .kv_head_count = 8,
          .head_dim = 64,
          .vocab_size = 201088,
          .sliding_window = 128,
          .full_every = 2,
          .rope = {.base = 150000.0f,
                   .dimensions = 64,
                   .scaling = RopeScaling::kYarn,
                   .factor = 32.0f,
                   .original_context = 4096},
          .experts = {.count = experts, .used = 4, .feed_forward = 2880, .limit = 7.0f}};
}

// All features of gpt-oss, as small as blocks of 256 allow.
Shape TinyGptOssShape() {
  Shape shape = GptOssShape(4, 8);
  shape.context_length = 65536;
  shape.embedding = 256;
  shape.head_count = 4;
  shape.kv_head_count = 2;
  shape.vocab_size = 1024;
  shape.experts.used = 2;
  shape.experts.feed_forward = 256;
  return shape;
}

// A Gemma 3 of 4 B parameters or more; the one of 27 B has narrower heads and its own scale.
Shape Gemma3Shape(uint32_t layers, uint32_t embedding, uint32_t heads, uint32_t kv_heads,
                  uint32_t feed_forward, uint32_t head_dim = 256) {
  return {.arch = Arch::kGemma3,
          .layer_count = layers,
          .context_length = 131072,
          .embedding = embedding,
          .head_count = heads,
          .kv_head_count = kv_heads,
          .head_dim = head_dim,
          .feed_forward = feed_forward,
          .vocab_size = 262208,
          .norm_epsilon = 1e-6f,
          .sliding_window = 1024,
          .full_every = 6,
          .attention_scale = 1.0f / std::sqrt(head_dim == 128 ? 168.0f : 256.0f),
          .rope = {.base = 1000000.0f,
                   .dimensions = head_dim,
                   .scaling = RopeScaling::kLinear,
                   .factor = 8.0f,
                   .original_context = 131072},
          .window_rope = {.base = 10000.0f, .dimensions = head_dim},
          .tied_head = true};
}

// Trained for text only, and a shorter context.
Shape Gemma3Of1b() {
  Shape shape = Gemma3Shape(26, 1152, 4, 1, 6912);
  shape.context_length = 32768;
  shape.vocab_size = 262144;
  shape.sliding_window = 512;
  shape.rope.scaling = RopeScaling::kNone;
  return shape;
}

// All features of Gemma 3, including a scale and a cap, as small as blocks of 256 allow.
Shape TinyGemma3Shape() {
  Shape shape = Gemma3Shape(6, 256, 4, 2, 768, 64);
  shape.context_length = 65536;
  shape.vocab_size = 1024;
  shape.sliding_window = 128;
  shape.full_every = 3;
  shape.attention_scale = 0.15f;
  shape.logit_cap = 30.0f;
  return shape;
}

// A Mistral 3 with heads of 128; widths and RoPE scaling differ between its sizes.
Shape Mistral3Shape(uint32_t layers, uint32_t embedding, uint32_t heads, uint32_t feed_forward,
                    float base, float factor, uint32_t original_context) {
  return {.arch = Arch::kMistral3,
          .layer_count = layers,
          .context_length = static_cast<uint32_t>(factor) * original_context,
          .embedding = embedding,
          .head_count = heads,
          .kv_head_count = 8,
          .head_dim = 128,
          .feed_forward = feed_forward,
          .vocab_size = 131072,
          .temperature = 0.1f,
          .rope = {.base = base,
                   .dimensions = 128,
                   .scaling = RopeScaling::kYarn,
                   .factor = factor,
                   .original_context = original_context,
                   .log_multiplier = 1.0f}};
}

Shape Ministral3b() {
  Shape shape = Mistral3Shape(26, 3072, 32, 9216, 1e6f, 16.0f, 16384);
  shape.tied_head = true;
  return shape;
}

// All features of Mistral 3, as small as blocks of 256 allow.
Shape TinyMistral3Shape() {
  Shape shape = Mistral3Shape(4, 256, 4, 768, 1e6f, 16.0f, 1024);
  shape.kv_head_count = 2;
  shape.head_dim = 64;
  shape.vocab_size = 1024;
  shape.rope.dimensions = 64;
  return shape;
}

// A Phi 3 or 4 with these widths, without frequency factors.
Shape Phi3Shape(uint32_t layers, uint32_t embedding, uint32_t heads, uint32_t kv_heads,
                uint32_t feed_forward, uint32_t vocab) {
  const uint32_t head_dim = embedding / heads;
  return {.arch = Arch::kPhi3,
          .layer_count = layers,
          .context_length = 16384,
          .embedding = embedding,
          .head_count = heads,
          .kv_head_count = kv_heads,
          .head_dim = head_dim,
          .feed_forward = feed_forward,
          .vocab_size = vocab,
          .rope = {.base = 250000.0f, .dimensions = head_dim, .original_context = 16384}};
}

// With a context of 32 times the original one, and RoPE on a part of each head.
Shape Lengthened(Shape shape, uint32_t dimensions) {
  shape.context_length = 131072;
  shape.rope = {.base = 10000.0f,
                .dimensions = dimensions,
                .original_context = 4096,
                .attention_factor = 1.1902381f};
  shape.rope_factors = true;
  return shape;
}

Shape Phi4Mini() {
  Shape shape = Lengthened(Phi3Shape(32, 3072, 24, 8, 8192, 200064), 96);
  shape.tied_head = true;
  return shape;
}

// All features of the family, as small as blocks of 256 allow.
Shape TinyPhi4MiniShape() {
  Shape shape = Lengthened(Phi3Shape(4, 256, 4, 2, 768, 1024), 48);
  shape.sliding_window = 512;
  shape.tied_head = true;
  return shape;
}

// A GLM 4.5 to 4.7; widths and dense layers differ between the large one and Air.
Shape GlmShape(uint32_t layers, uint32_t dense_layers, uint32_t embedding, uint32_t feed_forward,
               uint32_t experts, uint32_t of_expert) {
  const bool is_large = embedding > 4096;
  return {.arch = Arch::kGlm4Moe,
          .layer_count = layers,
          .context_length = is_large ? 202752u : 131072u,
          .embedding = embedding,
          .head_count = 96,
          .kv_head_count = 8,
          .head_dim = 128,
          .feed_forward = feed_forward,
          .vocab_size = 151552,
          .rope = {.base = 1000000.0f, .dimensions = 64},
          .experts = {.count = experts,
                      .used = 8,
                      .feed_forward = of_expert,
                      .score = kernels::RouterScore::kSigmoid,
                      .choice_bias = true,
                      .dense_layers = dense_layers,
                      .shared = 1,
                      .scale = is_large ? 2.5f : 1.0f},
          .head_norms = is_large};
}

// All features of GLM 4.6, as small as blocks of 256 allow.
Shape TinyGlmShape() {
  Shape shape = GlmShape(4, 1, 256, 512, 8, 256);
  shape.context_length = 65536;
  shape.head_count = 4;
  shape.kv_head_count = 2;
  shape.head_dim = 64;
  shape.vocab_size = 1024;
  shape.rope.dimensions = 32;
  shape.experts.used = 3;
  shape.experts.scale = 2.5f;
  shape.head_norms = true;
  shape.mtp_layers = 1;
  return shape;
}

// The shape of MiniMax M2, with fewer layers and experts.
Shape MiniMaxShape(uint32_t layers, uint32_t experts) {
  return {.arch = Arch::kMiniMaxM2,
          .layer_count = layers,
          .context_length = 196608,
          .embedding = 3072,
          .head_count = 48,
          .kv_head_count = 8,
          .head_dim = 128,
          .vocab_size = 200064,
          .norm_epsilon = 1e-6f,
          .rope = {.base = 5000000.0f, .dimensions = 64},
          .experts = {.count = experts,
                      .used = 8,
                      .feed_forward = 1536,
                      .score = kernels::RouterScore::kSigmoid,
                      .choice_bias = true}};
}

// All features of MiniMax M2, as small as blocks of 256 allow.
Shape TinyMiniMaxShape() {
  Shape shape = MiniMaxShape(4, 8);
  shape.context_length = 65536;
  shape.embedding = 256;
  shape.head_count = 4;
  shape.kv_head_count = 2;
  shape.head_dim = 64;
  shape.vocab_size = 1024;
  shape.rope.dimensions = 32;
  shape.experts.used = 3;
  shape.experts.feed_forward = 256;
  return shape;
}

std::vector<Preset> MakePresets() {
  return {
      {"tiny", "a small Llama of 4 layers", kTiny},
      {"llama-1b", "the shape of a Llama of 1.2 B parameters", kLlama1b},
      {"qwen3-0.6b", "the shape of a Qwen3 of 0.6 B parameters", kQwen3},
      {"llama-8b", "the shape of Llama 3.1 8B", Llama3Shape(32, 4096, 32, 14336)},
      {"llama-70b", "the shape of Llama 3.1 and 3.3 70B", Llama3Shape(80, 8192, 64, 28672)},
      {"qwen2-tiny", "every part of a Qwen2, in 4 small layers", SmallQwen(Qwen25Of7b())},
      {"qwen3-tiny", "every part of a Qwen3, in 4 small layers", SmallQwen(kQwen3)},
      {"qwen3-moe-tiny", "every part of a Qwen3 with experts, in 4 small layers",
       SmallQwen(Qwen3MoeShape(48, 2048, 32, 128, 768))},
      {"qwen2.5-7b", "the shape of Qwen2.5 7B", Qwen25Of7b()},
      {"qwen3-8b", "the shape of Qwen3 8B", Qwen3Shape(36, 4096, 32, 12288)},
      {"qwen3-32b", "the shape of Qwen3 32B", Qwen3Shape(64, 5120, 64, 25600)},
      {"qwen3-30b-a3b", "the shape of Qwen3 30B A3B", Qwen3MoeShape(48, 2048, 32, 128, 768)},
      {"qwen3-235b-a22b", "the shape of Qwen3 235B A22B", Qwen3MoeShape(94, 4096, 64, 128, 1536)},
      {"qwen3-moe-proportions", "a Qwen3 30B A3B of 4 layers and 16 experts: real widths",
       Qwen3MoeShape(4, 2048, 32, 16, 768)},
      {"qwen3-moe-small", "a mixture of 32 experts, 4 of them used, in 0.7 B parameters",
       kQwen3MoeSmall},
      {"gemma3-tiny", "every part of a Gemma 3, in 6 small layers", TinyGemma3Shape()},
      {"gemma3-proportions", "a Gemma 3 of 27 B parameters with 6 layers: real widths",
       Gemma3Shape(6, 5376, 32, 16, 21504, 128)},
      {"gemma3-1b", "the shape of Gemma 3 1B", Gemma3Of1b()},
      {"gemma3-4b", "the shape of Gemma 3 4B", Gemma3Shape(34, 2560, 8, 4, 10240)},
      {"gemma3-12b", "the shape of Gemma 3 12B", Gemma3Shape(48, 3840, 16, 8, 15360)},
      {"gemma3-27b", "the shape of Gemma 3 27B", Gemma3Shape(62, 5376, 32, 16, 21504, 128)},
      {"mistral3-tiny", "every part of a Mistral 3, in 4 small layers", TinyMistral3Shape()},
      {"mistral3-proportions", "a Mistral 3 of 24 B parameters with 4 layers: real widths",
       Mistral3Shape(4, 5120, 32, 32768, 1e8f, 48.0f, 8192)},
      {"ministral3-3b", "the shape of Ministral 3 3B", Ministral3b()},
      {"ministral3-8b", "the shape of Ministral 3 8B",
       Mistral3Shape(34, 4096, 32, 14336, 1e6f, 16.0f, 16384)},
      {"ministral3-14b", "the shape of Ministral 3 14B",
       Mistral3Shape(40, 5120, 32, 16384, 1e9f, 16.0f, 16384)},
      {"devstral2-24b", "the shape of Devstral Small 2: 24 B parameters",
       Mistral3Shape(40, 5120, 32, 32768, 1e8f, 48.0f, 8192)},
      {"phi4-mini-tiny", "every part of a Phi 4 mini, in 4 small layers", TinyPhi4MiniShape()},
      {"phi4-proportions", "a Phi 4 of 4 layers: real widths",
       Phi3Shape(4, 5120, 40, 10, 17920, 100352)},
      {"phi4-mini", "the shape of Phi 4 mini: 3.8 B parameters", Phi4Mini()},
      {"phi3.5-mini", "the shape of Phi 3.5 mini: 3.8 B parameters",
       Lengthened(Phi3Shape(32, 3072, 32, 32, 8192, 32064), 96)},
      {"phi4", "the shape of Phi 4: 14.7 B parameters", Phi3Shape(40, 5120, 40, 10, 17920, 100352)},
      {"gpt-oss-tiny", "every part of a gpt-oss, in 4 small layers", TinyGptOssShape()},
      {"gpt-oss-proportions", "a gpt-oss of 4 layers and 16 experts: real widths",
       GptOssShape(4, 16)},
      {"gpt-oss-20b", "the shape of gpt-oss-20b: 21 B parameters", GptOssShape(24, 32)},
      {"gpt-oss-120b", "the shape of gpt-oss-120b: 117 B parameters", GptOssShape(36, 128)},
      {"glm-tiny", "every part of a GLM 4.6, in 4 small layers", TinyGlmShape()},
      {"glm-proportions", "a GLM 4.6 of 4 layers and 16 experts: real widths",
       GlmShape(4, 1, 5120, 12288, 16, 1536)},
      {"glm-4.5-air", "the shape of GLM 4.5 Air: 107 B parameters",
       GlmShape(46, 1, 4096, 10944, 128, 1408)},
      {"glm-4.6", "the shape of GLM 4.6 and 4.7: 353 B parameters",
       GlmShape(92, 3, 5120, 12288, 160, 1536)},
      {"minimax-m2-tiny", "every part of a MiniMax M2, in 4 small layers", TinyMiniMaxShape()},
      {"minimax-m2-proportions", "a MiniMax M2 of 4 layers and 16 experts: real widths",
       MiniMaxShape(4, 16)},
      {"minimax-m2", "the shape of MiniMax M2: 229 B parameters", MiniMaxShape(62, 256)},
  };
}

const std::vector<Preset>& AllPresets() {
  static const std::vector<Preset> presets = [] {
    std::vector<Preset> all = MakePresets();
    for (const std::vector<Preset>& more :
         {DeepSeek4Presets(), GemmaPresets(), Mimo2Presets(), MlaPresets(), QwenNextPresets()})
      all.insert(all.end(), more.begin(), more.end());
    return all;
  }();
  return presets;
}

}  // namespace

std::span<const Preset> Presets() { return AllPresets(); }

Result<Shape> ShapeOfPreset(std::string_view name) {
  std::string names;
  for (const Preset& preset : AllPresets()) {
    if (preset.name == name) return preset.shape;
    names += (names.empty() ? "" : ", ") + std::string(preset.name);
  }
  return InvalidArgument(fmt::format("there is no preset \"{}\"; there are {}", name, names));
}

}  // namespace aster::model
