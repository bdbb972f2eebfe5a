// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The specification of prepared activations, in plain C++.
#include "kernels/ref/activations_ref.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/activation_layout.h"

namespace aster::kernels {
namespace {

// What a group of values becomes: value ~ scale * quant.
struct Quantised {
  float scale;
  int sum;
};

// The largest magnitude as a bit pattern: magnitudes compare as integers do, a NaN above infinity
// above all numbers, and nothing is flushed to zero on the way.
uint32_t LargestMagnitude(const float* values, size_t count) {
  uint32_t largest = 0;
  for (size_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::bit_cast<uint32_t>(values[i]) & 0x7fffffffu);
  }
  return largest;
}

Quantised QuantiseGroup(const float* values, size_t count, int8_t* quants) {
  std::memset(quants, 0, count);
  const uint32_t largest = LargestMagnitude(values, count);
  if (largest >= kInfinityBits) return {std::numeric_limits<float>::quiet_NaN(), 0};
  if (largest < kSmallestScaledBits) return {0.0f, 0};
  const float magnitude = std::bit_cast<float>(largest);
  const float inverse = 127.0f / magnitude;
  int sum = 0;
  for (size_t i = 0; i < count; ++i) {
    const int quant = static_cast<int>(std::nearbyintf(values[i] * inverse));
    quants[i] = static_cast<int8_t>(quant);
    sum += quant;
  }
  return {magnitude / 127.0f, sum};
}

int SumOf(const int8_t* quants, size_t count) {
  int sum = 0;
  for (size_t i = 0; i < count; ++i) sum += quants[i];
  return sum;
}

}  // namespace

void PrepareF32Ref(const float* row, size_t columns, void* out) {
  std::memcpy(out, row, columns * sizeof(float));
}

void PrepareBF16Ref(const float* row, size_t columns, void* out) {
  auto* values = static_cast<uint16_t*>(out);
  for (size_t i = 0; i < Bfloat16PaddedColumns(columns); ++i) {
    const uint32_t bits = i < columns ? std::bit_cast<uint32_t>(row[i]) : 0;
    const bool nan = (bits & 0x7fffffffu) > kInfinityBits;
    // To the nearest, ties to even; a NaN is made quiet.
    const uint32_t rounded = nan ? bits | 0x400000u : bits + 0x7fffu + (bits >> 16 & 1);
    values[i] = static_cast<uint16_t>(rounded >> 16);
  }
}

void PrepareInt8Per32Ref(const float* row, size_t columns, void* out) {
  const Int8Per32Layout layout = Int8Per32LayoutOf(columns);
  auto* bytes = static_cast<uint8_t*>(out);
  auto* quants = reinterpret_cast<int8_t*>(bytes);
  auto* scales = reinterpret_cast<float*>(bytes + layout.scales);
  auto* starts_8 = reinterpret_cast<int32_t*>(bytes + layout.starts_8);
  auto* starts_128 = reinterpret_cast<int32_t*>(bytes + layout.starts_128);
  for (size_t group = 0; group < layout.padded / 32; ++group) {
    float values[32] = {};
    const size_t begin = group * 32;
    for (size_t i = 0; i < 32 && begin + i < columns; ++i) values[i] = row[begin + i];
    const Quantised quantised = QuantiseGroup(values, 32, quants + begin);
    scales[group] = quantised.scale;
    starts_8[group] = -8 * quantised.sum;
    starts_128[group] = -128 * quantised.sum;
  }
}

void PrepareInt8Per256Ref(const float* row, size_t columns, void* out) {
  const Int8Per256Layout layout = Int8Per256LayoutOf(columns);
  auto* bytes = static_cast<uint8_t*>(out);
  auto* quants = reinterpret_cast<int8_t*>(bytes);
  auto* scales = reinterpret_cast<float*>(bytes + layout.scales);
  auto* sums_32 = reinterpret_cast<int16_t*>(bytes + layout.sums_32);
  auto* sums_16 = reinterpret_cast<int16_t*>(bytes + layout.sums_16);
  for (size_t begin = 0; begin < columns; begin += 256) {
    scales[begin / 256] = QuantiseGroup(row + begin, 256, quants + begin).scale;
  }
  for (size_t i = 0; i < columns / 32; ++i) {
    sums_32[i] = static_cast<int16_t>(SumOf(quants + 32 * i, 32));
  }
  for (size_t i = 0; i < columns / 16; ++i) {
    sums_16[i] = static_cast<int16_t>(SumOf(quants + 16 * i, 16));
  }
}

}  // namespace aster::kernels
