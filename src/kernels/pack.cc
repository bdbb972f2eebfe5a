// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/pack.h"

#include <array>

#include "base/check.h"
#include "kernels/pack_blocks.h"

namespace aster::kernels {
namespace {

using gguf::TensorType;

struct TypeInfo {
  WeightType type;
  const char* name;
  size_t block_columns;  // of a packed block
  size_t block_bytes;    // of a packed block
  size_t column_multiple;
};

template <typename Block>
constexpr TypeInfo InfoOf(WeightType type, const char* name, size_t column_multiple) {
  return {type, name, Block::kColumns, sizeof(Block), column_multiple};
}

// By WeightType.
constexpr std::array<TypeInfo, kWeightTypeCount> kTypes = {{
    InfoOf<PackedF32>(WeightType::kF32, "F32", 1),
    InfoOf<PackedF16>(WeightType::kF16, "F16", 1),
    InfoOf<PackedBF16>(WeightType::kBF16, "BF16", 1),
    InfoOf<PackedQ8_0>(WeightType::kQ8_0, "Q8_0", 32),
    InfoOf<PackedQ4_0>(WeightType::kQ4_0, "Q4_0", 32),
    InfoOf<PackedMXFP4>(WeightType::kMXFP4, "MXFP4", 32),
    InfoOf<PackedQ2_K>(WeightType::kQ2_K, "Q2_K", 256),
    InfoOf<PackedQ4_K>(WeightType::kQ4_K, "Q4_K", 256),
    InfoOf<PackedQ5_K>(WeightType::kQ5_K, "Q5_K", 256),
    InfoOf<PackedQ6_K>(WeightType::kQ6_K, "Q6_K", 256),
    InfoOf<PackedIQ2_XXS>(WeightType::kIQ2_XXS, "IQ2_XXS", 256),
    InfoOf<PackedIQ4_NL>(WeightType::kIQ4_NL, "IQ4_NL", 32),
    InfoOf<PackedQ5_1>(WeightType::kQ5_1, "Q5_1", 32),
    InfoOf<PackedLevels>(WeightType::kLevels, "levels", 256),
}};

// A type of files.
struct Source {
  TensorType type;
  WeightType packed;
  PackFunction pack;
};

constexpr Source kSources[] = {
    {TensorType::kF32, WeightType::kF32, PackPanel<PackedF32, float>},
    {TensorType::kF16, WeightType::kF16, PackPanel<PackedF16, uint16_t>},
    {TensorType::kBF16, WeightType::kBF16, PackPanel<PackedBF16, uint16_t>},
    {TensorType::kQ8_0, WeightType::kQ8_0, PackPanel<PackedQ8_0, quant::BlockQ8_0>},
    {TensorType::kQ5_0, WeightType::kQ8_0, PackPanel<PackedQ8_0, quant::BlockQ5_0>},
    {TensorType::kQ4_0, WeightType::kQ4_0, PackPanel<PackedQ4_0, quant::BlockQ4_0>},
    {TensorType::kMXFP4, WeightType::kMXFP4, PackPanel<PackedMXFP4, quant::BlockMXFP4>},
    {TensorType::kQ2_K, WeightType::kQ2_K, PackPanel<PackedQ2_K, quant::BlockQ2_K>},
    {TensorType::kQ4_K, WeightType::kQ4_K, PackPanel<PackedQ4_K, quant::BlockQ4_K>},
    {TensorType::kQ5_K, WeightType::kQ5_K, PackPanel<PackedQ5_K, quant::BlockQ5_K>},
    {TensorType::kQ6_K, WeightType::kQ6_K, PackPanel<PackedQ6_K, quant::BlockQ6_K>},
    {TensorType::kIQ2_XXS, WeightType::kIQ2_XXS, PackPanel<PackedIQ2_XXS, quant::BlockIQ2_XXS>},
    {TensorType::kIQ4_NL, WeightType::kIQ4_NL, PackPanel<PackedIQ4_NL, quant::BlockIQ4_NL>},
    {TensorType::kQ4_1, WeightType::kQ5_1, PackPanel<PackedQ5_1, quant::BlockQ4_1>},
    {TensorType::kQ5_1, WeightType::kQ5_1, PackPanel<PackedQ5_1, quant::BlockQ5_1>},
    {TensorType::kQ3_K, WeightType::kLevels, PackPanel<PackedLevels, quant::BlockQ3_K>},
    {TensorType::kIQ4_XS, WeightType::kLevels, PackPanel<PackedLevels, quant::BlockIQ4_XS>},
    {TensorType::kIQ3_XXS, WeightType::kLevels, PackPanel<PackedLevels, quant::BlockIQ3_XXS>},
    {TensorType::kIQ3_S, WeightType::kLevels, PackPanel<PackedLevels, quant::BlockIQ3_S>},
    {TensorType::kIQ2_XS, WeightType::kLevels, PackPanel<PackedLevels, quant::BlockIQ2_XS>},
    {TensorType::kIQ2_S, WeightType::kLevels, PackPanel<PackedLevels, quant::BlockIQ2_S>},
    {TensorType::kIQ1_S, WeightType::kLevels, PackPanel<PackedLevels, quant::BlockIQ1_S>},
    {TensorType::kIQ1_M, WeightType::kLevels, PackPanel<PackedLevels, quant::BlockIQ1_M>},
};

const TypeInfo& InfoFor(WeightType type) {
  const TypeInfo& info = kTypes[static_cast<size_t>(type)];
  DCHECK(info.type == type);
  return info;
}

const Source* FindSource(TensorType type) {
  for (const Source& source : kSources) {
    if (source.type == type) return &source;
  }
  return nullptr;
}

}  // namespace

std::optional<WeightType> WeightTypeOf(TensorType type) {
  const Source* source = FindSource(type);
  if (source == nullptr) return std::nullopt;
  return source->packed;
}

const char* WeightTypeName(WeightType type) { return InfoFor(type).name; }

size_t PanelBytes(WeightType type, size_t columns) {
  const TypeInfo& info = InfoFor(type);
  return (columns + info.block_columns - 1) / info.block_columns * info.block_bytes;
}

size_t ColumnMultiple(WeightType type) { return InfoFor(type).column_multiple; }

void PackPanels(TensorType type, const PackSource& source, size_t panel_begin, size_t panel_end,
                void* out) {
  const Source* from = FindSource(type);
  CHECK(from != nullptr);
  CHECK(panel_begin <= panel_end && panel_end <= PanelCount(source.rows));
  CHECK(source.columns % ColumnMultiple(from->packed) == 0);
  const size_t panel_bytes = PanelBytes(from->packed, source.columns);
  for (size_t panel = panel_begin; panel < panel_end; ++panel) {
    from->pack(source, panel, static_cast<uint8_t*>(out) + panel * panel_bytes);
  }
}

}  // namespace aster::kernels
