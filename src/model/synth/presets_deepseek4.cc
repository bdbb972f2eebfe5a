// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/synth/presets_deepseek4.h"

#include <algorithm>

#include "model/families/shape_deepseek41.h"

namespace aster::model {
namespace {

// The shape of DeepSeek V4 Flash, with fewer layers and experts.
Shape FlashShape(uint32_t layers, uint32_t experts) {
  Shape shape = {.arch = Arch::kDeepSeek4,
                 .layer_count = layers,
                 .context_length = 1048576,
                 .embedding = 4096,
                 .head_count = 64,
                 .kv_head_count = 1,
                 .head_dim = 512,
                 .vocab_size = 129280,
                 .norm_epsilon = 1e-6f,
                 .sliding_window = 128,
                 .rope = {.base = 10000.0f, .dimensions = 64},
                 .experts = {.count = experts,
                             .used = 6,
                             .feed_forward = 2048,
                             .score = kernels::RouterScore::kSqrtSoftplus,
                             .shared = 1,
                             .scale = 1.5f,
                             .hash_layers = 3,
                             .limit = 10.0f},
                 .streams = {.count = 4, .sinkhorn = 20, .epsilon = 1e-6f},
                 .latent = {.query_rank = 1024,
                            .output_rank = 1024,
                            .output_groups = 8,
                            .ratios = {},
                            .rope = {.base = 160000.0f,
                                     .dimensions = 64,
                                     .scaling = RopeScaling::kYarn,
                                     .factor = 16.0f,
                                     .original_context = 65536},
                            .index_heads = 64,
                            .index_dim = 128,
                            .index_top = 512}};
  for (uint32_t layer = 0; layer < layers; ++layer)
    shape.latent.ratios.push_back(layer < 2 ? 0 : layer % 2 == 0 ? kShortRatio : kLongRatio);
  return shape;
}

Shape ProShape() {
  Shape shape = FlashShape(61, 384);
  shape.embedding = 7168;
  shape.head_count = 128;
  shape.experts.feed_forward = 3072;
  shape.experts.scale = 2.5f;
  shape.latent.query_rank = 1536;
  shape.latent.output_groups = 16;
  shape.latent.index_top = 1024;
  shape.latent.ratios[0] = shape.latent.ratios[1] = kLongRatio;
  return shape;
}

// All features of Flash, as small as blocks of 256 allow.
Shape TinyFlashShape() {
  Shape shape = FlashShape(6, 8);
  shape.context_length = 65536;
  shape.embedding = 256;
  shape.head_count = 4;
  shape.head_dim = 128;
  shape.vocab_size = 1024;
  shape.rope.dimensions = 32;
  shape.experts.used = 2;
  shape.experts.feed_forward = 256;
  shape.latent.query_rank = 256;
  shape.latent.output_rank = 128;
  shape.latent.output_groups = 2;
  shape.latent.rope.dimensions = 32;
  shape.latent.index_heads = 4;
  shape.latent.index_dim = 64;
  shape.latent.index_top = 32;
  shape.mtp_layers = 1;
  return shape;
}

// The shape of DeepSeek V4.1 Flash, with fewer experts, shorter n-gram tables, and fewer kinds of
// its 40 layers: two with only windows; then layers with rows of two tokens, and of one, in
// `groups` groups of `layers` layers that use the rows of their first.
Shape Flash41Shape(uint32_t experts, uint32_t table_rows, const std::vector<uint32_t>& makers,
                   const std::vector<uint32_t>& choosers, uint32_t pairs, uint32_t layers) {
  Shape shape = FlashShape(layers, experts);
  shape.arch = Arch::kDeepSeek41;
  shape.embedding = 5120;
  shape.norm_epsilon = 1e-20f;
  shape.experts.feed_forward = 2304;
  shape.experts.hash_layers = 0;
  Latent& latent = shape.latent;
  latent.query_rank = 1280;
  latent.index_heads = 32;
  for (uint32_t layer = 0; layer < layers; ++layer) {
    latent.ratios[layer] = layer < makers.front() ? 0 : layer < pairs ? kPairRatio : 1;
    latent.makes_rows.push_back(std::ranges::count(makers, layer) > 0 ? 1 : 0);
    latent.chooses_rows.push_back(std::ranges::count(choosers, layer) > 0 ? 1 : 0);
  }
  latent.block_layer = pairs;
  latent.block_rows = 8;
  latent.top_blocks = 2048;
  const std::vector<uint32_t> with_ngrams = {1, makers.size() > 2 ? makers[2] : makers[1]};
  shape.ngrams =
      MakeNgrams({.layers = with_ngrams, .length = 4, .heads = 8, .dim = 256, .padding = 2},
                 shape.vocab_size, table_rows);
  return shape;
}

// All its features, as small as blocks of 256 allow.
Shape TinyFlash41Shape() {
  Shape shape = Flash41Shape(8, 60, {2, 4}, {2, 4, 6}, 4, 7);
  const Shape tiny = TinyFlashShape();
  shape.context_length = tiny.context_length;
  shape.embedding = tiny.embedding;
  shape.head_count = tiny.head_count;
  shape.head_dim = tiny.head_dim;
  shape.vocab_size = tiny.vocab_size;
  shape.rope.dimensions = tiny.rope.dimensions;
  shape.experts.used = tiny.experts.used;
  shape.experts.feed_forward = tiny.experts.feed_forward;
  shape.latent.query_rank = tiny.latent.query_rank;
  shape.latent.output_rank = tiny.latent.output_rank;
  shape.latent.output_groups = tiny.latent.output_groups;
  shape.latent.rope.dimensions = tiny.latent.rope.dimensions;
  shape.latent.index_heads = tiny.latent.index_heads;
  shape.latent.index_dim = tiny.latent.index_dim;
  shape.latent.index_top = tiny.latent.index_top;
  shape.latent.top_blocks = 8;
  shape.ngrams = MakeNgrams({.layers = {1, 4}, .length = 3, .heads = 2, .dim = 256, .padding = 2},
                            shape.vocab_size, 60);
  return shape;
}

}  // namespace

std::vector<Preset> DeepSeek4Presets() {
  return {
      {"flash-shape-tiny", "every part of a DeepSeek V4 Flash, in 6 small layers",
       TinyFlashShape()},
      {"flash-proportions", "a DeepSeek V4 Flash of 6 layers and 48 experts: real widths",
       FlashShape(6, 48)},
      {"flash-full", "the shape of DeepSeek V4 Flash: 284 B parameters", FlashShape(43, 256)},
      {"pro-full", "the shape of DeepSeek V4 PRO: 1.6 T parameters", ProShape()},
      {"flash41-shape-tiny", "every part of a DeepSeek V4.1 Flash, in 7 small layers",
       TinyFlash41Shape()},
      {"flash41-proportions",
       "a DeepSeek V4.1 Flash of 7 layers, 32 experts and short tables: real widths",
       Flash41Shape(32, 4096, {2, 4}, {2, 4, 6}, 4, 7)},
      {"flash41-full",
       "the shape of DeepSeek V4.1 Flash: 748 B parameters, 197 B of them in tables",
       Flash41Shape(384, 16000000, {2, 8, 14, 20}, {2, 8, 14, 20, 24, 28, 32, 36}, 20, 40)},
  };
}

}  // namespace aster::model
