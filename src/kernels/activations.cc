// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/activations.h"

#include "base/check.h"
#include "kernels/activation_layout.h"
#include "kernels/matmul_choice.h"

namespace aster::kernels {
namespace {

size_t RowBytes(ActivationFormat format, size_t columns) {
  switch (format) {
    case ActivationFormat::kF32:
      return columns * sizeof(float);
    case ActivationFormat::kBF16:
      return Bfloat16PaddedColumns(columns) * sizeof(uint16_t);
    case ActivationFormat::kInt8Per32:
      return Int8Per32LayoutOf(columns).bytes;
    case ActivationFormat::kInt8Per256:
      return Int8Per256LayoutOf(columns).bytes;
  }
  CheckFailed(__FILE__, __LINE__, "a known activation format", "");
}

}  // namespace

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
      return ActivationFormat::kInt8Per32;
    case WeightType::kQ2_K:
    case WeightType::kQ4_K:
    case WeightType::kQ5_K:
    case WeightType::kQ6_K:
    case WeightType::kIQ2_XXS:
      return ActivationFormat::kInt8Per256;
  }
  CheckFailed(__FILE__, __LINE__, "a known weight type", "");
}

size_t ActivationStride(ActivationFormat format, size_t columns) {
  const size_t lines =
      (RowBytes(format, columns) + kActivationAlignment - 1) / kActivationAlignment;
  // A dozen rows are read side by side: an odd number of cache lines spreads them over the sets of
  // a cache.
  return (lines | 1) * kActivationAlignment;
}

void PrepareActivations(Isa isa, ActivationFormat format, const float* in, size_t row_stride,
                        size_t rows, size_t columns, void* out, size_t out_stride) {
  CHECK(out_stride >= RowBytes(format, columns));
  CHECK((reinterpret_cast<uintptr_t>(out) | out_stride) % kActivationAlignment == 0);
  CHECK(format != ActivationFormat::kInt8Per256 || columns % 256 == 0);
  const PrepareFunction prepare = MatmulTableFor(isa).prepare[static_cast<size_t>(format)];
  for (size_t row = 0; row < rows; ++row) {
    prepare(in + row * row_stride, columns, static_cast<uint8_t*>(out) + row * out_stride);
  }
}

}  // namespace aster::kernels
