// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The weight types that have kernels, and the format of activations for each. Several types of
// files may be packed as one of them (pack.h). Plain data. Must not know how anything is computed.
#pragma once

#include <cstdint>

namespace aster::kernels {

enum class WeightType : uint8_t {
  kF32,
  kF16,
  kBF16,
  kQ8_0,
  kQ4_0,
  kMXFP4,
  kQ2_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kIQ2_XXS,
  kIQ4_NL,
  kQ5_1,    // also Q4_1
  kLevels,  // sixteen levels and integer scales: Q3_K, IQ4_XS and the types of grids
};
inline constexpr int kWeightTypeCount = 14;

// The format in which a row of activations is prepared for a product (activations.h).
enum class ActivationFormat : uint8_t {
  kF32,         // unchanged
  kBF16,        // rounded to bfloat16
  kInt8Per32,   // 8-bit integers, one scale per 32 values
  kInt8Per256,  // 8-bit integers, one scale per 256 values
};
inline constexpr int kActivationFormatCount = 4;

}  // namespace aster::kernels
