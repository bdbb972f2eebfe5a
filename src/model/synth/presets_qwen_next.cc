// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/synth/presets_qwen_next.h"

namespace aster::model {
namespace {

// A Qwen3-Next of 80 B parameters with this number of layers and experts.
Shape QwenNextShape(uint32_t layers, uint32_t experts) {
  return {.arch = Arch::kQwen3Next,
          .layer_count = layers,
          .context_length = 262144,
          .embedding = 2048,
          .head_count = 16,
          .kv_head_count = 2,
          .head_dim = 256,
          .vocab_size = 151936,
          .norm_epsilon = 1e-6f,
          .rope = {.base = 10000000.0f, .dimensions = 64},
          .experts =
              {.count = experts, .used = 10, .feed_forward = 512, .shared = 1, .shared_gate = true},
          .recurrence = {.full_every = 4,
                         .key_heads = 16,
                         .value_heads = 32,
                         .key_dim = 128,
                         .value_dim = 128,
                         .taps = 4}};
}

Shape Qwen35MoeShape(uint32_t layers, uint32_t experts) {
  Shape shape = QwenNextShape(layers, experts);
  shape.arch = Arch::kQwen35Moe;
  shape.vocab_size = 248320;
  shape.experts.used = 8;
  shape.recurrence.in_turn = true;
  return shape;
}

// A dense one with these widths.
Shape Qwen35Shape(uint32_t layers, uint32_t embedding, uint32_t heads, uint32_t kv_heads,
                  uint32_t feed_forward, uint32_t states) {
  Shape shape = Qwen35MoeShape(layers, 0);
  shape.arch = Arch::kQwen35;
  shape.embedding = embedding;
  shape.head_count = heads;
  shape.kv_head_count = kv_heads;
  shape.feed_forward = feed_forward;
  shape.experts = {};
  shape.recurrence.value_heads = states;
  return shape;
}

// All features of the family, as small as blocks of 256 allow.
Shape TinyQwenNextShape(Arch arch) {
  Shape shape = arch == Arch::kQwen35 ? Qwen35Shape(4, 256, 4, 2, 768, 4) : QwenNextShape(4, 8);
  shape.arch = arch;
  shape.context_length = 65536;
  shape.embedding = 256;
  shape.head_count = 4;
  shape.kv_head_count = 2;
  shape.head_dim = 64;
  shape.vocab_size = 1024;
  shape.rope.dimensions = 16;
  if (shape.experts.count > 0) {
    shape.experts.used = 3;
    shape.experts.feed_forward = 256;
  }
  shape.recurrence.key_heads = 2;
  shape.recurrence.value_heads = 4;
  shape.recurrence.key_dim = 64;
  shape.recurrence.value_dim = 64;
  shape.recurrence.in_turn = arch != Arch::kQwen3Next;
  // Published files of Qwen3-Next have none.
  shape.mtp_layers = arch == Arch::kQwen3Next ? 0 : 1;
  return shape;
}

}  // namespace

std::vector<Preset> QwenNextPresets() {
  return {
      {"qwen3-next-tiny", "every part of a Qwen3-Next, in 4 small layers",
       TinyQwenNextShape(Arch::kQwen3Next)},
      {"qwen3.5-tiny", "every part of a dense Qwen3.5, in 4 small layers",
       TinyQwenNextShape(Arch::kQwen35)},
      {"qwen3.5-moe-tiny", "every part of a Qwen3.5 with experts, in 4 small layers",
       TinyQwenNextShape(Arch::kQwen35Moe)},
      {"qwen3-next-proportions", "a Qwen3-Next of 4 layers and 16 experts: real widths",
       QwenNextShape(4, 16)},
      {"qwen3-next-80b", "the shape of Qwen3-Next: 80 B parameters", QwenNextShape(48, 512)},
      {"qwen3.5-proportions", "a Qwen3.5 of 4 layers: the widths of 9 B parameters",
       Qwen35Shape(4, 4096, 16, 4, 12288, 32)},
      {"qwen3.5-moe-proportions", "a Qwen3.5 A3B of 4 layers and 16 experts: real widths",
       Qwen35MoeShape(4, 16)},
      {"qwen3.5-35b", "the shape of Qwen3.5 and 3.6 35B A3B: 35 B parameters",
       Qwen35MoeShape(40, 256)},
      {"qwen3.5-9b", "the shape of Qwen3.5 9B", Qwen35Shape(32, 4096, 16, 4, 12288, 32)},
      {"qwen3.5-27b", "the shape of Qwen3.5 and 3.6 27B", Qwen35Shape(64, 5120, 24, 4, 17408, 48)},
  };
}

}  // namespace aster::model
