// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/families/shape_deepseek4.h"

#include <bit>
#include <cmath>

#include "kernels/latent.h"
#include "kernels/rope.h"
#include "kernels/stream_mix.h"
#include "model/families/shape_deepseek41.h"

namespace aster::model {
namespace {

// The router function sqrt(softplus(x)), by its number in files.
constexpr uint64_t kSqrtSoftplus = 4;
// Published models have 1.5 and 2.5.
constexpr float kMaxExpertScale = 1000.0f;
constexpr auto kMaxStreams = static_cast<uint32_t>(kernels::kMaxStreams);

bool IsV41(const Shape& shape) { return shape.arch == Arch::kDeepSeek41; }

// MTP blocks are counted as layers in files. Those of V4.1 are never computed.
Status ReadLayers(const Keys& keys, Shape& shape) {
  const uint64_t next = TRY(keys.NumberOrZero("nextn_predict_layers"));
  if (next > 1 && !IsV41(shape))
    return keys.Unexpected("nextn_predict_layers", fmt::format("{}", next), "0 or 1");
  if (next >= shape.layer_count) {
    return DataLoss(fmt::format("{} is {} and {} is {}: no layer is left", keys.Full("block_count"),
                                shape.layer_count, keys.Full("nextn_predict_layers"), next));
  }
  uint32_t& blocks = IsV41(shape) ? shape.left_out : shape.mtp_layers;
  blocks = static_cast<uint32_t>(next);
  shape.layer_count -= blocks;
  return keys.ExpectNumber("leading_dense_block_count", 0);
}

Status ReadHeads(const Keys& keys, Shape& shape) {
  const size_t blocks = shape.layer_count + shape.mtp_layers + shape.left_out;
  shape.head_count = TRY(keys.UniformCount("attention.head_count", blocks, kMaxWidth));
  shape.kv_head_count = TRY(keys.UniformCount("attention.head_count_kv", blocks, kMaxWidth));
  shape.head_dim = TRY(keys.Count("attention.key_length", kMaxWidth));
  const uint32_t value_dim = TRY(keys.Count("attention.value_length", kMaxWidth));
  if (value_dim != shape.head_dim) {
    return keys.Unexpected(
        "attention.value_length", fmt::format("{}", value_dim),
        fmt::format("{} as in {}", shape.head_dim, keys.Full("attention.key_length")));
  }
  TRY(keys.ExpectNumber("attention.kv_lora_rank", shape.head_dim));
  shape.norm_epsilon = TRY(keys.Fraction("attention.layer_norm_rms_epsilon"));
  shape.sliding_window = TRY(keys.Count("attention.sliding_window", UINT32_MAX));
  return Ok();
}

Status ReadRatios(const Keys& keys, Shape& shape) {
  const auto ratios = TRY(keys.FirstOfArray("attention.compress_ratios", shape.layer_count));
  for (const uint64_t ratio : ratios) {
    const bool is_known = IsV41(shape) ? ratio <= kPairRatio
                                       : ratio == 0 || ratio == kShortRatio || ratio == kLongRatio;
    if (!is_known) {
      return keys.Unexpected("attention.compress_ratios", fmt::format("{} for a layer", ratio),
                             IsV41(shape) ? "0, 1 or 2" : "0, 4 or 128");
    }
    shape.latent.ratios.push_back(static_cast<uint32_t>(ratio));
  }
  return Ok();
}

Status ReadLatent(const Keys& keys, Shape& shape) {
  Latent& latent = shape.latent;
  latent.query_rank = TRY(keys.Count("attention.q_lora_rank", kMaxWidth));
  latent.output_rank = TRY(keys.Count("attention.output_lora_rank", kMaxWidth));
  latent.output_groups = TRY(keys.Count("attention.output_group_count", kMaxWidth));
  TRY(ReadRatios(keys, shape));
  latent.index_heads = TRY(keys.Count("attention.indexer.head_count", kMaxWidth));
  latent.index_dim = TRY(keys.Count("attention.indexer.key_length", kMaxWidth));
  latent.index_top = TRY(keys.Count("attention.indexer.top_k", kMaxWidth));
  // A key of our own: published models were all trained with rounded rows.
  latent.rounded_rows = TRY(keys.FlagOr("attention.rounded_rows", true));
  return Ok();
}

// YaRN has no magnitude factor here: the file has 1, or a factor that cancels the usual one. The
// interpolation factor is 1.
Status ExpectPlainYarn(const Keys& keys, const Rope& rope) {
  constexpr float kClose = 1e-3f;
  const float cancelling =
      static_cast<float>(1.0 / kernels::YarnMagnitude(static_cast<double>(rope.factor)));
  const float magnitude = TRY(keys.PositiveOr("rope.scaling.attn_factor", 1.0f));
  if (std::abs(magnitude - 1.0f) > kClose && std::abs(magnitude - cancelling) > kClose) {
    return keys.Unexpected("rope.scaling.attn_factor", fmt::format("{}", magnitude),
                           fmt::format("1 or {:.4f}", cancelling));
  }
  const float kept = TRY(keys.PositiveOr("rope.scaling.yarn_ext_factor", 1.0f));
  if (kept != 1.0f)
    return keys.Unexpected("rope.scaling.yarn_ext_factor", fmt::format("{}", kept), "1");
  return Ok();
}

// Layers without compressed rows use the plain RoPE base; the others a base of their own, scaled
// by YaRN without its magnitude factor.
Status ReadRopes(const Keys& keys, Shape& shape) {
  shape.rope.dimensions = TRY(keys.Count("rope.dimension_count", kMaxWidth));
  shape.rope.base = TRY(keys.Above("rope.freq_base", 1.0f));
  Rope& rope = shape.latent.rope;
  rope.dimensions = shape.rope.dimensions;
  rope.base = TRY(keys.Above("attention.compress_rope_freq_base", 1.0f));
  const std::string scaling = TRY(keys.TextOr("rope.scaling.type", "yarn"));
  if (scaling != "yarn") return keys.Unexpected("rope.scaling.type", scaling, "yarn");
  rope.scaling = RopeScaling::kYarn;
  rope.factor = TRY(keys.Multiple("rope.scaling.factor"));
  rope.original_context = TRY(keys.Count("rope.scaling.original_context_length", UINT32_MAX));
  rope.beta_fast = TRY(keys.PositiveOr("rope.scaling.yarn_beta_fast", rope.beta_fast));
  rope.beta_slow = TRY(keys.PositiveOr("rope.scaling.yarn_beta_slow", rope.beta_slow));
  if (rope.beta_fast < rope.beta_slow) {
    return keys.Unexpected("rope.scaling.yarn_beta_fast", fmt::format("{}", rope.beta_fast),
                           fmt::format("at least {} as in {}", rope.beta_slow,
                                       keys.Full("rope.scaling.yarn_beta_slow")));
  }
  return ExpectPlainYarn(keys, rope);
}

Status ReadExperts(const Keys& keys, Shape& shape) {
  Experts& experts = shape.experts;
  experts.count = TRY(keys.Count("expert_count", kMaxWidth));
  experts.used = TRY(keys.Count("expert_used_count", kMaxWidth));
  experts.feed_forward = TRY(keys.Count("expert_feed_forward_length", kMaxWidth));
  experts.shared = TRY(keys.Count("expert_shared_count", kMaxWidth));
  if (experts.shared != 1)
    return keys.Unexpected("expert_shared_count", fmt::format("{}", experts.shared), "1");
  experts.scale = TRY(keys.Positive("expert_weights_scale"));
  if (experts.scale > kMaxExpertScale) {
    return keys.Unexpected("expert_weights_scale", fmt::format("{}", experts.scale),
                           fmt::format("at most {}", kMaxExpertScale));
  }
  if (!TRY(keys.Flag("expert_weights_norm")))
    return keys.Unexpected("expert_weights_norm", "false", "true");
  TRY(keys.ExpectNumber("expert_gating_func", kSqrtSoftplus));
  experts.score = kernels::RouterScore::kSqrtSoftplus;
  TRY(keys.ExpectNumber("expert_group_count", 0));
  TRY(keys.ExpectNumber("expert_group_used_count", 0));
  const uint64_t hashed = IsV41(shape) ? TRY(keys.NumberOrZero("hash_layer_count"))
                                       : TRY(keys.Required("hash_layer_count"));
  if (hashed > shape.layer_count) {
    return DataLoss(fmt::format("{} is {} of {} layers", keys.Full("hash_layer_count"), hashed,
                                shape.layer_count));
  }
  experts.hash_layers = static_cast<uint32_t>(hashed);
  experts.limit = TRY(keys.UniformPositive("swiglu_clamp_exp", shape.layer_count));
  if (keys.Contains("swiglu_clamp_shexp")) {
    const float shared = TRY(keys.UniformPositive("swiglu_clamp_shexp", shape.layer_count));
    if (shared != experts.limit) {
      return keys.Unexpected(
          "swiglu_clamp_shexp", fmt::format("{}", shared),
          fmt::format("{} as in {}", experts.limit, keys.Full("swiglu_clamp_exp")));
    }
  }
  return Ok();
}

// An error for a number that is too small or too large by itself.
Status CheckSizes(const Shape& shape) {
  if (shape.tied_head) {
    return Unimplemented(
        "the head of this architecture is a tensor of its own, never the embedding");
  }
  if (shape.experts.used > kernels::kMaxTerms - 1) {
    return Unimplemented(fmt::format("{} experts for a token; at most {} are supported",
                                     shape.experts.used, kernels::kMaxTerms - 1));
  }
  if (shape.sliding_window < 2) {
    return Unimplemented(
        fmt::format("a window (attention.sliding_window) of {}; at least 2 positions are supported",
                    shape.sliding_window));
  }
  if (uint64_t{shape.streams.count} * shape.embedding > kMaxWidth) {
    return Unimplemented(fmt::format("{} streams of {} numbers; at most {} together are supported",
                                     shape.streams.count, shape.embedding, kMaxWidth));
  }
  if (shape.latent.index_top == 0 || shape.streams.sinkhorn == 0) {
    return DataLoss(fmt::format(
        "an index that chooses {} rows and streams mixed in {} iterations; at least one is needed",
        shape.latent.index_top, shape.streams.sinkhorn));
  }
  // Written so that NaN is refused, too.
  if (!(shape.experts.limit > 0.0f) || !(shape.experts.scale > 0.0f)) {
    return DataLoss(fmt::format("experts limited to {} and scaled by {}; both have to be positive",
                                shape.experts.limit, shape.experts.scale));
  }
  return Ok();
}

}  // namespace

Status ReadDeepSeek4(const Keys& keys, Shape& shape) {
  TRY(ReadLayers(keys, shape));
  TRY(ReadHeads(keys, shape));
  TRY(ReadLatent(keys, shape));
  TRY(ReadRopes(keys, shape));
  TRY(ReadExperts(keys, shape));
  shape.streams.count = TRY(keys.Count("hyper_connection.count", kMaxStreams));
  shape.streams.sinkhorn = TRY(keys.Count("hyper_connection.sinkhorn_iterations", 1000));
  shape.streams.epsilon = TRY(keys.Fraction("hyper_connection.epsilon"));
  if (IsV41(shape)) TRY(ReadDeepSeek41(keys, shape));
  // The width of a layer's output, or of the head's input.
  const uint64_t out = TRY(keys.NumberOrZero("embedding_length_out"));
  if (out != 0 && out != shape.embedding && out != shape.residual_width()) {
    return keys.Unexpected("embedding_length_out", fmt::format("{}", out),
                           fmt::format("{} or {}", shape.embedding, shape.residual_width()));
  }
  return Ok();
}

Status CheckDeepSeek4(const Shape& shape) {
  const Latent& latent = shape.latent;
  if (latent.ratios.size() != shape.layer_count) {
    return DataLoss(fmt::format("attention.compress_ratios is for {} layers, and there are {}",
                                latent.ratios.size(), shape.layer_count));
  }
  if (shape.kv_head_count != 1) {
    return DataLoss(fmt::format("attention.head_count_kv is {}, 1 is needed", shape.kv_head_count));
  }
  if (shape.streams.count > kMaxStreams) {
    return DataLoss(fmt::format("hyper_connection.count is {}, at most {} can be computed",
                                shape.streams.count, kMaxStreams));
  }
  if (latent.output_groups == 0 || shape.head_count % latent.output_groups != 0 ||
      uint64_t{latent.output_groups} * latent.output_rank > kMaxWidth) {
    return DataLoss(fmt::format("{} heads cannot be shared out among {} groups of rank {}",
                                shape.head_count, latent.output_groups, latent.output_rank));
  }
  // The kernels compute with sixteen numbers at a time.
  if (shape.head_dim % kernels::kLatentLanes != 0 || shape.head_dim > kernels::kMaxLatentDim ||
      shape.rope.dimensions >= shape.head_dim ||
      shape.rope.dimensions % kernels::kLatentLanes != 0) {
    return Unimplemented(fmt::format(
        "heads of {} numbers, {} of them turning; multiples of {} up to {} are supported",
        shape.head_dim, shape.rope.dimensions, kernels::kLatentLanes, kernels::kMaxLatentDim));
  }
  if (!std::has_single_bit(latent.index_dim) || latent.index_dim < 32 ||
      latent.index_dim > kernels::kMaxLatentDim || latent.index_dim < shape.rope.dimensions ||
      uint64_t{latent.index_heads} * latent.index_dim > kMaxWidth) {
    return Unimplemented(fmt::format(
        "an indexer of {} heads of {} numbers; powers of two from 32 to {}, no fewer than turn, "
        "are supported",
        latent.index_heads, latent.index_dim, kernels::kMaxLatentDim));
  }
  TRY(CheckSizes(shape));
  return IsV41(shape) ? CheckDeepSeek41(shape) : Ok();
}

void WriteDeepSeek4(const Shape& shape, gguf::MetadataBuilder& metadata) {
  const auto set = [&](std::string_view key, const auto& value) {
    metadata.Set(fmt::format("{}.{}", ArchName(shape.arch), key), value);
  };
  const Latent& latent = shape.latent;
  const uint32_t next = shape.mtp_layers + shape.left_out;
  const uint32_t blocks = shape.layer_count + next;
  set("block_count", blocks);
  if (next > 0) set("nextn_predict_layers", next);
  set("attention.q_lora_rank", latent.query_rank);
  set("attention.output_lora_rank", latent.output_rank);
  set("attention.output_group_count", latent.output_groups);
  std::vector<uint32_t> ratios = latent.ratios;
  ratios.resize(blocks, 0);
  set("attention.compress_ratios", ratios);
  set("attention.indexer.head_count", latent.index_heads);
  set("attention.indexer.key_length", latent.index_dim);
  set("attention.indexer.top_k", latent.index_top);
  if (!latent.rounded_rows) set("attention.rounded_rows", false);
  set("attention.compress_rope_freq_base", latent.rope.base);
  set("rope.freq_base", shape.rope.base);
  set("rope.dimension_count", shape.rope.dimensions);
  set("rope.scaling.type", "yarn");
  set("rope.scaling.factor", latent.rope.factor);
  set("rope.scaling.original_context_length", latent.rope.original_context);
  set("rope.scaling.yarn_beta_fast", latent.rope.beta_fast);
  set("rope.scaling.yarn_beta_slow", latent.rope.beta_slow);
  set("expert_shared_count", shape.experts.shared);
  set("expert_weights_scale", shape.experts.scale);
  set("expert_weights_norm", true);
  set("expert_gating_func", static_cast<uint32_t>(kSqrtSoftplus));
  set("hash_layer_count", shape.experts.hash_layers);
  set("swiglu_clamp_exp", std::vector<float>(blocks, shape.experts.limit));
  set("hyper_connection.count", shape.streams.count);
  set("hyper_connection.sinkhorn_iterations", shape.streams.sinkhorn);
  set("hyper_connection.epsilon", shape.streams.epsilon);
  if (IsV41(shape)) WriteDeepSeek41(shape, metadata);
}

}  // namespace aster::model
