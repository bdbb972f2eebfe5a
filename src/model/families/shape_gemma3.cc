// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/families/shape_gemma3.h"

#include <cmath>

namespace aster::model {
namespace {

// Defaults of missing keys: every sixth layer sees all positions; those with a window have a RoPE
// base of their own.
constexpr uint32_t kGemmaFullEvery = 6;
constexpr float kWindowBase = 10000.0f;

// Files have no scale of scores. It is 1 / sqrt(head size), except in the model of 27 B parameters,
// which is recognised by its number of layers: there it is as if the heads shared the embedding's
// width.
constexpr uint32_t kLayersOf27b = 62;

float PublishedScale(const Shape& shape) {
  const uint32_t width =
      shape.layer_count == kLayersOf27b ? shape.embedding / shape.head_count : shape.head_dim;
  return 1.0f / std::sqrt(static_cast<float>(width));
}

// Refuses keys of other kinds of models, or of later ones.
Status ExpectNothingElse(const Keys& keys, const Shape& shape) {
  for (const char* key : {"attention.shared_kv_layers", "embedding_length_per_layer_input",
                          "nextn_predict_layers", "leading_dense_block_count"}) {
    TRY(keys.ExpectNumber(key, 0));
  }
  for (const char* key : {"attention.key_length_swa", "attention.value_length_swa"})
    TRY(keys.ExpectNumber(key, shape.head_dim));
  TRY(keys.ExpectNumber("rope.dimension_count_swa", shape.rope.dimensions));
  return Ok();
}

Status ReadGemmaRopes(const Keys& keys, Shape& shape) {
  // Without it the layers without a window would get the RoPE of the others.
  shape.rope.base = TRY(keys.Above("rope.freq_base", 1.0f));
  if (shape.rope.scaling == RopeScaling::kYarn)
    return keys.Unexpected("rope.scaling.type", "\"yarn\"", "none or linear");
  shape.window_rope = {.base = kWindowBase, .dimensions = shape.rope.dimensions};
  if (keys.Contains("rope.freq_base_swa"))
    shape.window_rope.base = TRY(keys.Above("rope.freq_base_swa", 1.0f));
  return Ok();
}

}  // namespace

Status ReadGemma3(const Keys& keys, Shape& shape) {
  TRY(ExpectNothingElse(keys, shape));
  TRY(ReadGemmaRopes(keys, shape));
  shape.sliding_window = TRY(keys.Count("attention.sliding_window", UINT32_MAX));
  shape.full_every =
      TRY(keys.CountOr("attention.sliding_window_pattern", kMaxLayers, kGemmaFullEvery));
  shape.attention_scale = TRY(keys.PositiveOr("attention.scale", PublishedScale(shape)));
  if (keys.Contains("final_logit_softcapping"))
    shape.logit_cap = TRY(keys.Positive("final_logit_softcapping"));
  return Ok();
}

Status CheckGemma3(const Shape& shape) {
  if (shape.sliding_window < 2 || shape.full_every == 0) {
    return Unimplemented(
        fmt::format("a window (attention.sliding_window) of {} in all layers but every {}; at "
                    "least 2 positions and a full-attention layer are supported",
                    shape.sliding_window, shape.full_every));
  }
  if (shape.window_rope.dimensions != shape.rope.dimensions) {
    return Unimplemented(fmt::format(
        "{} rotary dimensions in layers with a window and {} in the others; the same are supported",
        shape.window_rope.dimensions, shape.rope.dimensions));
  }
  if (std::isfinite(shape.attention_scale) && shape.attention_scale > 0.0f &&
      std::isfinite(shape.logit_cap) && shape.logit_cap >= 0.0f) {
    return Ok();
  }
  return DataLoss(
      fmt::format("scores scaled by {} and logits capped at {}; positive numbers are needed",
                  shape.attention_scale, shape.logit_cap));
}

void WriteGemma3(const Shape& shape, gguf::MetadataBuilder& metadata) {
  const std::string arch(ArchName(shape.arch));
  if (shape.full_every != kGemmaFullEvery)
    metadata.Set(arch + ".attention.sliding_window_pattern", shape.full_every);
  if (shape.window_rope.base != kWindowBase)
    metadata.Set(arch + ".rope.freq_base_swa", shape.window_rope.base);
  if (shape.attention_scale != PublishedScale(shape))
    metadata.Set(arch + ".attention.scale", shape.attention_scale);
  if (shape.logit_cap > 0.0f) metadata.Set(arch + ".final_logit_softcapping", shape.logit_cap);
}

}  // namespace aster::model
