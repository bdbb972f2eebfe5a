// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/families/shape_gpt_oss.h"

#include <cmath>

#include "kernels/latent.h"

namespace aster::model {
namespace {

// Defaults of missing keys: every second layer sees all positions; gate and up are within ±7.
constexpr uint32_t kFullEvery = 2;
constexpr float kLimit = 7.0f;
// A softmax over the scores of the chosen experts, by the number of that router function in files.
constexpr uint64_t kSoftmaxOfChosen = 3;

Status ExpectRouter(const Keys& keys) {
  TRY(keys.ExpectNumber("expert_gating_func", kSoftmaxOfChosen));
  for (const char* key : {"expert_shared_count", "expert_group_count", "expert_group_used_count",
                          "leading_dense_block_count", "nextn_predict_layers"}) {
    TRY(keys.ExpectNumber(key, 0));
  }
  const float scale = TRY(keys.PositiveOr("expert_weights_scale", 1.0f));
  if (scale != 1.0f) return keys.Unexpected("expert_weights_scale", fmt::format("{}", scale), "1");
  return Ok();
}

}  // namespace

Status ReadGptOss(const Keys& keys, Shape& shape) {
  TRY(ExpectRouter(keys));
  shape.sliding_window = TRY(keys.Count("attention.sliding_window", UINT32_MAX));
  shape.full_every = TRY(keys.CountOr("attention.sliding_window_pattern", kMaxLayers, kFullEvery));
  shape.experts.limit = kLimit;
  if (!keys.Contains("swiglu_clamp_exp")) return Ok();
  shape.experts.limit = TRY(keys.UniformPositive("swiglu_clamp_exp", shape.layer_count));
  return Ok();
}

Status CheckGptOss(const Shape& shape) {
  if (shape.tied_head) {
    return Unimplemented(
        "the head of this architecture is a tensor of its own, never the embedding");
  }
  if (shape.experts.used == 0 || shape.experts.used > kernels::kMaxTerms) {
    return Unimplemented(fmt::format("{} experts for a token; 1 to {} are supported",
                                     shape.experts.used, kernels::kMaxTerms));
  }
  if (shape.sliding_window < 2) {
    return Unimplemented(
        fmt::format("a window (attention.sliding_window) of {}; at least 2 positions are supported",
                    shape.sliding_window));
  }
  if (!std::isfinite(shape.experts.limit) || shape.experts.limit <= 0.0f) {
    return DataLoss(
        fmt::format("experts limited to {}; a positive number is needed", shape.experts.limit));
  }
  return Ok();
}

void WriteGptOss(const Shape& shape, gguf::MetadataBuilder& metadata) {
  const std::string arch(ArchName(shape.arch));
  if (shape.full_every != kFullEvery)
    metadata.Set(arch + ".attention.sliding_window_pattern", shape.full_every);
  if (shape.experts.limit != kLimit) metadata.Set(arch + ".swiglu_clamp_exp", shape.experts.limit);
}

}  // namespace aster::model
