// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/synth/presets_mimo2.h"

namespace aster::model {
namespace {

// The shape of MiMo V2 Flash, with fewer layers and experts: the first layer and every sixth see
// all, the others have a window.
Shape Mimo2Shape(uint32_t layers, uint32_t experts) {
  return {.arch = Arch::kMimo2,
          .layer_count = layers,
          .context_length = 262144,
          .embedding = 4096,
          .head_count = 64,
          .kv_head_count = 4,
          .head_dim = 192,
          .feed_forward = 16384,
          .vocab_size = 152576,
          .norm_epsilon = 1e-5f,
          .sliding_window = 128,
          .full_every = 6,
          .rope = {.base = 5000000.0f, .dimensions = 64},
          .window_rope = {.base = 10000.0f, .dimensions = 64},
          .kinds = {.window_head_dim = 192,
                    .window_kv_heads = 8,
                    .first_sees_all = true,
                    .value_dim = 128,
                    .value_scale = 0.707f},
          .experts = {.count = experts,
                      .used = 8,
                      .feed_forward = 2048,
                      .score = kernels::RouterScore::kSigmoid,
                      .choice_bias = true,
                      .dense_layers = 1}};
}

// All features of MiMo 2, as small as blocks of 256 allow.
Shape TinyMimo2Shape() {
  Shape shape = Mimo2Shape(6, 8);
  shape.context_length = 65536;
  shape.embedding = 256;
  shape.head_count = 8;
  shape.kv_head_count = 2;
  shape.head_dim = 48;
  shape.feed_forward = 512;
  shape.vocab_size = 1024;
  shape.rope.dimensions = shape.window_rope.dimensions = 16;
  shape.kinds.window_head_dim = 48;
  shape.kinds.window_kv_heads = 4;
  shape.kinds.value_dim = 32;
  shape.experts.used = 3;
  shape.experts.feed_forward = 256;
  shape.mtp_layers = 1;
  return shape;
}

}  // namespace

std::vector<Preset> Mimo2Presets() {
  return {
      {"mimo2-tiny", "every part of a MiMo V2 Flash, in 6 small layers", TinyMimo2Shape()},
      {"mimo2-proportions", "a MiMo V2 Flash of 6 layers and 16 experts: real widths",
       Mimo2Shape(6, 16)},
      {"mimo-v2-flash", "the shape of MiMo V2 Flash: 309 B parameters", Mimo2Shape(48, 256)},
  };
}

}  // namespace aster::model
