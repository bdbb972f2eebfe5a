// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The table of products with tile registers, for any `Tiles`. AVX-512 computes everything else. For
// sources of one instruction set: everything is in an unnamed namespace.
#pragma once

#include "kernels/x86/matmul_amx_body.h"

namespace aster::kernels {
namespace {

template <WeightType type>
void WithAvx512(const MatmulJob& job, size_t panel_begin, size_t panel_end) {
  kMatmulAvx512.products[static_cast<size_t>(type)](job, panel_begin, panel_end);
}

template <ActivationFormat format>
void PrepareWithAvx512(const float* row, size_t columns, const PreparedRow& out) {
  kMatmulAvx512.prepare[static_cast<size_t>(format)](row, columns, out);
}

template <typename Tiles, WeightType type, typename Loops>
constexpr MatmulFunction kTileProduct = TileProduct<Tiles, Loops, WithAvx512<type>>;

template <typename Tiles, WeightType type, template <typename> typename Q, int kOffset>
constexpr MatmulFunction kScaledProduct =
    kTileProduct<Tiles, type, QuantisedLoops<ScaledTiles<Tiles, Q<Unpacked>, kOffset>>>;

template <typename Tiles, WeightType type, typename Q, int kPlanes>
constexpr MatmulFunction kSuperProduct =
    kTileProduct<Tiles, type, QuantisedLoops<SuperTiles<Tiles, Q, kPlanes>>>;

// Q2_K times its scales fits into one byte. Q5_1 is rare, and its offsets are floats.
template <typename Tiles>
constexpr MatmulTable kTableOf = {
    .products = {WithAvx512<WeightType::kF32>, WithAvx512<WeightType::kF16>,
                 kTileProduct<Tiles, WeightType::kBF16, Bfloat16Loops<Tiles>>,
                 kScaledProduct<Tiles, WeightType::kQ8_0, Q8_0, 0>,
                 kScaledProduct<Tiles, WeightType::kQ4_0, Q4_0, 8>,
                 kScaledProduct<Tiles, WeightType::kMXFP4, MXFP4, 16>,
                 kSuperProduct<Tiles, WeightType::kQ2_K, Q2_K<Unpacked>, 1>,
                 kSuperProduct<Tiles, WeightType::kQ4_K, Q4_K<Unpacked>, 2>,
                 kSuperProduct<Tiles, WeightType::kQ5_K, Q5_K<Unpacked>, 2>,
                 kSuperProduct<Tiles, WeightType::kQ6_K, Q6_K<Unpacked>, 2>,
                 kSuperProduct<Tiles, WeightType::kIQ2_XXS, Iq2XxsUnpacked, 2>,
                 kScaledProduct<Tiles, WeightType::kIQ4_NL, IQ4_NL, 0>,
                 WithAvx512<WeightType::kQ5_1>,
                 kSuperProduct<Tiles, WeightType::kLevels, Levels<Unpacked>, 2>},
    .prepare = {PrepareWithAvx512<ActivationFormat::kF32>,
                PrepareWithAvx512<ActivationFormat::kBF16>,
                PrepareWithAvx512<ActivationFormat::kInt8Per32>,
                PrepareWithAvx512<ActivationFormat::kInt8Per256>},
};

}  // namespace
}  // namespace aster::kernels
