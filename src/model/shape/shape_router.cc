// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/shape/shape_router.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/latent.h"

namespace aster::model {
namespace {

using kernels::RouterScore;

// Numbers of router functions in files.
constexpr uint64_t kNumberOfSoftmax = 1;
constexpr uint64_t kNumberOfSigmoid = 2;
// Published models have up to 16.
constexpr float kMaxScaleOfExperts = 1000.0f;
constexpr uint64_t kMaxShared = 16;

Result<RouterScore> ReadScore(const Keys& keys, RouterScore usual) {
  if (!keys.Contains("expert_gating_func")) return usual;
  const uint64_t number = TRY(keys.Required("expert_gating_func"));
  if (number == kNumberOfSoftmax) return RouterScore::kSoftmax;
  if (number == kNumberOfSigmoid) return RouterScore::kSigmoid;
  return keys.Unexpected(
      "expert_gating_func", fmt::format("{}", number),
      fmt::format("{} (softmax) or {} (sigmoid)", kNumberOfSoftmax, kNumberOfSigmoid));
}

// With one group, or if all groups are used, experts are chosen among all.
Status ReadGroups(const Keys& keys, Experts& experts) {
  const uint64_t groups = TRY(keys.NumberOrZero("expert_group_count"));
  const uint64_t used = TRY(keys.NumberOrZero("expert_group_used_count"));
  if (groups <= 1 || groups == used) return Ok();
  if (groups > kernels::kMaxExpertGroups) {
    return keys.Unexpected("expert_group_count", fmt::format("{}", groups),
                           fmt::format("0 to {}", kernels::kMaxExpertGroups));
  }
  if (used == 0 || used > groups) {
    return keys.Unexpected("expert_group_used_count", fmt::format("{}", used),
                           fmt::format("1 to {}", groups));
  }
  experts.groups = static_cast<uint32_t>(groups);
  experts.used_groups = static_cast<uint32_t>(used);
  return Ok();
}

// A group is ranked by its two best experts if there is a choice bias, which only tensors say.
Status CheckGroups(const Experts& experts) {
  if (experts.groups == 1) return Ok();
  const uint32_t size = experts.count / std::max(1u, experts.groups);
  if (experts.groups > 0 && experts.groups <= kernels::kMaxExpertGroups &&
      experts.used_groups > 0 && experts.used_groups <= experts.groups &&
      experts.count % experts.groups == 0 && size >= 2 &&
      experts.used <= experts.used_groups * size) {
    return Ok();
  }
  return DataLoss(
      fmt::format("{} experts in {} groups, of which {} are used, cannot be chosen {} at a time",
                  experts.count, experts.groups, experts.used_groups, experts.used));
}

Status ReadDenseLayers(const Keys& keys, Shape& shape) {
  const uint64_t dense = TRY(keys.NumberOrZero("leading_dense_block_count"));
  if (dense >= shape.layer_count) {
    return keys.Unexpected("leading_dense_block_count", fmt::format("{}", dense),
                           fmt::format("less than {} layers", shape.layer_count));
  }
  shape.experts.dense_layers = static_cast<uint32_t>(dense);
  if (dense == 0) return Ok();
  shape.feed_forward = TRY(keys.UniformCount("feed_forward_length", shape.layer_count, kMaxWidth));
  return Ok();
}

Status ReadShared(const Keys& keys, Experts& experts) {
  const uint64_t shared = TRY(keys.NumberOrZero("expert_shared_count"));
  if (shared > kMaxShared) {
    return keys.Unexpected("expert_shared_count", fmt::format("{}", shared),
                           fmt::format("0 to {}", kMaxShared));
  }
  experts.shared = static_cast<uint32_t>(shared);
  if (shared == 0) return Ok();
  return keys.ExpectNumber("expert_shared_feed_forward_length", experts.shared_width());
}

}  // namespace

Status LeaveMtpOut(const Keys& keys, Shape& shape) {
  const uint64_t next = TRY(keys.NumberOrZero("nextn_predict_layers"));
  if (next >= shape.layer_count) {
    return DataLoss(fmt::format("{} is {} and {} is {}: no layer is left", keys.Full("block_count"),
                                shape.layer_count, keys.Full("nextn_predict_layers"), next));
  }
  shape.left_out = static_cast<uint32_t>(next);
  shape.layer_count -= shape.left_out;
  return Ok();
}

std::string_view NormOfMtp(const Shape& shape) {
  if (shape.mtp_apart) return "norm.weight";
  return shape.is_mimo2() ? "layer_output_norm.weight" : "nextn.shared_head_norm.weight";
}

void WriteMtp(const Shape& shape, gguf::MetadataBuilder& metadata) {
  const uint32_t blocks = shape.mtp_layers + shape.left_out;
  if (blocks == 0) return;
  const std::string_view arch = ArchName(shape.arch);
  metadata.Set(fmt::format("{}.block_count", arch), shape.layer_count + blocks);
  metadata.Set(fmt::format("{}.nextn_predict_layers", arch), blocks);
}

Status ReadRouter(const Keys& keys, Shape& shape) {
  Experts& experts = shape.experts;
  experts.score = TRY(ReadScore(keys, experts.score));
  experts.normalized = TRY(keys.FlagOr("expert_weights_norm", experts.normalized));
  const float scale = TRY(keys.ZeroOrPositive("expert_weights_scale"));
  experts.scale = scale == 0.0f ? 1.0f : scale;
  if (scale > kMaxScaleOfExperts) {
    return keys.Unexpected("expert_weights_scale", fmt::format("{}", scale),
                           fmt::format("at most {}", kMaxScaleOfExperts));
  }
  TRY(ReadGroups(keys, experts));
  TRY(ReadShared(keys, experts));
  return ReadDenseLayers(keys, shape);
}

Status ExpectPlainRouter(const Keys& keys) {
  TRY(keys.ExpectNumber("expert_gating_func", kNumberOfSoftmax));
  if (!TRY(keys.FlagOr("expert_weights_norm", true)))
    return keys.Unexpected("expert_weights_norm", "false", "true");
  // Some files have zero if routing weights are not scaled.
  if (TRY(keys.ZeroOrPositive("expert_weights_scale")) != 0.0f)
    TRY(keys.ExpectValue("expert_weights_scale", 1.0f));
  Experts experts;
  TRY(ReadGroups(keys, experts));
  if (experts.groups > 1)
    return keys.Unexpected("expert_group_count", fmt::format("{}", experts.groups), "0 or 1");
  return keys.ExpectNumber("leading_dense_block_count", 0);
}

Status CheckRouter(const Shape& shape) {
  const Experts& experts = shape.experts;
  if (experts.used == 0 || experts.used + experts.shared > kernels::kMaxTerms) {
    return Unimplemented(
        fmt::format("{} experts for a token and {} shared; 1 to {} together are supported",
                    experts.used, experts.shared, kernels::kMaxTerms));
  }
  TRY(CheckGroups(experts));
  // Written so that NaN is refused, too.
  if (!(experts.scale > 0.0f)) {
    return DataLoss(
        fmt::format("experts scaled by {}; a positive number is needed", experts.scale));
  }
  if (experts.dense_layers >= shape.layer_count ||
      (experts.dense_layers > 0 && (shape.feed_forward == 0 || shape.feed_forward > kMaxWidth))) {
    return DataLoss(
        fmt::format("{} of {} layers with a feed-forward network of {} in place of "
                    "experts cannot be",
                    experts.dense_layers, shape.layer_count, shape.feed_forward));
  }
  return Ok();
}

void WriteRouter(const Shape& shape, gguf::MetadataBuilder& metadata) {
  const auto set = [&](std::string_view key, const auto& value) {
    metadata.Set(fmt::format("{}.{}", ArchName(shape.arch), key), value);
  };
  const Experts& experts = shape.experts;
  const uint64_t score =
      experts.score == RouterScore::kSigmoid ? kNumberOfSigmoid : kNumberOfSoftmax;
  WriteMtp(shape, metadata);
  set("expert_gating_func", static_cast<uint32_t>(score));
  set("expert_weights_norm", experts.normalized);
  set("expert_weights_scale", experts.scale);
  if (experts.shared > 0) set("expert_shared_count", experts.shared);
  if (experts.groups > 1) {
    set("expert_group_count", experts.groups);
    set("expert_group_used_count", experts.used_groups);
  }
  // Published files have the experts' width here if all layers have experts.
  set("feed_forward_length", experts.dense_layers > 0 ? shape.feed_forward : experts.feed_forward);
  // For MiMo 2 only the tensors say it.
  if (experts.dense_layers > 0 && !shape.is_mimo2())
    set("leading_dense_block_count", experts.dense_layers);
}

}  // namespace aster::model
