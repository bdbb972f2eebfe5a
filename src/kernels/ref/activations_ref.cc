// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The specification of prepared activations, in plain C++.
#include "kernels/ref/activations_ref.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/activation_layout.h"

namespace aster::kernels {
namespace {

// The largest magnitude as a bit pattern: magnitudes compare as integers do, NaN is above infinity
// and infinity above all numbers, and nothing is flushed to zero.
uint32_t LargestMagnitude(const float* values, size_t count) {
  uint32_t largest = 0;
  for (size_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::bit_cast<uint32_t>(values[i]) & 0x7fffffffu);
  }
  return largest;
}

// value ~ scale * quant. Returns the scale.
float Quantise(const float* values, size_t count, int8_t* quants) {
  std::fill_n(quants, count, int8_t{0});
  const uint32_t largest = LargestMagnitude(values, count);
  if (largest >= kInfinityBits) return std::numeric_limits<float>::quiet_NaN();
  if (largest < kSmallestScaledBits) return 0.0f;
  const float magnitude = std::bit_cast<float>(largest);
  const float inverse = 127.0f / magnitude;
  for (size_t i = 0; i < count; ++i) {
    quants[i] = static_cast<int8_t>(std::nearbyintf(values[i] * inverse));  // ties to even
  }
  return magnitude / 127.0f;
}

int32_t SumOf(const int8_t* quants, size_t count) {
  int32_t sum = 0;
  for (size_t i = 0; i < count; ++i) sum += quants[i];
  return sum;
}

uint16_t RoundToBF16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const bool nan = (bits & 0x7fffffffu) > kInfinityBits;
  // To the nearest, ties to even; NaN becomes quiet.
  return static_cast<uint16_t>((nan ? bits | 0x400000u : bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

// A row in pieces of a fixed number of values, the last one padded with zeros.
template <typename Value, size_t kCount, typename Convert>
void WritePieces(const float* row, size_t columns, const PreparedRow& out, const Convert& convert) {
  for (size_t begin = 0; begin < columns; begin += kCount) {
    Value piece[kCount] = {};
    static_assert(sizeof(piece) == kPieceBytes);
    const size_t count = std::min(kCount, columns - begin);
    for (size_t i = 0; i < count; ++i) piece[i] = convert(row[begin + i]);
    std::memcpy(out.pieces + begin / kCount * out.group_rows * kPieceBytes, piece, kPieceBytes);
  }
}

template <typename Word>
void WriteWord(const PreparedRow& out, size_t index, Word word) {
  static_assert(sizeof(word) == kWordBytes);
  std::memcpy(out.words + index * out.group_rows * kWordBytes, &word, kWordBytes);
}

}  // namespace

void PrepareF32Ref(const float* row, size_t columns, const PreparedRow& out) {
  WritePieces<float, kF32Piece>(row, columns, out, [](float value) { return value; });
}

void PrepareBF16Ref(const float* row, size_t columns, const PreparedRow& out) {
  WritePieces<uint16_t, kBF16Piece>(row, columns, out, RoundToBF16);
}

void PrepareInt8Per32Ref(const float* row, size_t columns, const PreparedRow& out) {
  for (size_t piece = 0; piece * kInt8Piece < columns; ++piece) {
    float values[kInt8Piece] = {};
    const size_t begin = piece * kInt8Piece;
    std::copy_n(row + begin, std::min(kInt8Piece, columns - begin), values);
    int8_t quants[kInt8Piece];
    for (size_t i = 0; i < 2; ++i) {
      const float scale = Quantise(values + 32 * i, 32, quants + 32 * i);
      const int32_t sum = SumOf(quants + 32 * i, 32);
      WriteWord(out, piece * kPer32Words + kPer32Scale + i, scale);
      WriteWord(out, piece * kPer32Words + kPer32Start8 + i, -8 * sum);
      WriteWord(out, piece * kPer32Words + kPer32Start128 + i, -128 * sum);
    }
    std::memcpy(out.pieces + piece * out.group_rows * kPieceBytes, quants, kPieceBytes);
  }
}

void PrepareInt8Per256Ref(const float* row, size_t columns, const PreparedRow& out) {
  for (size_t block = 0; block < columns / 256; ++block) {
    int8_t quants[256];
    const size_t words = block * kPer256Words;
    WriteWord(out, words + kPer256Scale, Quantise(row + 256 * block, 256, quants));
    const auto write_sums = [&](size_t first_word, size_t count) {
      for (size_t i = 0; i < 256 / count; i += 2) {
        const int16_t pair[2] = {static_cast<int16_t>(SumOf(quants + i * count, count)),
                                 static_cast<int16_t>(SumOf(quants + (i + 1) * count, count))};
        WriteWord(out, words + first_word + i / 2, std::bit_cast<uint32_t>(pair));
      }
    };
    write_sums(kPer256Sums32, 32);
    write_sums(kPer256Sums16, 16);
    for (size_t i = 0; i < 4; ++i) {
      std::memcpy(out.pieces + (4 * block + i) * out.group_rows * kPieceBytes, quants + 64 * i,
                  kPieceBytes);
    }
  }
}

}  // namespace aster::kernels
