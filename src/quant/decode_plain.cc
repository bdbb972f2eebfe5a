// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Types with one scale per block and no super-blocks.
#include "quant/decode.h"
#include "quant/half.h"

namespace aster::quant {
namespace {

// Weights i and i + kCount share byte i; the first is its low half.
template <size_t kCount, typename Value>
void DecodeHalves(const uint8_t* bytes, float* out, const Value& value) {
  for (size_t i = 0; i < kCount; ++i) out[i] = value(bytes[i] & 15, i);
  for (size_t i = 0; i < kCount; ++i) out[i + kCount] = value(bytes[i] >> 4, i + kCount);
}

int FifthBit(uint32_t high_bits, size_t i) { return static_cast<int>(high_bits >> i & 1) << 4; }

}  // namespace

void Decode(const BlockQ1_0& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  for (size_t i = 0; i < BlockQ1_0::kElements; ++i) {
    out[i] = (block.bits[i / 8] >> (i % 8) & 1) != 0 ? scale : -scale;
  }
}

void Decode(const BlockQ2_0& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  for (size_t i = 0; i < BlockQ2_0::kElements; ++i) {
    const int quant = (block.quants[i / 4] >> (2 * (i % 4)) & 3) - 1;
    out[i] = static_cast<float>(quant) * scale;
  }
}

void Decode(const BlockQ4_0& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  DecodeHalves<16>(block.quants, out,
                   [&](int quant, size_t) { return static_cast<float>(quant - 8) * scale; });
}

void Decode(const BlockQ4_1& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  const float offset = HalfToFloat(block.offset);
  DecodeHalves<16>(block.quants, out,
                   [&](int quant, size_t) { return static_cast<float>(quant) * scale + offset; });
}

void Decode(const BlockQ5_0& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  const uint32_t high_bits = block.high_bits;
  DecodeHalves<16>(block.quants, out, [&](int quant, size_t i) {
    return static_cast<float>((quant | FifthBit(high_bits, i)) - 16) * scale;
  });
}

void Decode(const BlockQ5_1& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  const float offset = HalfToFloat(block.offset);
  const uint32_t high_bits = block.high_bits;
  DecodeHalves<16>(block.quants, out, [&](int quant, size_t i) {
    return static_cast<float>(quant | FifthBit(high_bits, i)) * scale + offset;
  });
}

void Decode(const BlockQ8_0& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  for (size_t i = 0; i < 32; ++i) out[i] = static_cast<float>(block.quants[i]) * scale;
}

void Decode(const BlockQ8_1& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  for (size_t i = 0; i < 32; ++i) out[i] = static_cast<float>(block.quants[i]) * scale;
}

void Decode(const BlockMXFP4& block, float* out) {
  const float half_scale = E8m0ToHalfFloat(block.exponent);
  DecodeHalves<16>(block.quants, out, [&](int quant, size_t) {
    return static_cast<float>(kFp4Doubled[quant]) * half_scale;
  });
}

void Decode(const BlockNVFP4& block, float* out) {
  for (size_t group = 0; group < 4; ++group) {
    const float half_scale = Ue4m3ToHalfFloat(block.scales[group]);
    DecodeHalves<8>(block.quants + 8 * group, out + 16 * group, [&](int quant, size_t) {
      return static_cast<float>(kFp4Doubled[quant]) * half_scale;
    });
  }
}

void Decode(const BlockIQ4_NL& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  DecodeHalves<16>(block.quants, out, [&](int quant, size_t) {
    return scale * static_cast<float>(kIq4Levels[quant]);
  });
}

}  // namespace aster::quant
