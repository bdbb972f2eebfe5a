// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/families/shape_gemma2.h"

#include <cmath>

namespace aster::model {
namespace {

// Defaults of missing keys: every second layer sees all positions, the others have this window;
// scores and logits are capped. The first files have no keys for the caps, but the models have
// them.
constexpr uint32_t kGemma2FullEvery = 2;
constexpr uint32_t kGemma2Window = 4096;
constexpr float kGemma2AttentionCap = 50.0f;
constexpr float kGemma2LogitCap = 30.0f;

// Files have no scale of scores. It is 1 / sqrt(head size), except in the model of 27 B parameters,
// which is recognised by its number of layers: there it is as if the heads shared the embedding's
// width.
constexpr uint32_t kLayersOfGemma2Of27b = 46;

float PublishedGemma2Scale(const Shape& shape) {
  const uint32_t width = shape.layer_count == kLayersOfGemma2Of27b
                             ? shape.embedding / shape.head_count
                             : shape.head_dim;
  return 1.0f / std::sqrt(static_cast<float>(width));
}

}  // namespace

Status ReadGemma2(const Keys& keys, Shape& shape) {
  for (const char* key : {"attention.shared_kv_layers", "embedding_length_per_layer_input",
                          "nextn_predict_layers", "leading_dense_block_count"}) {
    TRY(keys.ExpectNumber(key, 0));
  }
  TRY(keys.ExpectValue("rope.freq_base_swa", shape.rope.base));
  if (shape.rope.scaling == RopeScaling::kYarn)
    return keys.Unexpected("rope.scaling.type", "\"yarn\"", "none or linear");
  shape.sliding_window = TRY(keys.CountOr("attention.sliding_window", UINT32_MAX, kGemma2Window));
  shape.full_every =
      TRY(keys.CountOr("attention.sliding_window_pattern", kMaxLayers, kGemma2FullEvery));
  shape.attention_scale = TRY(keys.PositiveOr("attention.scale", PublishedGemma2Scale(shape)));
  shape.attention_cap = TRY(keys.PositiveOr("attn_logit_softcapping", kGemma2AttentionCap));
  shape.logit_cap = TRY(keys.PositiveOr("final_logit_softcapping", kGemma2LogitCap));
  return Ok();
}

Status CheckGemma2(const Shape& shape) {
  if (shape.sliding_window < 2 || shape.full_every == 0) {
    return Unimplemented(
        fmt::format("a window (attention.sliding_window) of {} in all layers but every {}; at "
                    "least 2 positions and a full-attention layer are supported",
                    shape.sliding_window, shape.full_every));
  }
  for (const float number : {shape.attention_scale, shape.attention_cap, shape.logit_cap}) {
    if (std::isfinite(number) && number > 0.0f) continue;
    return DataLoss(fmt::format(
        "scores scaled by {} and capped at {}, logits capped at {}; positive numbers are needed",
        shape.attention_scale, shape.attention_cap, shape.logit_cap));
  }
  return Ok();
}

void WriteGemma2(const Shape& shape, gguf::MetadataBuilder& metadata) {
  const std::string arch(ArchName(shape.arch));
  if (shape.full_every != kGemma2FullEvery)
    metadata.Set(arch + ".attention.sliding_window_pattern", shape.full_every);
  if (shape.attention_scale != PublishedGemma2Scale(shape))
    metadata.Set(arch + ".attention.scale", shape.attention_scale);
  metadata.Set(arch + ".attn_logit_softcapping", shape.attention_cap);
  metadata.Set(arch + ".final_logit_softcapping", shape.logit_cap);
}

}  // namespace aster::model
