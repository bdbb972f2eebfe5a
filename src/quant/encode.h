// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// From the weights of one block to the best block for them. Internal to quant/; others use
// quantize.h. Must not know rows, tensors or files.
#pragma once

#include "quant/blocks.h"
#include "quant/half.h"

namespace aster::quant {

// The weights of one block, scaled near 1 by a power of two so that no square over- or underflows.
struct BlockInput {
  const float* x;           // [Block::kElements], finite; x[i] * unit is the weight
  const float* importance;  // [Block::kElements], about 1 on average
  float unit;               // a power of two

  // A scale for x in stored form (f16, of the weights themselves), and its value after reading.
  uint16_t StoreScale(float scale) const;
  float ReadScale(uint16_t stored) const { return HalfToFloat(stored) / unit; }
};

void Encode(const BlockInput& input, BlockQ4_0& block);
void Encode(const BlockInput& input, BlockQ4_1& block);
void Encode(const BlockInput& input, BlockQ5_0& block);
void Encode(const BlockInput& input, BlockQ5_1& block);
void Encode(const BlockInput& input, BlockQ8_0& block);
void Encode(const BlockInput& input, BlockIQ4_NL& block);
void Encode(const BlockInput& input, BlockMXFP4& block);

void Encode(const BlockInput& input, BlockQ2_K& block);
void Encode(const BlockInput& input, BlockQ3_K& block);
void Encode(const BlockInput& input, BlockQ4_K& block);
void Encode(const BlockInput& input, BlockQ5_K& block);
void Encode(const BlockInput& input, BlockQ6_K& block);
void Encode(const BlockInput& input, BlockIQ4_XS& block);

void Encode(const BlockInput& input, BlockIQ2_XXS& block);

}  // namespace aster::quant
