// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/weight_sizes.h"

#include <array>

namespace aster::model {
namespace {

using gguf::TensorType;

constexpr uint32_t kFlashExperts = 256;

constexpr std::array<PublishedMix, 4> kFlashMixes = {{
    {"IQ2_XXS+Q2_K", TensorType::kIQ2_XXS, TensorType::kQ2_K, TensorType::kF16},
    {"6 layers Q4_K", TensorType::kIQ2_XXS, TensorType::kQ2_K, TensorType::kF16,
     /*q4_layers_at_end=*/6},
    {"MXFP4", TensorType::kMXFP4, TensorType::kMXFP4, TensorType::kF16},
    {"Q4_K", TensorType::kQ4_K, TensorType::kQ4_K, TensorType::kF16},
}};
constexpr std::array<PublishedMix, 1> kGptOssMixes = {{
    {"MXFP4", TensorType::kMXFP4, TensorType::kMXFP4, TensorType::kQ8_0},
}};
constexpr std::array<PublishedMix, 1> kGemma3Mixes = {{
    {"Q4_0", TensorType::kQ4_0, TensorType::kQ4_0, TensorType::kQ4_0, 0, TensorType::kQ4_0},
}};
constexpr std::array<PublishedMix, 1> kPlainMixes = {{
    {"Q8_0", TensorType::kQ8_0, TensorType::kQ8_0, TensorType::kQ8_0},
}};
constexpr std::array<PublishedMix, 2> kMixtureMixes = {{
    {"Q8_0", TensorType::kQ8_0, TensorType::kQ8_0, TensorType::kQ8_0},
    {"Q4_K", TensorType::kQ4_K, TensorType::kQ4_K, TensorType::kQ8_0},
}};
constexpr std::array<PublishedMix, 2> kProMixes = {{
    {"IQ2_XXS+Q2_K", TensorType::kIQ2_XXS, TensorType::kQ2_K, TensorType::kQ8_0},
    {"Q4_K", TensorType::kQ4_K, TensorType::kQ4_K, TensorType::kQ8_0},
}};

bool IsPlain(const Shape& shape) {
  return shape.arch == Arch::kMistral3 || shape.arch == Arch::kPhi3 ||
         shape.arch == Arch::kGemma2 || shape.is_gemma4();
}

bool HasWideEmbedding(const Shape& shape) {
  return !shape.is_gpt_oss() && !IsPlain(shape) && !HasRouterKeys(shape.arch) &&
         !shape.is_recurrent();
}

TensorType TypeIn(const PublishedMix& mix, const Shape& shape, const TensorSpec& spec) {
  const bool is_q4 = static_cast<uint32_t>(spec.layer) + mix.q4_layers_at_end >= shape.layer_count;
  if (spec.name.ends_with("_down_exps.weight")) return is_q4 ? TensorType::kQ4_K : mix.contract;
  if (spec.name.ends_with("_exps.weight")) return is_q4 ? TensorType::kQ4_K : mix.expand;
  const bool is_embedding = spec.name == "token_embd.weight";
  if (spec.is_fine || (is_embedding && HasWideEmbedding(shape))) return TensorType::kF16;
  if (spec.name.ends_with(".indexer.attn_q_b.weight")) return mix.index_query;
  return spec.is_matrix ? mix.matrix : TensorType::kF32;
}

}  // namespace

uint64_t WeightSizes::Of(const Slice& slice) const {
  uint64_t bytes = (slice.embedding ? embedding : 0) + (slice.head ? head : 0);
  for (uint32_t i = slice.layer_begin; i < slice.layer_end && i < layers.size(); ++i)
    bytes += layers[i];
  return bytes;
}

Result<WeightSizes> SizesOf(const Shape& shape, const TypeOfTensor& type_of,
                            const GroupPart& group_part) {
  WeightSizes sizes;
  sizes.layers.resize(shape.layer_count);
  for (const TensorSpec& spec : TensorsOf(shape)) {
    if (spec.is_looked_up) continue;
    const TensorType type = spec.is_table ? TensorType::kI32 : type_of(spec);
    const uint64_t bytes =
        BytesOfPart(group_part, shape, spec, TRY(gguf::TensorBytes(type, spec.dims).In(spec.name)));
    switch (spec.part) {
      case Part::kEmbedding:
        sizes.embedding += bytes;
        break;
      case Part::kLayer:
        sizes.layers[static_cast<size_t>(spec.layer)] += bytes;
        break;
      case Part::kHead:
        sizes.head += bytes;
        break;
    }
  }
  return sizes;
}

std::span<const PublishedMix> PublishedMixes(const Shape& shape) {
  if (shape.is_gpt_oss()) return kGptOssMixes;
  if (shape.arch == Arch::kGemma3) return kGemma3Mixes;
  if (shape.is_gemma4() && shape.experts.count > 0) return kMixtureMixes;
  if (IsPlain(shape)) return kPlainMixes;
  if (HasRouterKeys(shape.arch)) return kMixtureMixes;
  if (shape.is_recurrent())
    return shape.experts.count > 0 ? std::span<const PublishedMix>(kMixtureMixes) : kPlainMixes;
  if (shape.experts.count > kFlashExperts) return kProMixes;
  return kFlashMixes;
}

Result<WeightSizes> SizesIn(const PublishedMix& mix, const Shape& shape, const GroupPart& part) {
  return SizesOf(shape, [&](const TensorSpec& spec) { return TypeIn(mix, shape, spec); }, part);
}

Result<uint64_t> NextBlockBytes(Shape shape) {
  const auto type_of = [](const TensorSpec& spec) {
    if (spec.name.ends_with("_exps.weight")) return TensorType::kQ4_K;
    return spec.is_matrix && !spec.is_fine ? TensorType::kQ8_0 : TensorType::kF32;
  };
  shape.next_layers = 0;
  const uint64_t without = TRY(SizesOf(shape, type_of)).head;
  shape.next_layers = 1;
  return TRY(SizesOf(shape, type_of)).head - without;
}

}  // namespace aster::model
