// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/families/shape_mimo2.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "model/shape/shape_router.h"

namespace aster::model {
namespace {

constexpr std::string_view kMimo2Pattern = "attention.sliding_window_pattern";
constexpr std::string_view kMimo2KvHeads = "attention.head_count_kv";
// As in MiMo V2 Flash, whose first files do not have it.
constexpr float kUsualValueScale = 0.707f;
constexpr float kMostValueScale = 1000.0f;

// The pattern: the first layer sees all, and then the last of each period.
Status ReadMimo2Pattern(const Keys& keys, Shape& shape) {
  const std::vector<bool> has_window = TRY(keys.FirstFlags(kMimo2Pattern, shape.layer_count));
  shape.kinds.first_sees_all = true;
  const auto next = std::find(has_window.begin() + 1, has_window.end(), false);
  shape.full_every = static_cast<uint32_t>(next - has_window.begin()) + 1;
  for (uint32_t layer = 0; layer < shape.layer_count; ++layer) {
    if (has_window[layer] == (WindowOf(shape, layer) > 0)) continue;
    return keys.Unexpected(kMimo2Pattern, "of no such pattern",
                           "a full-attention layer at first, and then the last of as many, again "
                           "and again,");
  }
  return Ok();
}

// One number for the layers of each kind.
Status ReadMimo2KvHeads(const Keys& keys, Shape& shape) {
  const auto counts = TRY(keys.FirstOfArray(kMimo2KvHeads, shape.layer_count));
  for (uint32_t layer = 0; layer < shape.layer_count; ++layer) {
    const uint64_t count = counts[layer];
    if (count == 0 || count > kMaxWidth)
      return keys.Unexpected(kMimo2KvHeads, fmt::format("{}", count), "a number of heads");
    uint32_t& of_kind =
        WindowOf(shape, layer) > 0 ? shape.kinds.window_kv_heads : shape.kv_head_count;
    if (of_kind == 0) of_kind = static_cast<uint32_t>(count);
    if (of_kind == count) continue;
    return keys.Unexpected(kMimo2KvHeads, fmt::format("{} in layer {}", count, layer),
                           fmt::format("{}, as in others of its kind,", of_kind));
  }
  return Ok();
}

}  // namespace

Status ReadMimo2Heads(const Keys& keys, Shape& shape) {
  shape.head_count = TRY(keys.UniformCount("attention.head_count", shape.layer_count, kMaxWidth));
  shape.head_dim = TRY(keys.Count("attention.key_length", kMaxWidth));
  shape.kinds.window_head_dim = shape.head_dim;
  shape.kinds.value_dim = TRY(keys.Count("attention.value_length", kMaxWidth));
  TRY(keys.ExpectNumber("attention.key_length_swa", shape.head_dim));
  TRY(keys.ExpectNumber("attention.value_length_swa", shape.kinds.value_dim));
  shape.norm_epsilon = TRY(keys.Fraction("attention.layer_norm_rms_epsilon"));
  shape.sliding_window = TRY(keys.Count("attention.sliding_window", UINT32_MAX));
  TRY(ReadMimo2Pattern(keys, shape));
  return ReadMimo2KvHeads(keys, shape);
}

Status ReadMimo2(const Keys& keys, Shape& shape) {
  // Without the base some heads would get a wrong RoPE; without the count, too much of each.
  shape.rope.base = TRY(keys.Above("rope.freq_base", 1.0f));
  TRY(keys.Count("rope.dimension_count", kMaxWidth));
  if (shape.rope.scaling != RopeScaling::kNone)
    return keys.Unexpected("rope.scaling.type", "set", "none");
  shape.window_rope = {.base = TRY(keys.Above("rope.freq_base_swa", 1.0f)),
                       .dimensions = shape.rope.dimensions};
  shape.kinds.value_scale = TRY(keys.PositiveOr("attention.value_scale", kUsualValueScale));
  // Only the tensors say how many layers have no experts.
  shape.feed_forward = TRY(keys.UniformCount("feed_forward_length", shape.layer_count, kMaxWidth));
  shape.experts.score = kernels::RouterScore::kSigmoid;
  shape.experts.choice_bias = true;
  TRY(keys.ExpectNumber("expert_shared_count", 0));
  return ReadRouter(keys, shape);
}

Status CheckMimo2(const Shape& shape) {
  const LayerKinds& kinds = shape.kinds;
  TRY(CheckRouter(shape));
  if (shape.tied_head) {
    return Unimplemented(
        "the head of this architecture is a tensor of its own, never the embedding");
  }
  if (shape.sliding_window < 2 || shape.full_every < 3 || shape.layer_count < 2) {
    return Unimplemented(
        fmt::format("a window (attention.sliding_window) of {} in all of {} layers but the first "
                    "and every {}; at least 2 positions and layers of both kinds are supported",
                    shape.sliding_window, shape.layer_count, shape.full_every));
  }
  // The kernels compute with sixteen numbers at a time.
  if (kinds.window_kv_heads == 0 || shape.head_count % kinds.window_kv_heads != 0 ||
      kinds.value_dim == 0 || kinds.value_dim % 16 != 0 || shape.head_dim % 16 != 0 ||
      uint64_t{shape.head_count} * kinds.value_dim > kMaxWidth) {
    return Unimplemented(fmt::format(
        "{} heads with keys of {} and values of {}, {} for keys and values in layers with a "
        "window; multiples of 16 that divide evenly are supported",
        shape.head_count, shape.head_dim, kinds.value_dim, kinds.window_kv_heads));
  }
  if (kinds.value_scale > 0.0f && kinds.value_scale <= kMostValueScale) return Ok();
  return DataLoss(
      fmt::format("values scaled by {} (attention.value_scale); a number up to {} is needed",
                  kinds.value_scale, kMostValueScale));
}

void WriteMimo2(const Shape& shape, gguf::MetadataBuilder& metadata) {
  const auto set = [&](std::string_view key, const auto& value) {
    metadata.Set(fmt::format("{}.{}", ArchName(shape.arch), key), value);
  };
  std::vector<uint32_t> kv_heads;
  std::vector<bool> windowed;
  // Blocks after the last layer are like layers with a window.
  const uint32_t blocks = shape.layer_count + shape.mtp_layers + shape.left_out;
  for (uint32_t block = 0; block < blocks; ++block) {
    const bool has_window = block >= shape.layer_count || WindowOf(shape, block) > 0;
    windowed.push_back(has_window);
    kv_heads.push_back(has_window ? shape.kinds.window_kv_heads : shape.kv_head_count);
  }
  set(kMimo2KvHeads, kv_heads);
  set(kMimo2Pattern, windowed);
  set("attention.value_length", shape.kinds.value_dim);
  set("attention.value_scale", shape.kinds.value_scale);
  set("rope.freq_base_swa", shape.window_rope.base);
}

}  // namespace aster::model
