// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/families/shape_gemma4.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/latent.h"

namespace aster::model {
namespace {

// Defaults of missing keys.
constexpr float kGemma4WindowBase = 10000.0f;
constexpr float kGemma4Scale = 1.0f;  // queries and keys are normed
constexpr float kGemma4LogitCap = 30.0f;

constexpr std::string_view kGemma4Pattern = "attention.sliding_window_pattern";
constexpr std::string_view kGemma4KvHeads = "attention.head_count_kv";

// Refuses keys of other kinds of models, or of later ones.
Status ExpectNoOtherGemma4(const Keys& keys) {
  for (const char* key : {"nextn_predict_layers", "leading_dense_block_count",
                          "expert_shared_count", "expert_group_count", "attention.indexer.top_k"}) {
    TRY(keys.ExpectNumber(key, 0));
  }
  TRY(keys.ExpectValue("expert_weights_scale", 1.0f));
  TRY(keys.ExpectNumber("expert_gating_func", 1));
  const std::string scaling = TRY(keys.TextOr("rope.scaling.type", "none"));
  if (scaling != "none")
    return keys.Unexpected("rope.scaling.type", fmt::format("\"{}\"", scaling), "none");
  return Ok();
}

// The period of the pattern: the last layer of each period sees all, the others have a window.
Result<uint32_t> ReadGemma4Pattern(const Keys& keys, uint32_t layer_count) {
  const std::vector<bool> has_window = TRY(keys.FlagPerLayer(kGemma4Pattern, layer_count));
  const auto first = std::ranges::find(has_window, false);
  const auto every = static_cast<size_t>(first - has_window.begin()) + 1;
  bool is_regular = every > 1 && first != has_window.end();
  for (size_t layer = 0; layer < has_window.size() && is_regular; ++layer)
    is_regular = has_window[layer] == ((layer + 1) % every != 0);
  if (is_regular) return static_cast<uint32_t>(every);
  return keys.Unexpected(kGemma4Pattern, "of no such pattern",
                         "a full-attention layer behind as many with a window, again and again,");
}

// One number for the layers of each kind.
Status ReadGemma4KvHeads(const Keys& keys, Shape& shape) {
  const std::vector<uint32_t> counts =
      TRY(keys.CountPerLayer(kGemma4KvHeads, shape.layer_count, kMaxWidth));
  shape.kinds.window_kv_heads = counts.front();
  shape.kv_head_count = counts[shape.full_every - 1];
  for (uint32_t layer = 0; layer < shape.layer_count; ++layer) {
    if (counts[layer] == KvHeadsOf(shape, layer)) continue;
    return keys.Unexpected(kGemma4KvHeads, fmt::format("{} in layer {}", counts[layer], layer),
                           fmt::format("{}, as in others of its kind,", KvHeadsOf(shape, layer)));
  }
  return Ok();
}

Status ReadGemma4Heads(const Keys& keys, Shape& shape) {
  shape.head_count = TRY(keys.UniformCount("attention.head_count", shape.layer_count, kMaxWidth));
  shape.head_dim = TRY(keys.Count("attention.key_length", kMaxWidth));
  shape.kinds.window_head_dim = TRY(keys.Count("attention.key_length_swa", kMaxWidth));
  TRY(keys.ExpectNumber("attention.value_length", shape.head_dim));
  TRY(keys.ExpectNumber("attention.value_length_swa", shape.kinds.window_head_dim));
  shape.sliding_window = TRY(keys.Count("attention.sliding_window", UINT32_MAX));
  shape.full_every = TRY(ReadGemma4Pattern(keys, shape.layer_count));
  TRY(ReadGemma4KvHeads(keys, shape));
  shape.norm_epsilon = TRY(keys.Fraction("attention.layer_norm_rms_epsilon"));
  shape.attention_scale = TRY(keys.PositiveOr("attention.scale", kGemma4Scale));
  // Without the base the layers without a window would get the RoPE of the others.
  shape.rope.base = TRY(keys.Above("rope.freq_base", 1.0f));
  shape.rope.dimensions = TRY(keys.CountOr("rope.dimension_count", kMaxWidth, shape.head_dim));
  shape.window_rope.base = kGemma4WindowBase;
  if (keys.Contains("rope.freq_base_swa"))
    shape.window_rope.base = TRY(keys.Above("rope.freq_base_swa", 1.0f));
  shape.window_rope.dimensions =
      TRY(keys.CountOr("rope.dimension_count_swa", kMaxWidth, shape.kinds.window_head_dim));
  return Ok();
}

// Layers that share KV rows may have a network of another width.
Status ReadGemma4Networks(const Keys& keys, Shape& shape) {
  constexpr std::string_view kWidths = "feed_forward_length";
  const uint64_t sharing = TRY(keys.NumberOrZero("attention.shared_kv_layers"));
  if (sharing >= shape.layer_count) {
    return keys.Unexpected("attention.shared_kv_layers", fmt::format("{}", sharing),
                           fmt::format("less than {} layers", shape.layer_count));
  }
  shape.kinds.sharing = static_cast<uint32_t>(sharing);
  const std::vector<uint32_t> widths =
      TRY(keys.CountPerLayer(kWidths, shape.layer_count, kMaxWidth));
  const uint32_t own = shape.layer_count - shape.kinds.sharing;
  shape.feed_forward = widths.front();
  if (sharing > 0) shape.kinds.sharing_feed_forward = widths.back();
  for (uint32_t layer = 0; layer < shape.layer_count; ++layer) {
    const uint32_t expected = layer < own ? widths.front() : widths.back();
    if (widths[layer] == expected) continue;
    return keys.Unexpected(kWidths, fmt::format("{} in layer {}", widths[layer], layer),
                           fmt::format("{}, as in others of its kind,", expected));
  }
  shape.experts.count = TRY(keys.OptionalCount("expert_count", kMaxWidth));
  if (shape.experts.count == 0) return Ok();
  shape.experts.used = TRY(keys.Count("expert_used_count", kMaxWidth));
  shape.experts.feed_forward = TRY(keys.Count("expert_feed_forward_length", kMaxWidth));
  shape.experts.fused = true;
  return Ok();
}

Status CheckGemma4Heads(const Shape& shape) {
  const LayerKinds& kinds = shape.kinds;
  const bool has_heads = kinds.window_head_dim > 0 && kinds.window_kv_heads > 0 &&
                         uint64_t{shape.head_count} * kinds.window_head_dim <= kMaxWidth &&
                         shape.head_count % kinds.window_kv_heads == 0;
  const uint32_t rope_dims = shape.window_rope.dimensions;
  if (has_heads && rope_dims <= kinds.window_head_dim && rope_dims % 2 == 0) return Ok();
  return DataLoss(fmt::format(
      "{} heads of {} numbers ({} for keys and values) in layers with a window, {} of them "
      "turning, cannot be",
      shape.head_count, kinds.window_head_dim, kinds.window_kv_heads, rope_dims));
}

}  // namespace

Status ReadGemma4(const Keys& keys, Shape& shape) {
  TRY(ExpectNoOtherGemma4(keys));
  TRY(ReadGemma4Heads(keys, shape));
  TRY(ReadGemma4Networks(keys, shape));
  shape.kinds.input = TRY(keys.OptionalCount("embedding_length_per_layer_input", kMaxWidth));
  shape.logit_cap = TRY(keys.PositiveOr("final_logit_softcapping", kGemma4LogitCap));
  return Ok();
}

Status CheckGemma4(const Shape& shape) {
  const LayerKinds& kinds = shape.kinds;
  TRY(CheckGemma4Heads(shape));
  if (shape.sliding_window < 2 || shape.full_every < 2 || shape.layer_count < shape.full_every) {
    return Unimplemented(
        fmt::format("a window (attention.sliding_window) of {} in all of {} layers but every {}; "
                    "at least 2 positions and layers of both kinds are supported",
                    shape.sliding_window, shape.layer_count, shape.full_every));
  }
  // Each kind needs a layer with rows of its own.
  if (kinds.sharing > shape.layer_count - shape.full_every) {
    return DataLoss(fmt::format(
        "{} of {} layers share KV rows (attention.shared_kv_layers); before them a layer of either "
        "kind, with a window and without, is needed",
        kinds.sharing, shape.layer_count));
  }
  if (uint64_t{kinds.input} * shape.layer_count > kMaxWidth || shape.feed_forward == 0 ||
      shape.feed_forward > kMaxWidth || kinds.sharing_feed_forward > kMaxWidth ||
      (kinds.sharing > 0 && kinds.sharing_feed_forward == 0)) {
    return DataLoss(
        fmt::format("layers with networks of {} and {} and embeddings of {} of their own cannot be",
                    shape.feed_forward, kinds.sharing_feed_forward, kinds.input));
  }
  const Experts& experts = shape.experts;
  if (experts.count > 0 && (experts.used == 0 || experts.used > kernels::kMaxTerms)) {
    return Unimplemented(fmt::format("{} experts for a token; 1 to {} are supported", experts.used,
                                     kernels::kMaxTerms));
  }
  if (std::isfinite(shape.attention_scale) && shape.attention_scale > 0.0f &&
      std::isfinite(shape.logit_cap) && shape.logit_cap >= 0.0f) {
    return Ok();
  }
  return DataLoss(
      fmt::format("scores scaled by {} and logits capped at {}; positive numbers are needed",
                  shape.attention_scale, shape.logit_cap));
}

void WriteGemma4(const Shape& shape, gguf::MetadataBuilder& metadata) {
  const auto set = [&](std::string_view key, const auto& value) {
    metadata.Set(fmt::format("{}.{}", ArchName(shape.arch), key), value);
  };
  std::vector<bool> has_window;
  std::vector<uint32_t> kv_heads, widths;
  for (uint32_t layer = 0; layer < shape.layer_count; ++layer) {
    has_window.push_back(WindowOf(shape, layer) > 0);
    kv_heads.push_back(KvHeadsOf(shape, layer));
    widths.push_back(FeedForwardOf(shape, layer));
  }
  set(kGemma4Pattern, has_window);
  set(kGemma4KvHeads, kv_heads);
  set("feed_forward_length", widths);
  set("attention.key_length_swa", shape.kinds.window_head_dim);
  set("attention.value_length_swa", shape.kinds.window_head_dim);
  set("rope.freq_base_swa", shape.window_rope.base);
  set("rope.dimension_count_swa", shape.window_rope.dimensions);
  set("attention.shared_kv_layers", shape.kinds.sharing);
  set("embedding_length_per_layer_input", shape.kinds.input);
  if (shape.attention_scale != kGemma4Scale) set("attention.scale", shape.attention_scale);
  set("final_logit_softcapping", shape.logit_cap);
}

}  // namespace aster::model
