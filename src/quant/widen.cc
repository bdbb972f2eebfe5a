// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "quant/widen.h"

#include <array>

#include "base/check.h"
#include "quant/blocks.h"
#include "quant/scales.h"
#include "quant/super_bits.h"

namespace aster::quant {
namespace {

using gguf::TensorType;

void WidenBlock(const BlockQ3_K& block, BlockQ6_K& out) {
  uint8_t levels[kSuperBlock];
  for (size_t i = 0; i < kSuperBlock; ++i)
    levels[i] = static_cast<uint8_t>(LevelOf(block, i) - 4 + 32);
  PackLevels(levels, out);
  const std::array<int8_t, 16> scales = UnpackScales6(block.scales);
  for (size_t i = 0; i < scales.size(); ++i) out.scales[i] = scales[i];
  out.scale = block.scale;
}

// Weights i and i + 16 share byte i.
int FourBits(const uint8_t* quants, size_t weight) {
  return quants[weight % 16] >> (weight / 16 * 4) & 15;
}

void WidenBlock(const BlockQ5_0& block, BlockQ8_0& out) {
  out.scale = block.scale;
  for (size_t i = 0; i < 32; ++i) {
    const int high = static_cast<int>(block.high_bits >> i & 1) << 4;
    out.quants[i] = static_cast<int8_t>((FourBits(block.quants, i) | high) - 16);
  }
}

void WidenBlock(const BlockIQ4_NL& block, BlockQ8_0& out) {
  out.scale = block.scale;
  for (size_t i = 0; i < 32; ++i) out.quants[i] = kIq4Levels[FourBits(block.quants, i)];
}

template <typename From, typename To>
void WidenBlocks(const uint8_t* blocks, size_t block_count, uint8_t* out) {
  const auto* from = reinterpret_cast<const From*>(blocks);
  auto* to = reinterpret_cast<To*>(out);
  for (size_t i = 0; i < block_count; ++i) WidenBlock(from[i], to[i]);
}

struct Widening {
  TensorType from;
  TensorType to;
  void (*widen)(const uint8_t* blocks, size_t block_count, uint8_t* out);
};

constexpr Widening kWidenings[] = {
    {TensorType::kQ3_K, TensorType::kQ6_K, WidenBlocks<BlockQ3_K, BlockQ6_K>},
    {TensorType::kQ5_0, TensorType::kQ8_0, WidenBlocks<BlockQ5_0, BlockQ8_0>},
    {TensorType::kIQ4_NL, TensorType::kQ8_0, WidenBlocks<BlockIQ4_NL, BlockQ8_0>},
};

const Widening* FindWidening(TensorType type) {
  for (const Widening& widening : kWidenings) {
    if (widening.from == type) return &widening;
  }
  return nullptr;
}

}  // namespace

std::optional<TensorType> WidenedType(TensorType type) {
  const Widening* widening = FindWidening(type);
  if (widening == nullptr) return std::nullopt;
  return widening->to;
}

void Widen(TensorType type, const uint8_t* blocks, size_t block_count, uint8_t* out) {
  const Widening* widening = FindWidening(type);
  CHECK(widening != nullptr);
  widening->widen(blocks, block_count, out);
}

}  // namespace aster::quant
