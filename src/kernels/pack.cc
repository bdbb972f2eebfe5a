// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/pack.h"

#include <array>

#include "base/check.h"
#include "kernels/pack_blocks.h"

namespace aster::kernels {
namespace {

struct TypeInfo {
  WeightType type;
  gguf::TensorType tensor_type;
  size_t block_columns;  // of a packed block
  size_t block_bytes;    // of a packed block
  size_t column_multiple;
  PackFunction pack;
};

template <typename Block, typename FileBlock>
constexpr TypeInfo InfoOf(WeightType type, gguf::TensorType tensor_type, size_t column_multiple) {
  return {type,          tensor_type,     Block::kColumns,
          sizeof(Block), column_multiple, PackPanel<Block, FileBlock>};
}

// By WeightType.
constexpr std::array<TypeInfo, kWeightTypeCount> kTypes = {{
    InfoOf<PackedF32, float>(WeightType::kF32, gguf::TensorType::kF32, 1),
    InfoOf<PackedF16, uint16_t>(WeightType::kF16, gguf::TensorType::kF16, 1),
    InfoOf<PackedBF16, uint16_t>(WeightType::kBF16, gguf::TensorType::kBF16, 1),
    InfoOf<PackedQ8_0, quant::BlockQ8_0>(WeightType::kQ8_0, gguf::TensorType::kQ8_0, 32),
    InfoOf<PackedQ4_0, quant::BlockQ4_0>(WeightType::kQ4_0, gguf::TensorType::kQ4_0, 32),
    InfoOf<PackedMXFP4, quant::BlockMXFP4>(WeightType::kMXFP4, gguf::TensorType::kMXFP4, 32),
    InfoOf<PackedQ2_K, quant::BlockQ2_K>(WeightType::kQ2_K, gguf::TensorType::kQ2_K, 256),
    InfoOf<PackedQ4_K, quant::BlockQ4_K>(WeightType::kQ4_K, gguf::TensorType::kQ4_K, 256),
    InfoOf<PackedQ5_K, quant::BlockQ5_K>(WeightType::kQ5_K, gguf::TensorType::kQ5_K, 256),
    InfoOf<PackedQ6_K, quant::BlockQ6_K>(WeightType::kQ6_K, gguf::TensorType::kQ6_K, 256),
    InfoOf<PackedIQ2_XXS, quant::BlockIQ2_XXS>(WeightType::kIQ2_XXS, gguf::TensorType::kIQ2_XXS,
                                               256),
}};

const TypeInfo& InfoFor(WeightType type) {
  const TypeInfo& info = kTypes[static_cast<size_t>(type)];
  DCHECK(info.type == type);
  return info;
}

}  // namespace

std::optional<WeightType> WeightTypeOf(gguf::TensorType type) {
  for (const TypeInfo& info : kTypes) {
    if (info.tensor_type == type) return info.type;
  }
  return std::nullopt;
}

gguf::TensorType TensorTypeOf(WeightType type) { return InfoFor(type).tensor_type; }

size_t PanelBytes(WeightType type, size_t columns) {
  const TypeInfo& info = InfoFor(type);
  return (columns + info.block_columns - 1) / info.block_columns * info.block_bytes;
}

size_t ColumnMultiple(WeightType type) { return InfoFor(type).column_multiple; }

void PackPanels(WeightType type, const PackSource& source, size_t panel_begin, size_t panel_end,
                void* out) {
  const TypeInfo& info = InfoFor(type);
  CHECK(panel_begin <= panel_end && panel_end <= PanelCount(source.rows));
  CHECK(source.columns % info.column_multiple == 0);
  const size_t panel_bytes = PanelBytes(type, source.columns);
  for (size_t panel = panel_begin; panel < panel_end; ++panel) {
    info.pack(source, panel, static_cast<uint8_t*>(out) + panel * panel_bytes);
  }
}

}  // namespace aster::kernels
