// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/synth/presets_gemma.h"

#include <cmath>

namespace aster::model {
namespace {

// A Gemma 2; the one of 27 B parameters has narrower heads and its own scale.
Shape Gemma2Shape(uint32_t layers, uint32_t embedding, uint32_t heads, uint32_t kv_heads,
                  uint32_t feed_forward, uint32_t head_dim = 256) {
  return {.arch = Arch::kGemma2,
          .layer_count = layers,
          .context_length = 8192,
          .embedding = embedding,
          .head_count = heads,
          .kv_head_count = kv_heads,
          .head_dim = head_dim,
          .feed_forward = feed_forward,
          .vocab_size = 256000,
          .norm_epsilon = 1e-6f,
          .sliding_window = 4096,
          .full_every = 2,
          .attention_scale = 1.0f / std::sqrt(head_dim == 128 ? 144.0f : 256.0f),
          .attention_cap = 50.0f,
          .logit_cap = 30.0f,
          .rope = {.base = 10000.0f, .dimensions = head_dim},
          .tied_head = true};
}

// All features of Gemma 2, as small as blocks of 256 allow, with caps that its small scores reach.
Shape TinyGemma2Shape() {
  Shape shape = Gemma2Shape(4, 256, 4, 2, 768, 64);
  shape.context_length = 65536;
  shape.vocab_size = 1024;
  shape.sliding_window = 128;
  shape.attention_scale = 0.3f;
  shape.attention_cap = 5.0f;
  return shape;
}

// A dense Gemma 4; layers without a window use keys as values.
Shape Gemma4Shape(uint32_t layers, uint32_t embedding, uint32_t heads, uint32_t kv_heads,
                  uint32_t window_kv_heads, uint32_t feed_forward) {
  return {.arch = Arch::kGemma4,
          .layer_count = layers,
          .context_length = 262144,
          .embedding = embedding,
          .head_count = heads,
          .kv_head_count = kv_heads,
          .head_dim = 512,
          .feed_forward = feed_forward,
          .vocab_size = 262144,
          .norm_epsilon = 1e-6f,
          .sliding_window = 1024,
          .full_every = 6,
          .attention_scale = 1.0f,
          .logit_cap = 30.0f,
          .rope = {.base = 1000000.0f, .dimensions = 512},
          .window_rope = {.base = 10000.0f, .dimensions = 256},
          .kinds = {.window_head_dim = 256,
                    .window_kv_heads = window_kv_heads,
                    .keys_are_values = true},
          .tied_head = true,
          .rope_factors = true};
}

Shape Gemma4MoeShape(uint32_t layers, uint32_t experts) {
  Shape shape = Gemma4Shape(layers, 2816, 16, 2, 8, 2112);
  shape.experts = {.count = experts, .used = 8, .feed_forward = 704, .fused = true};
  return shape;
}

// A Gemma 4 with an embedding for each layer, whose last layers share KV rows.
Shape Gemma4Effective(uint32_t layers, uint32_t embedding, uint32_t kv_heads, uint32_t feed_forward,
                      uint32_t sharing, uint32_t sharing_feed_forward) {
  Shape shape = Gemma4Shape(layers, embedding, 8, kv_heads, kv_heads, feed_forward);
  shape.context_length = 131072;
  shape.sliding_window = 512;
  shape.kinds.keys_are_values = false;
  shape.kinds.sharing = sharing;
  shape.kinds.sharing_feed_forward = sharing_feed_forward;
  shape.kinds.input = 256;
  return shape;
}

// The widths of E2B; the last `sharing` layers share KV rows.
Shape Gemma4Of2b(uint32_t layers, uint32_t sharing) {
  Shape shape = Gemma4Effective(layers, 1536, 1, 6144, sharing, 12288);
  shape.full_every = 5;
  return shape;
}

// As small as blocks of 256 allow.
Shape SmallGemma4(Shape shape) {
  shape.context_length = 65536;
  shape.embedding = 256;
  shape.head_count = 4;
  // In E2B, layers without a window have one key-value head.
  shape.kv_head_count = shape.kinds.keys_are_values ? 2 : 1;
  shape.head_dim = 128;
  shape.feed_forward = 512;
  shape.vocab_size = 1024;
  shape.sliding_window = 128;
  shape.full_every = 3;
  shape.attention_scale = 0.2f;
  shape.rope.dimensions = 128;
  shape.window_rope.dimensions = 64;
  shape.kinds.window_head_dim = 64;
  shape.kinds.window_kv_heads = 2;
  return shape;
}

Shape TinyGemma4Effective() { return SmallGemma4(Gemma4Effective(8, 256, 1, 512, 4, 768)); }

Shape TinyGemma4Moe() {
  Shape shape = SmallGemma4(Gemma4MoeShape(6, 8));
  shape.experts.used = 3;
  shape.experts.feed_forward = 256;
  return shape;
}

}  // namespace

std::vector<Preset> GemmaPresets() {
  return {
      {"gemma2-tiny", "every part of a Gemma 2, in 4 small layers", TinyGemma2Shape()},
      {"gemma2-proportions", "a Gemma 2 of 4 layers: the widths of 27 B parameters",
       Gemma2Shape(4, 4608, 32, 16, 36864, 128)},
      {"gemma2-2b", "the shape of Gemma 2 2B", Gemma2Shape(26, 2304, 8, 4, 9216)},
      {"gemma2-9b", "the shape of Gemma 2 9B", Gemma2Shape(42, 3584, 16, 8, 14336)},
      {"gemma2-27b", "the shape of Gemma 2 27B", Gemma2Shape(46, 4608, 32, 16, 36864, 128)},
      {"gemma4-tiny", "every part of a Gemma 4 E2B, in 8 small layers", TinyGemma4Effective()},
      {"gemma4-dense-tiny", "every part of a Gemma 4 31B, in 6 small layers",
       SmallGemma4(Gemma4Shape(6, 256, 4, 1, 2, 512))},
      {"gemma4-moe-tiny", "every part of a Gemma 4 26B A4B, in 6 small layers", TinyGemma4Moe()},
      {"gemma4-proportions", "a Gemma 4 of 6 layers: the widths of 31 B parameters",
       Gemma4Shape(6, 5376, 32, 4, 16, 21504)},
      {"gemma4-moe-proportions", "a Gemma 4 A4B of 6 layers and 16 experts: real widths",
       Gemma4MoeShape(6, 16)},
      {"gemma4-e-proportions", "a Gemma 4 E2B of 10 layers: real widths", Gemma4Of2b(10, 5)},
      {"gemma4-e2b", "the shape of Gemma 4 E2B: 5 B parameters", Gemma4Of2b(35, 20)},
      {"gemma4-e4b", "the shape of Gemma 4 E4B: 8 B parameters",
       Gemma4Effective(42, 2560, 2, 10240, 18, 10240)},
      {"gemma4-31b", "the shape of Gemma 4 31B", Gemma4Shape(60, 5376, 32, 4, 16, 21504)},
      {"gemma4-26b", "the shape of Gemma 4 26B A4B: 25 B parameters", Gemma4MoeShape(30, 128)},
  };
}

}  // namespace aster::model
