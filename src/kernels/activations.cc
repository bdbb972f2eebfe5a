// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/activations.h"

#include <cstring>

#include "base/check.h"
#include "base/sanitized.h"
#include "kernels/activation_layout.h"
#include "kernels/matmul_choice.h"

namespace aster::kernels {
ActivationFormat ActivationFormatFor(WeightType type) {
  switch (type) {
    case WeightType::kF32:
    case WeightType::kF16:
      return ActivationFormat::kF32;
    case WeightType::kBF16:
      return ActivationFormat::kBF16;
    case WeightType::kQ8_0:
    case WeightType::kQ4_0:
    case WeightType::kMXFP4:
    case WeightType::kIQ4_NL:
    case WeightType::kQ5_1:
      return ActivationFormat::kInt8Per32;
    case WeightType::kQ2_K:
    case WeightType::kQ4_K:
    case WeightType::kQ5_K:
    case WeightType::kQ6_K:
    case WeightType::kIQ2_XXS:
    case WeightType::kLevels:
      return ActivationFormat::kInt8Per256;
  }
  CheckFailed(__FILE__, __LINE__, "a known weight type", "");
}

size_t ActivationBytes(ActivationFormat format, size_t rows, size_t columns) {
  return rows * ActivationRowBytes(ActivationLayoutOf(format, columns));
}

void PrepareActivations(Isa isa, ActivationFormat format, const ActivationSource& source,
                        size_t row_begin, size_t row_end, void* out) {
  CHECK(row_begin <= row_end && row_end <= source.rows);
  CHECK(reinterpret_cast<uintptr_t>(out) % kActivationAlignment == 0);
  CHECK(format != ActivationFormat::kInt8Per256 || source.columns % 256 == 0);
  const ActivationLayout layout = ActivationLayoutOf(format, source.columns);
  const PrepareFunction prepare = MatmulTableFor(isa).prepare[static_cast<size_t>(format)];
  auto* bytes = static_cast<uint8_t*>(out);
  CheckAccess(out, ActivationBytes(format, source.rows, source.columns));
  for (size_t row = row_begin; row < row_end; ++row) {
    const ActivationRow place = ActivationRowAt(layout, source.rows, row);
    CheckAccess(source.data + row * source.row_stride, source.columns * sizeof(float));
    prepare(source.data + row * source.row_stride, source.columns,
            {bytes + place.pieces, bytes + place.words, place.group_rows});
  }
}

void GatherActivations(ActivationFormat format, const GatherSource& source,
                       std::span<const uint32_t> indices, void* out) {
  const ActivationLayout layout = ActivationLayoutOf(format, source.columns);
  const auto* in = static_cast<const uint8_t*>(source.data);
  auto* bytes = static_cast<uint8_t*>(out);
  for (size_t i = 0; i < indices.size(); ++i) {
    CHECK(indices[i] < source.rows);
    const ActivationRow from = ActivationRowAt(layout, source.rows, indices[i]);
    const ActivationRow to = ActivationRowAt(layout, indices.size(), i);
    for (size_t piece = 0; piece < layout.pieces; ++piece) {
      std::memcpy(bytes + to.pieces + piece * to.group_rows * kPieceBytes,
                  in + from.pieces + piece * from.group_rows * kPieceBytes, kPieceBytes);
    }
    for (size_t word = 0; word < layout.words; ++word) {
      std::memcpy(bytes + to.words + word * to.group_rows * kWordBytes,
                  in + from.words + word * from.group_rows * kWordBytes, kWordBytes);
    }
  }
}

}  // namespace aster::kernels
