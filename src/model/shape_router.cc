// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/shape_router.h"

#include <fmt/format.h>

#include "kernels/latent.h"

namespace aster::model {
namespace {

using kernels::RouterScore;

// As files number the functions of routers.
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

// Of one group, or of as many as are used, experts are chosen among all.
Status ExpectNoGroups(const Keys& keys) {
  const uint64_t groups = TRY(keys.NumberOrZero("expert_group_count"));
  const uint64_t used = TRY(keys.NumberOrZero("expert_group_used_count"));
  if (groups <= 1 || groups == used) return Ok();
  return keys.Unexpected("expert_group_count", fmt::format("{}", groups),
                         "a router without groups, 0 or 1,");
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

Status LeaveNextOut(const Keys& keys, Shape& shape) {
  const uint64_t next = TRY(keys.NumberOrZero("nextn_predict_layers"));
  if (next >= shape.layer_count) {
    return DataLoss(fmt::format("{} is {} and {} is {}: no layer is left", keys.Full("block_count"),
                                shape.layer_count, keys.Full("nextn_predict_layers"), next));
  }
  shape.left_out = static_cast<uint32_t>(next);
  shape.layer_count -= shape.left_out;
  return Ok();
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
  TRY(ExpectNoGroups(keys));
  TRY(ReadShared(keys, experts));
  return ReadDenseLayers(keys, shape);
}

Status CheckRouter(const Shape& shape) {
  const Experts& experts = shape.experts;
  if (experts.used == 0 || experts.used + experts.shared > kernels::kMaxTerms) {
    return Unimplemented(
        fmt::format("{} experts for a token and {} shared; 1 to {} together are supported",
                    experts.used, experts.shared, kernels::kMaxTerms));
  }
  // Written so that what is no number is refused.
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
  set("block_count", shape.layer_count + shape.left_out);
  if (shape.left_out > 0) set("nextn_predict_layers", shape.left_out);
  set("expert_gating_func", static_cast<uint32_t>(score));
  set("expert_weights_norm", experts.normalized);
  set("expert_weights_scale", experts.scale);
  if (experts.shared > 0) set("expert_shared_count", experts.shared);
  if (experts.dense_layers == 0) return;
  set("leading_dense_block_count", experts.dense_layers);
  set("feed_forward_length", shape.feed_forward);
}

}  // namespace aster::model
