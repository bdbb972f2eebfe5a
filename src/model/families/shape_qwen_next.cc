// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/families/shape_qwen_next.h"

#include <fmt/format.h>

#include "kernels/delta_net.h"
#include "kernels/latent.h"
#include "model/shape/shape_router.h"

namespace aster::model {
namespace {

constexpr std::string_view kSharedKey = "expert_shared_feed_forward_length";
// The default, as files of Qwen3-Next may lack the key.
constexpr uint32_t kUsualInterval = 4;

Status ReadRecurrence(const Keys& keys, Shape& shape) {
  Recurrence& recurrence = shape.recurrence;
  recurrence.full_every = TRY(keys.CountOr("full_attention_interval", kMaxLayers, kUsualInterval));
  recurrence.taps = TRY(keys.Count("ssm.conv_kernel", kMaxWidth));
  recurrence.key_dim = TRY(keys.Count("ssm.state_size", kMaxWidth));
  recurrence.key_heads = TRY(keys.Count("ssm.group_count", kMaxWidth));
  recurrence.value_heads = TRY(keys.Count("ssm.time_step_rank", kMaxWidth));
  const uint32_t values = TRY(keys.Count("ssm.inner_size", kMaxWidth));
  if (values % recurrence.value_heads != 0) {
    return DataLoss(fmt::format("{} ({}) is not a multiple of {} ({})", keys.Full("ssm.inner_size"),
                                values, keys.Full("ssm.time_step_rank"), recurrence.value_heads));
  }
  recurrence.value_dim = values / recurrence.value_heads;
  // Converters reorder the heads of Qwen3.5.
  recurrence.in_turn = shape.arch != Arch::kQwen3Next;
  return Ok();
}

Status ReadSharedExpert(const Keys& keys, Experts& experts) {
  const uint32_t width = TRY(keys.Count(kSharedKey, kMaxWidth));
  if (width % experts.feed_forward != 0) {
    return keys.Unexpected(kSharedKey, fmt::format("{}", width),
                           fmt::format("a multiple of {}", experts.feed_forward));
  }
  experts.shared = width / experts.feed_forward;
  experts.shared_gate = true;
  return Ok();
}

}  // namespace

bool HasRecurrence(Arch arch) {
  return arch == Arch::kQwen3Next || arch == Arch::kQwen35 || arch == Arch::kQwen35Moe;
}

Status ReadQwenNext(const Keys& keys, Shape& shape) {
  // RoPE applies to a part of each head: without this key the results would be wrong.
  TRY(keys.Count("rope.dimension_count", kMaxWidth));
  TRY(keys.ExpectNumber("attention.sliding_window", 0));
  TRY(ExpectPlainRouter(keys));
  TRY(ReadRecurrence(keys, shape));
  return shape.experts.count > 0 ? ReadSharedExpert(keys, shape.experts) : Ok();
}

Status CheckQwenNext(const Shape& shape) {
  const Recurrence& recurrence = shape.recurrence;
  const uint64_t keys = uint64_t{recurrence.key_heads} * recurrence.key_dim;
  const uint64_t values = uint64_t{recurrence.value_heads} * recurrence.value_dim;
  if (recurrence.full_every == 0 || keys == 0 || values == 0 || 2 * keys + values > kMaxWidth ||
      recurrence.value_heads % recurrence.key_heads != 0) {
    return DataLoss(fmt::format(
        "{} states (ssm.time_step_rank) of {} (ssm.state_size) x {} numbers that {} keys find "
        "(ssm.group_count), with attention in every {} layers (full_attention_interval), cannot be",
        recurrence.value_heads, recurrence.key_dim, recurrence.value_dim, recurrence.key_heads,
        recurrence.full_every));
  }
  const auto is_width = [](uint32_t width) {
    return width % kernels::kDeltaLanes == 0 && width <= kernels::kMaxDeltaDim;
  };
  if (!is_width(recurrence.key_dim) || !is_width(recurrence.value_dim) || recurrence.taps == 0 ||
      recurrence.taps > kernels::kMaxDeltaTaps) {
    return Unimplemented(fmt::format(
        "states of {} (ssm.state_size) x {} numbers behind a convolution of {} (ssm.conv_kernel); "
        "multiples of {} up to {}, and 1 to {} are supported",
        recurrence.key_dim, recurrence.value_dim, recurrence.taps, kernels::kDeltaLanes,
        kernels::kMaxDeltaDim, kernels::kMaxDeltaTaps));
  }
  const Experts& experts = shape.experts;
  if (experts.count == 0 ||
      (experts.used > 0 && experts.used + experts.shared <= kernels::kMaxTerms)) {
    return Ok();
  }
  return Unimplemented(
      fmt::format("{} experts for a token and {} shared; 1 to {} together are supported",
                  experts.used, experts.shared, kernels::kMaxTerms));
}

void WriteQwenNext(const Shape& shape, gguf::MetadataBuilder& metadata) {
  const auto set = [&](std::string_view key, const auto& value) {
    metadata.Set(fmt::format("{}.{}", ArchName(shape.arch), key), value);
  };
  const Recurrence& recurrence = shape.recurrence;
  WriteMtp(shape, metadata);
  set("full_attention_interval", recurrence.full_every);
  set("ssm.conv_kernel", recurrence.taps);
  set("ssm.state_size", recurrence.key_dim);
  set("ssm.group_count", recurrence.key_heads);
  set("ssm.time_step_rank", recurrence.value_heads);
  set("ssm.inner_size", recurrence.values());
  if (shape.experts.count > 0) set(kSharedKey, shape.experts.shared_width());
  // Published files divide the pairs between a text's positions and two coordinates of images.
  if (shape.arch == Arch::kQwen3Next) return;
  const auto pairs = static_cast<int32_t>(shape.rope.dimensions / 2);
  const int32_t third = pairs / 3;
  set("rope.dimension_sections", std::vector<int32_t>{pairs - 2 * third, third, third, 0});
}

}  // namespace aster::model
