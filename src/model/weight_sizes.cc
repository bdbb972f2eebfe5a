// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/weight_sizes.h"

#include <array>

namespace aster::model {
namespace {

using gguf::TensorType;

constexpr std::array<PublishedMix, 3> kMixes = {{
    {"IQ2_XXS+Q2_K", TensorType::kIQ2_XXS, TensorType::kQ2_K},
    {"MXFP4", TensorType::kMXFP4, TensorType::kMXFP4},
    {"Q4_K", TensorType::kQ4_K, TensorType::kQ4_K},
}};

}  // namespace

uint64_t WeightSizes::Of(const Slice& slice) const {
  uint64_t bytes = (slice.embedding ? embedding : 0) + (slice.head ? head : 0);
  for (uint32_t i = slice.layer_begin; i < slice.layer_end && i < layers.size(); ++i)
    bytes += layers[i];
  return bytes;
}

Result<WeightSizes> SizesOf(const Shape& shape, const TypeOfTensor& type_of) {
  WeightSizes sizes;
  sizes.layers.resize(shape.layer_count);
  for (const TensorSpec& spec : TensorsOf(shape)) {
    const TensorType type = spec.is_table ? TensorType::kI32 : type_of(spec);
    const uint64_t bytes = TRY(gguf::TensorBytes(type, spec.dims).In(spec.name));
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

std::span<const PublishedMix> PublishedMixes() { return kMixes; }

TensorType TypeIn(const PublishedMix& mix, const TensorSpec& spec) {
  if (spec.name.ends_with("_down_exps.weight")) return mix.contract;
  if (spec.name.ends_with("_exps.weight")) return mix.expand;
  if (spec.is_fine || spec.name == "token_embd.weight") return TensorType::kF16;
  return spec.is_matrix ? TensorType::kQ8_0 : TensorType::kF32;
}

}  // namespace aster::model
