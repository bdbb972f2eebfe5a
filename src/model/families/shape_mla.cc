// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/families/shape_mla.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/latent.h"
#include "kernels/math.h"
#include "model/shape/shape_router.h"

namespace aster::model {
namespace {

constexpr std::string_view kHeadKey = "attention.key_length_mla";

// Checks further keys that have the same numbers.
Status ExpectRowsOf(const Keys& keys, const Shape& shape) {
  TRY(keys.ExpectNumber("attention.head_count_kv", 1));
  TRY(keys.ExpectNumber("attention.key_length", shape.head_dim));
  return keys.ExpectNumber("attention.value_length", shape.mla.row_rank);
}

// Until 2025 files had the numbers of each head instead.
bool IsOfEachHead(const Keys& keys, const Shape& shape) {
  return shape.arch == Arch::kDeepSeek2 && !keys.Contains(kHeadKey);
}

}  // namespace

Status ReadMlaHeads(const Keys& keys, Shape& shape) {
  Mla& mla = shape.mla;
  shape.head_count = TRY(keys.UniformCount("attention.head_count", shape.layer_count, kMaxWidth));
  shape.kv_head_count = 1;
  const bool of_each = IsOfEachHead(keys, shape);
  const std::string_view head_key = of_each ? "attention.key_length" : kHeadKey;
  const uint32_t rope_dims = TRY(keys.Count("rope.dimension_count", kMaxWidth));
  const uint32_t of_head = TRY(keys.Count(head_key, kMaxWidth));
  if (of_head <= rope_dims) {
    return keys.Unexpected(
        head_key, fmt::format("{}", of_head),
        fmt::format("more than the {} of {}", rope_dims, keys.Full("rope.dimension_count")));
  }
  mla.key_dim = of_head - rope_dims;
  mla.value_dim =
      TRY(keys.Count(of_each ? "attention.value_length" : "attention.value_length_mla", kMaxWidth));
  mla.query_rank = TRY(keys.OptionalCount("attention.q_lora_rank", kMaxWidth));
  mla.row_rank = TRY(keys.Count("attention.kv_lora_rank", kMaxWidth));
  shape.head_dim = mla.row_rank + rope_dims;
  TRY(of_each ? keys.ExpectNumber("attention.head_count_kv", shape.head_count)
              : ExpectRowsOf(keys, shape));
  TRY(keys.ExpectNumber("attention.sliding_window", 0));
  shape.norm_epsilon = TRY(keys.Fraction("attention.layer_norm_rms_epsilon"));
  return Ok();
}

Status ReadMla(const Keys& keys, Shape& shape) {
  if (shape.rope.scaling == RopeScaling::kLinear)
    return keys.Unexpected("rope.scaling.type", "\"linear\"", "none or yarn");
  TRY(keys.ExpectValue("rope.scaling.attn_factor", 1.0f));
  // Files of V2 have neither key; those of V3 and later have both.
  shape.experts.normalized = false;
  return ReadRouter(keys, shape);
}

Status CheckMla(const Shape& shape) {
  const Mla& mla = shape.mla;
  TRY(CheckRouter(shape));
  if (shape.tied_head) {
    return Unimplemented(
        "the head of this architecture is a tensor of its own, never the embedding");
  }
  const uint64_t widest = std::max(mla.key_dim, mla.value_dim);
  if (mla.row_rank == 0 || mla.key_dim == 0 || mla.value_dim == 0 || shape.kv_head_count != 1 ||
      shape.head_dim != mla.row_rank + shape.rope.dimensions ||
      shape.head_count * (widest + shape.rope.dimensions) > kMaxWidth) {
    return DataLoss(fmt::format(
        "{} heads with keys of {} and values of {} made of rows of {}, {} of which turn, cannot be",
        shape.head_count, mla.key_dim, mla.value_dim, shape.head_dim, shape.rope.dimensions));
  }
  // The kernels compute with sixteen numbers at a time.
  constexpr uint32_t kLanesOfRow = kernels::kLatentLanes;
  if (mla.row_rank % kLanesOfRow != 0 || shape.rope.dimensions % kLanesOfRow != 0 ||
      shape.head_dim > kernels::kMaxLatentDim) {
    return Unimplemented(fmt::format(
        "rows of {} numbers, {} of them turning; multiples of {} up to {} are supported",
        shape.head_dim, shape.rope.dimensions, kLanesOfRow, kernels::kMaxLatentDim));
  }
  return Ok();
}

void WriteMla(const Shape& shape, gguf::MetadataBuilder& metadata) {
  const auto set = [&](std::string_view key, const auto& value) {
    metadata.Set(fmt::format("{}.{}", ArchName(shape.arch), key), value);
  };
  const Mla& mla = shape.mla;
  const uint32_t of_head = mla.key_dim + shape.rope.dimensions;
  if (shape.kinds.fused) set("attention.head_count_kv", shape.head_count);
  set("attention.key_length", shape.kinds.fused ? of_head : shape.head_dim);
  set("attention.value_length", shape.kinds.fused ? mla.value_dim : mla.row_rank);
  if (!shape.kinds.fused) {
    set(kHeadKey, of_head);
    set("attention.value_length_mla", mla.value_dim);
  }
  set("attention.kv_lora_rank", mla.row_rank);
  if (mla.query_rank > 0) set("attention.q_lora_rank", mla.query_rank);
}

float MlaScaleOf(const Shape& shape) {
  const double of_head = shape.mla.key_dim + shape.rope.dimensions;
  double magnitude = 1.0;
  if (shape.rope.scaling == RopeScaling::kYarn)
    magnitude += double{shape.rope.log_multiplier} * kernels::Log(double{shape.rope.factor});
  return static_cast<float>(magnitude * magnitude / std::sqrt(of_head));
}

}  // namespace aster::model
