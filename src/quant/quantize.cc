// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "quant/quantize.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/float_mode.h"
#include "quant/encode.h"
#include "quant/half.h"
#include "quant/lanes.h"

namespace aster::quant {
namespace {

using gguf::TensorType;

constexpr float kLargestHalf = 65504.0f;

// The power of two at or below `value`, limited so that its reciprocal is a normal float, too.
float PowerOfTwoBelow(float value) {
  const uint32_t exponent = std::bit_cast<uint32_t>(value) >> 23 & 255;
  return std::bit_cast<float>(std::clamp(exponent, 27u, 227u) << 23);
}

// The memory behind a BlockInput.
struct Scratch {
  std::array<float, kSuperBlock> x;
  std::array<float, kSuperBlock> importance;
};

// Scaled to a mean of 1. A least importance keeps every weight in the sums: an unmeasured column
// may not have any error.
void NormalizeImportance(const float* importance, size_t count, float* out) {
  constexpr double kLeast = 1e-4;
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += std::max(0.0f, importance[i]);
  if (!(sum > 0 && std::isfinite(sum))) {
    std::fill_n(out, count, 1.0f);
    return;
  }
  const double scale = static_cast<double>(count) / sum;
  for (size_t i = 0; i < count; ++i) {
    out[i] = static_cast<float>(std::max(0.0f, importance[i]) * scale + kLeast);
  }
}

// Large weights count somewhat more: models depend on them, and they are few, so that the total
// error hardly grows (docs/quantisation.md has figures).
void FavorLargeWeights(const float* x, size_t count, float* importance) {
  Lanes squares;
  for (size_t i = 0; i < count; i += kLanes) squares += Lanes::Load(x + i) * Lanes::Load(x + i);
  const float sum = squares.Sum();
  if (!(sum > 0)) return;
  const float reciprocal = static_cast<float>(count) / sum;
  for (size_t i = 0; i < count; ++i) importance[i] *= std::sqrt(1 + x[i] * x[i] * reciprocal);
}

float LargestMagnitude(const float* row, size_t count) {
  Lanes largest;
  for (size_t i = 0; i < count; i += kLanes) {
    const Lanes weights = Lanes::Load(row + i);
    largest = Max(largest, Max(weights, Lanes() - weights));
  }
  const auto lanes = largest.ToArray();
  return *std::max_element(lanes.begin(), lanes.end());
}

// count: a multiple of kLanes.
BlockInput Prepare(const float* row, const float* importance, size_t count, Scratch& scratch) {
  const float unit = PowerOfTwoBelow(LargestMagnitude(row, count));
  const float reciprocal = 1 / unit;
  for (size_t i = 0; i < count; ++i) scratch.x[i] = row[i] * reciprocal;
  if (importance != nullptr) {
    NormalizeImportance(importance, count, scratch.importance.data());
  } else {
    std::fill_n(scratch.importance.data(), count, 1.0f);
  }
  FavorLargeWeights(scratch.x.data(), count, scratch.importance.data());
  return {scratch.x.data(), scratch.importance.data(), unit};
}

using Encoder = void (*)(std::span<const float> row, const float* importance, uint8_t* out);

template <typename Block>
void EncodeBlocks(std::span<const float> row, const float* importance, uint8_t* out) {
  Scratch scratch;
  for (size_t i = 0; i < row.size(); i += Block::kElements) {
    const float* block_importance = importance != nullptr ? importance + i : nullptr;
    Block block;
    Encode(Prepare(row.data() + i, block_importance, Block::kElements, scratch), block);
    std::memcpy(out, &block, sizeof(Block));
    out += sizeof(Block);
  }
}

void EncodeF32(std::span<const float> row, const float*, uint8_t* out) {
  if (!row.empty()) std::memcpy(out, row.data(), row.size_bytes());
}

template <uint16_t (*kConvert)(float)>
void EncodeNumbers(std::span<const float> row, const float*, uint8_t* out) {
  for (size_t i = 0; i < row.size(); ++i) {
    const uint16_t number = kConvert(row[i]);
    std::memcpy(out + i * sizeof(number), &number, sizeof(number));
  }
}

struct TypeEncoder {
  TensorType type;
  Encoder encoder;
};

constexpr TypeEncoder kEncoders[] = {
    {TensorType::kF32, EncodeF32},
    {TensorType::kF16, EncodeNumbers<FloatToHalf>},
    {TensorType::kBF16, EncodeNumbers<FloatToBfloat16>},
    {TensorType::kQ4_0, EncodeBlocks<BlockQ4_0>},
    {TensorType::kQ4_1, EncodeBlocks<BlockQ4_1>},
    {TensorType::kQ5_0, EncodeBlocks<BlockQ5_0>},
    {TensorType::kQ5_1, EncodeBlocks<BlockQ5_1>},
    {TensorType::kQ8_0, EncodeBlocks<BlockQ8_0>},
    {TensorType::kQ2_K, EncodeBlocks<BlockQ2_K>},
    {TensorType::kQ3_K, EncodeBlocks<BlockQ3_K>},
    {TensorType::kQ4_K, EncodeBlocks<BlockQ4_K>},
    {TensorType::kQ5_K, EncodeBlocks<BlockQ5_K>},
    {TensorType::kQ6_K, EncodeBlocks<BlockQ6_K>},
    {TensorType::kIQ2_XXS, EncodeBlocks<BlockIQ2_XXS>},
    {TensorType::kIQ4_NL, EncodeBlocks<BlockIQ4_NL>},
    {TensorType::kIQ4_XS, EncodeBlocks<BlockIQ4_XS>},
    {TensorType::kMXFP4, EncodeBlocks<BlockMXFP4>},
};

Encoder FindEncoder(TensorType type) {
  for (const TypeEncoder& entry : kEncoders) {
    if (entry.type == type) return entry.encoder;
  }
  return nullptr;
}

// Larger weights cannot be stored.
float LargestWeight(TensorType type) {
  // Anything less than half a step above the largest number is rounded down to it.
  if (type == TensorType::kF16) return std::nextafter(65520.0f, 0.0f);
  if (type == TensorType::kBF16) return 0x1.fefffep127f;
  return std::numeric_limits<float>::max();
}

Status CheckWeights(TensorType type, std::span<const float> row) {
  const float largest = LargestWeight(type);
  bool all_fit = true;
  for (const float weight : row) all_fit &= std::fabs(weight) <= largest;  // false for NaN
  if (all_fit) return Ok();
  const auto found = std::find_if(
      row.begin(), row.end(), [largest](float weight) { return !(std::fabs(weight) <= largest); });
  return InvalidArgument(fmt::format("weight {} of the row is {}, which {} cannot hold",
                                     found - row.begin(), *found, gguf::TensorTypeName(type)));
}

}  // namespace

uint16_t BlockInput::StoreScale(float scale) const {
  return FloatToHalf(std::clamp(scale * unit, -kLargestHalf, kLargestHalf));
}

bool CanQuantize(TensorType type) { return FindEncoder(type) != nullptr; }

Status Quantize(TensorType type, std::span<const float> row, std::span<uint8_t> out,
                const float* importance) {
  const Encoder encode = FindEncoder(type);
  if (encode == nullptr) {
    return Unimplemented(fmt::format("{} cannot be written", gguf::TensorTypeName(type)));
  }
  if (gguf::RowBytes(type, row.size()) != out.size()) {
    return InvalidArgument(fmt::format("{} weights are not {} bytes of {}", row.size(), out.size(),
                                       gguf::TensorTypeName(type)));
  }
  TRY(CheckWeights(type, row));
  const ComputeFloatMode mode;
  encode(row, importance, out.data());
  return Ok();
}

}  // namespace aster::quant
