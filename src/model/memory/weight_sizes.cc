// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/memory/weight_sizes.h"

#include <array>

#include "kernels/pack.h"
#include "quant/recipe.h"

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

bool HasWideEmbedding(const Shape& shape) {
  return shape.is_latent() || shape.arch == Arch::kGemma3;
}

TensorType WantedIn(const PublishedMix& mix, const Shape& shape, const TensorSpec& spec) {
  const bool is_q4 = static_cast<uint32_t>(spec.layer) + mix.q4_layers_at_end >= shape.layer_count;
  if (spec.name.ends_with("_down_exps.weight")) return is_q4 ? TensorType::kQ4_K : mix.contract;
  if (spec.name.ends_with("_exps.weight")) return is_q4 ? TensorType::kQ4_K : mix.expand;
  const bool is_embedding = spec.name == "token_embd.weight";
  if (spec.is_fine || (is_embedding && HasWideEmbedding(shape))) return TensorType::kF16;
  if (spec.name.ends_with(".indexer.attn_q_b.weight")) return mix.index_query;
  return spec.is_matrix ? mix.matrix : TensorType::kF32;
}

TensorType TypeIn(const PublishedMix& mix, const Shape& shape, const TensorSpec& spec) {
  return quant::FitToRow(WantedIn(mix, shape, spec), spec.dims.front()).type;
}

// For all matrices of the tensor.
uint64_t PackedBytes(const TensorSpec& spec, kernels::WeightType type) {
  uint64_t matrices = 1;
  for (size_t i = 2; i < spec.dims.size(); ++i) matrices *= spec.dims[i];
  return matrices * kernels::PanelCount(spec.dims[1]) * kernels::PanelBytes(type, spec.dims[0]);
}

}  // namespace

uint64_t WeightSizes::Of(const Slice& slice) const {
  uint64_t bytes = (slice.embedding ? embedding : 0) + (slice.head ? head : 0);
  if (slice.embedding && slice.head) bytes -= tied;
  for (uint32_t i = slice.layer_begin; i < slice.layer_end && i < layers.size(); ++i)
    bytes += layers[i];
  return bytes;
}

Result<uint64_t> TensorBytesIn(Place place, const TensorSpec& spec, TensorType type, bool is_head) {
  const uint64_t in_file = TRY(gguf::TensorBytes(type, spec.dims).In(spec.name));
  const bool is_matrix = (spec.is_matrix || spec.is_fine) && spec.dims.size() > 1;
  const bool is_packed = spec.part != Part::kEmbedding || is_head || spec.name == kLayerProjection;
  const auto packed = kernels::WeightTypeOf(type);
  if (place == Place::kFile || !is_matrix || !is_packed || !packed) return in_file;
  return PackedBytes(spec, *packed);
}

Result<WeightSizes> SizesOf(Place place, const Shape& shape, const TypeOfTensor& type_of,
                            const GroupPart& group_part) {
  WeightSizes sizes;
  sizes.layers.resize(shape.layer_count);
  for (const TensorSpec& spec : TensorsOf(shape)) {
    if (spec.is_looked_up) continue;
    const TensorType type = spec.is_table ? TensorType::kI32 : type_of(spec);
    const auto bytes = [&](bool is_head) -> Result<uint64_t> {
      const uint64_t whole = TRY(TensorBytesIn(place, spec, type, is_head));
      return BytesOfPart(group_part, shape, spec, whole);
    };
    switch (spec.part) {
      case Part::kEmbedding:
        sizes.embedding += TRY(bytes(/*is_head=*/false));
        break;
      case Part::kLayer:
        sizes.layers[static_cast<size_t>(spec.layer)] += TRY(bytes(/*is_head=*/false));
        break;
      case Part::kHead:
        sizes.head += TRY(bytes(/*is_head=*/true));
        break;
    }
    if (IsTiedHead(shape, spec)) {
      sizes.head += TRY(bytes(/*is_head=*/true));
      sizes.tied = TRY(bytes(/*is_head=*/false));
    }
  }
  return sizes;
}

std::span<const PublishedMix> PublishedMixes(const Shape& shape) {
  if (shape.is_gpt_oss()) return kGptOssMixes;
  if (shape.arch == Arch::kGemma3) return kGemma3Mixes;
  if (shape.is_latent()) {
    if (shape.experts.count > kFlashExperts) return kProMixes;
    return kFlashMixes;
  }
  if (shape.experts.count > 0) return kMixtureMixes;
  return kPlainMixes;
}

Result<WeightSizes> SizesOf(Place place, const PublishedMix& mix, const Shape& shape,
                            const GroupPart& part) {
  const auto type_of = [&](const TensorSpec& spec) { return TypeIn(mix, shape, spec); };
  return SizesOf(place, shape, type_of, part);
}

Result<uint64_t> MtpBytes(Place place, Shape shape) {
  const auto type_of = [](const TensorSpec& spec) {
    const bool is_of_experts = spec.name.ends_with("_exps.weight");
    if (is_of_experts) return quant::FitToRow(TensorType::kQ4_K, spec.dims.front()).type;
    return spec.is_matrix && !spec.is_fine ? TensorType::kQ8_0 : TensorType::kF32;
  };
  shape.mtp_layers = 0;
  const uint64_t without = TRY(SizesOf(place, shape, type_of)).head;
  shape.mtp_layers = 1;
  return TRY(SizesOf(place, shape, type_of)).head - without;
}

}  // namespace aster::model
