// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "quant/dequantize.h"

#include <fmt/format.h>

#include <cstring>

#include "base/float_mode.h"
#include "quant/decode.h"
#include "quant/half.h"

namespace aster::quant {
namespace {

using gguf::TensorType;

template <typename Block>
void DecodeBlocks(const uint8_t* blocks, size_t block_count, float* out) {
  const auto* typed = reinterpret_cast<const Block*>(blocks);
  for (size_t i = 0; i < block_count; ++i) Decode(typed[i], out + i * Block::kElements);
}

// Types whose blocks are single numbers.
template <typename Stored, typename Convert>
void DecodeNumbers(const uint8_t* numbers, size_t count, float* out, const Convert& convert) {
  for (size_t i = 0; i < count; ++i) {
    out[i] = convert(LoadUnaligned<Stored>(numbers + i * sizeof(Stored)));
  }
}

void DecodeF32(const uint8_t* numbers, size_t count, float* out) {
  if (count > 0) std::memcpy(out, numbers, count * sizeof(float));
}
void DecodeF64(const uint8_t* numbers, size_t count, float* out) {
  DecodeNumbers<double>(numbers, count, out,
                        [](double value) { return static_cast<float>(value); });
}
void DecodeF16(const uint8_t* numbers, size_t count, float* out) {
  DecodeNumbers<uint16_t>(numbers, count, out, HalfToFloat);
}
void DecodeBF16(const uint8_t* numbers, size_t count, float* out) {
  DecodeNumbers<uint16_t>(numbers, count, out, Bfloat16ToFloat);
}

struct TypeDecoder {
  TensorType type;
  Decoder decoder;
};

constexpr TypeDecoder kDecoders[] = {
    {TensorType::kF32, DecodeF32},
    {TensorType::kF64, DecodeF64},
    {TensorType::kF16, DecodeF16},
    {TensorType::kBF16, DecodeBF16},
    {TensorType::kQ1_0, DecodeBlocks<BlockQ1_0>},
    {TensorType::kQ2_0, DecodeBlocks<BlockQ2_0>},
    {TensorType::kQ4_0, DecodeBlocks<BlockQ4_0>},
    {TensorType::kQ4_1, DecodeBlocks<BlockQ4_1>},
    {TensorType::kQ5_0, DecodeBlocks<BlockQ5_0>},
    {TensorType::kQ5_1, DecodeBlocks<BlockQ5_1>},
    {TensorType::kQ8_0, DecodeBlocks<BlockQ8_0>},
    {TensorType::kQ8_1, DecodeBlocks<BlockQ8_1>},
    {TensorType::kQ2_K, DecodeBlocks<BlockQ2_K>},
    {TensorType::kQ3_K, DecodeBlocks<BlockQ3_K>},
    {TensorType::kQ4_K, DecodeBlocks<BlockQ4_K>},
    {TensorType::kQ5_K, DecodeBlocks<BlockQ5_K>},
    {TensorType::kQ6_K, DecodeBlocks<BlockQ6_K>},
    {TensorType::kQ8_K, DecodeBlocks<BlockQ8_K>},
    {TensorType::kTQ1_0, DecodeBlocks<BlockTQ1_0>},
    {TensorType::kTQ2_0, DecodeBlocks<BlockTQ2_0>},
    {TensorType::kIQ1_S, DecodeBlocks<BlockIQ1_S>},
    {TensorType::kIQ1_M, DecodeBlocks<BlockIQ1_M>},
    {TensorType::kIQ2_XXS, DecodeBlocks<BlockIQ2_XXS>},
    {TensorType::kIQ2_XS, DecodeBlocks<BlockIQ2_XS>},
    {TensorType::kIQ2_S, DecodeBlocks<BlockIQ2_S>},
    {TensorType::kIQ3_XXS, DecodeBlocks<BlockIQ3_XXS>},
    {TensorType::kIQ3_S, DecodeBlocks<BlockIQ3_S>},
    {TensorType::kIQ4_NL, DecodeBlocks<BlockIQ4_NL>},
    {TensorType::kIQ4_XS, DecodeBlocks<BlockIQ4_XS>},
    {TensorType::kMXFP4, DecodeBlocks<BlockMXFP4>},
    {TensorType::kNVFP4, DecodeBlocks<BlockNVFP4>},
};

}  // namespace

Decoder FindDecoder(TensorType type) {
  for (const TypeDecoder& entry : kDecoders) {
    if (entry.type == type) return entry.decoder;
  }
  return nullptr;
}

Status Dequantize(TensorType type, Bytes row, std::span<float> out) {
  const Decoder decode = FindDecoder(type);
  if (decode == nullptr) {
    return Unimplemented(
        fmt::format("{} cannot be turned into floats", gguf::TensorTypeName(type)));
  }
  if (gguf::RowBytes(type, out.size()) != row.size()) {
    return InvalidArgument(fmt::format("{} bytes are not {} elements of {}", row.size(), out.size(),
                                       gguf::TensorTypeName(type)));
  }
  const ExactFloatMode mode;  // small scales may give denormal weights
  decode(row.data(), out.size() / gguf::FindTensorType(type)->block_elements, out.data());
  return Ok();
}

}  // namespace aster::quant
