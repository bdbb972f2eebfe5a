// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Types whose super-blocks of 256 weights are groups with small integer scales: the K types, the
// ternary ones and IQ4_XS.
#include "quant/decode.h"
#include "quant/half.h"
#include "quant/scales.h"
#include "quant/super_bits.h"

namespace aster::quant {
namespace {

// The ternary digits of `packed`, most significant first, are the fractional digits of packed / 256
// in base 3 (rounded up when it was packed).
float TernaryDigit(uint8_t packed, uint32_t power_of_3) {
  const uint32_t fraction = packed * power_of_3 & 255;
  return static_cast<float>(static_cast<int>(fraction * 3 >> 8) - 1);
}

// For both types with scales and minima; `quant` returns a weight's quant.
template <typename Block, typename Quant>
void DecodeScalesAndMins(const Block& block, float* out, const Quant& quant) {
  const float scale = HalfToFloat(block.scale);
  const float min_scale = HalfToFloat(block.min_scale);
  const ScalesAndMins groups = UnpackScalesAndMins(block.scales);
  for (size_t group = 0; group < 8; ++group) {
    const float group_scale = scale * static_cast<float>(groups.scales[group]);
    const float group_min = min_scale * static_cast<float>(groups.mins[group]);
    for (size_t i = 0; i < 32; ++i) {
      // Groups 2 k and 2 k + 1 are the low and the high halves of the same 32 bytes.
      const int low = block.quants[group / 2 * 32 + i] >> (group % 2 * 4) & 15;
      out[32 * group + i] = group_scale * static_cast<float>(quant(low, group, i)) - group_min;
    }
  }
}

}  // namespace

void Decode(const BlockQ2_K& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  const float min_scale = HalfToFloat(block.min_scale);
  for (size_t group = 0; group < 16; ++group) {
    const float group_scale = scale * static_cast<float>(block.scales[group] & 15);
    const float group_min = min_scale * static_cast<float>(block.scales[group] >> 4);
    for (size_t i = 16 * group; i < 16 * group + 16; ++i) {
      out[i] = group_scale * static_cast<float>(TwoBits(block.quants, i)) - group_min;
    }
  }
}

void Decode(const BlockQ3_K& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  const std::array<int8_t, 16> scales = UnpackScales6(block.scales);
  for (size_t group = 0; group < 16; ++group) {
    const float group_scale = scale * static_cast<float>(scales[group]);
    for (size_t i = 16 * group; i < 16 * group + 16; ++i) {
      out[i] = group_scale * static_cast<float>(LevelOf(block, i) - 4);
    }
  }
}

void Decode(const BlockQ4_K& block, float* out) {
  DecodeScalesAndMins(block, out, [](int low, size_t, size_t) { return low; });
}

void Decode(const BlockQ5_K& block, float* out) {
  DecodeScalesAndMins(block, out, [&block](int low, size_t group, size_t i) {
    return low | (block.high_bits[i] >> group & 1) << 4;
  });
}

void Decode(const BlockQ6_K& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  for (size_t group = 0; group < 16; ++group) {
    const float group_scale = scale * static_cast<float>(block.scales[group]);
    for (size_t i = 16 * group; i < 16 * group + 16; ++i) {
      out[i] = group_scale * static_cast<float>(LevelOf(block, i) - 32);
    }
  }
}

void Decode(const BlockQ8_K& block, float* out) {
  const float scale = block.scale;
  for (size_t i = 0; i < kSuperBlock; ++i) out[i] = scale * static_cast<float>(block.quants[i]);
}

void Decode(const BlockTQ1_0& block, float* out) {
  constexpr uint32_t kPowers[5] = {1, 3, 9, 27, 81};
  const float scale = HalfToFloat(block.scale);
  // A run of bytes has the first digit of each byte, then the second of each, and so on.
  const auto decode_run = [&](const uint8_t* bytes, size_t count, size_t digits) {
    for (size_t digit = 0; digit < digits; ++digit) {
      for (size_t i = 0; i < count; ++i) *out++ = TernaryDigit(bytes[i], kPowers[digit]) * scale;
    }
  };
  decode_run(block.fives, 32, 5);
  decode_run(block.fives + 32, 16, 5);
  decode_run(block.fours, 4, 4);
}

void Decode(const BlockTQ2_0& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  for (size_t i = 0; i < kSuperBlock; ++i) {
    out[i] = static_cast<float>(TwoBits(block.quants, i) - 1) * scale;
  }
}

void Decode(const BlockIQ4_XS& block, float* out) {
  const float scale = HalfToFloat(block.scale);
  for (size_t group = 0; group < 8; ++group) {
    const int low = block.scales_low[group / 2] >> (group % 2 * 4) & 15;
    const int high = block.scales_high >> (2 * group) & 3;
    const float group_scale = scale * static_cast<float>((low | high << 4) - 32);
    const uint8_t* quants = block.quants + 16 * group;
    for (size_t i = 0; i < 16; ++i) {
      out[32 * group + i] = group_scale * static_cast<float>(kIq4Levels[quants[i] & 15]);
      out[32 * group + i + 16] = group_scale * static_cast<float>(kIq4Levels[quants[i] >> 4]);
    }
  }
}

}  // namespace aster::quant
