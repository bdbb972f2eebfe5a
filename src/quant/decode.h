// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// From one block to its weights, exactly as the published formats define them: which float
// operations, in which order. Internal to quant/; others use dequantize.h. Must not know rows,
// tensors or files.
#pragma once

#include <array>

#include "quant/blocks.h"

namespace aster::quant {

// Each writes Block::kElements floats.
void Decode(const BlockQ1_0& block, float* out);
void Decode(const BlockQ2_0& block, float* out);
void Decode(const BlockQ4_0& block, float* out);
void Decode(const BlockQ4_1& block, float* out);
void Decode(const BlockQ5_0& block, float* out);
void Decode(const BlockQ5_1& block, float* out);
void Decode(const BlockQ8_0& block, float* out);
void Decode(const BlockQ8_1& block, float* out);
void Decode(const BlockMXFP4& block, float* out);
void Decode(const BlockNVFP4& block, float* out);
void Decode(const BlockIQ4_NL& block, float* out);

void Decode(const BlockQ2_K& block, float* out);
void Decode(const BlockQ3_K& block, float* out);
void Decode(const BlockQ4_K& block, float* out);
void Decode(const BlockQ5_K& block, float* out);
void Decode(const BlockQ6_K& block, float* out);
void Decode(const BlockQ8_K& block, float* out);
void Decode(const BlockTQ1_0& block, float* out);
void Decode(const BlockTQ2_0& block, float* out);
void Decode(const BlockIQ4_XS& block, float* out);

void Decode(const BlockIQ1_S& block, float* out);
void Decode(const BlockIQ1_M& block, float* out);
void Decode(const BlockIQ2_XXS& block, float* out);
void Decode(const BlockIQ2_XS& block, float* out);
void Decode(const BlockIQ2_S& block, float* out);
void Decode(const BlockIQ3_XXS& block, float* out);
void Decode(const BlockIQ3_S& block, float* out);

}  // namespace aster::quant
