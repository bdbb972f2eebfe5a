// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Matrix products with the matrix instruction of signed bytes, smmla: two outputs times two rows.
// NEON's dot products compute everything else.
#include "kernels/arm/i8mm_products.h"

namespace aster::kernels {
namespace {

template <WeightType type>
void WithNeon(const MatmulJob& job, size_t panel_begin, size_t panel_end) {
  kMatmulNeon.products[static_cast<size_t>(type)](job, panel_begin, panel_end);
}

template <ActivationFormat format>
void PrepareWithNeon(const float* row, size_t columns, const PreparedRow& out) {
  kMatmulNeon.prepare[static_cast<size_t>(format)](row, columns, out);
}

// For fewer rows, unpacking weights into memory does not pay, by the instructions that
// bench/arm_instructions.py counts.
template <WeightType type, typename Blocks, size_t kFewestRows = 4>
void WithMatrices(const MatmulJob& job, size_t panel_begin, size_t panel_end) {
  if (job.batch < kFewestRows) return WithNeon<type>(job, panel_begin, panel_end);
  PairProducts<Blocks>::Run(job, panel_begin, panel_end);
}

// Q2_K times its scales fits into one byte.
constexpr MatmulTable kTable = {
    .products = {WithNeon<WeightType::kF32>, WithNeon<WeightType::kF16>,
                 WithNeon<WeightType::kBF16>,
                 WithMatrices<WeightType::kQ8_0, ScaledBlocks<Q8_0, 0>>,
                 WithMatrices<WeightType::kQ4_0, ScaledBlocks<Q4_0, 8>>,
                 WithMatrices<WeightType::kMXFP4, ScaledBlocks<MXFP4, 16>>,
                 WithMatrices<WeightType::kQ2_K, SuperBlocks<Q2_K, true>>,
                 WithMatrices<WeightType::kQ4_K, SuperBlocks<Q4_K>>,
                 WithMatrices<WeightType::kQ5_K, SuperBlocks<Q5_K>>,
                 WithMatrices<WeightType::kQ6_K, SuperBlocks<Q6_K>>,
                 WithMatrices<WeightType::kIQ2_XXS, SuperBlocks<IQ2_XXS>, 3>,
                 WithMatrices<WeightType::kIQ4_NL, ScaledBlocks<IQ4_NL, 0>>,
                 WithMatrices<WeightType::kQ5_1, ScaledBlocks<Q5_1, 0>>,
                 WithMatrices<WeightType::kLevels, SuperBlocks<Levels>, 6>},
    .prepare = {PrepareWithNeon<ActivationFormat::kF32>, PrepareWithNeon<ActivationFormat::kBF16>,
                PrepareWithNeon<ActivationFormat::kInt8Per32>,
                PrepareWithNeon<ActivationFormat::kInt8Per256>},
};

}  // namespace

const MatmulTable kMatmulI8mm = kTable;

}  // namespace aster::kernels
