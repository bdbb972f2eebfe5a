// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Prepares a row of activations with vectors: ref/activations_ref.cc for sixteen values at a time.
// For the sources of one instruction set: everything here is in an unnamed namespace. `V` is the
// vector type of matmul_tiles.h.
#pragma once

#include "kernels/activation_layout.h"
#include "kernels/matmul_table.h"
#include "kernels/ref/activations_ref.h"

namespace aster::kernels {
namespace {

// Calls write(values, piece) for every piece of kColumns values; the last one is padded with zeros.
template <size_t kColumns, typename Write>
[[gnu::always_inline]] inline void ForEachPiece(const float* row, size_t columns,
                                                const PreparedRow& out, const Write& write) {
  uint8_t* piece = out.pieces;
  const size_t whole = columns / kColumns * kColumns;
  for (size_t begin = 0; begin < whole; begin += kColumns) {
    write(row + begin, piece);
    piece += out.group_rows * kPieceBytes;
  }
  if (whole == columns) return;
  float padded[kColumns] = {};
  for (size_t i = whole; i < columns; ++i) padded[i - whole] = row[i];
  write(padded, piece);
}

template <typename Word>
[[gnu::always_inline]] inline void StoreWord(const PreparedRow& out, size_t index, Word word) {
  static_assert(sizeof(word) == kWordBytes);
  __builtin_memcpy(out.words + index * out.group_rows * kWordBytes, &word, kWordBytes);
}

// value ~ scale * quant, for kCount values. Returns the scale.
template <typename V, size_t kCount>
[[gnu::always_inline]] inline float QuantiseVectors(const float* values, int8_t* quants) {
  typename V::Ints magnitudes = V::ZeroInts();
  for (size_t i = 0; i < kCount; i += 16) {
    magnitudes = V::MaxMagnitudes(magnitudes, V::LoadInts(values + i));
  }
  const uint32_t largest = V::Largest(magnitudes);
  if (largest < kSmallestScaledBits || largest >= kInfinityBits) {
    __builtin_memset(quants, 0, kCount);
    return largest < kSmallestScaledBits ? 0.0f : __builtin_nanf("");
  }
  float magnitude;
  __builtin_memcpy(&magnitude, &largest, sizeof(magnitude));
  const float inverse = 127.0f / magnitude;
  for (size_t i = 0; i < kCount; i += 16) V::Quantise(values + i, inverse, quants + i);
  return magnitude / 127.0f;
}

template <typename V>
void PrepareF32(const float* row, size_t columns, const PreparedRow& out) {
  ForEachPiece<kF32Piece>(row, columns, out, [](const float* values, uint8_t* piece) {
    __builtin_memcpy(piece, values, kPieceBytes);
  });
}

template <typename V>
void PrepareBF16(const float* row, size_t columns, const PreparedRow& out) {
  ForEachPiece<kBF16Piece>(row, columns, out, [](const float* values, uint8_t* piece) {
    V::StoreBfloat16(V::LoadInts(values), piece);
    V::StoreBfloat16(V::LoadInts(values + 16), piece + 32);
  });
}

template <typename V>
void PrepareInt8Per32(const float* row, size_t columns, const PreparedRow& out) {
  size_t word = 0;
  ForEachPiece<kInt8Piece>(row, columns, out, [&](const float* values, uint8_t* piece) {
    auto* quants = reinterpret_cast<int8_t*>(piece);
    const float first = QuantiseVectors<V, 32>(values, quants);
    const float second = QuantiseVectors<V, 32>(values + 32, quants + 32);
    int32_t sums[4];
    V::SumsOf16(quants, sums);
    StoreWord(out, word + kPer32Scale, first);
    StoreWord(out, word + kPer32Scale + 1, second);
    for (size_t i = 0; i < 2; ++i) {
      const int32_t sum = sums[2 * i] + sums[2 * i + 1];
      StoreWord(out, word + kPer32Start8 + i, -8 * sum);
      StoreWord(out, word + kPer32Start128 + i, -128 * sum);
    }
    word += kPer32Words;
  });
}

// Two int16 in a word, the first in its lower half.
inline uint32_t PairOf(int32_t first, int32_t second) {
  return (static_cast<uint32_t>(first) & 0xffffu) | static_cast<uint32_t>(second) << 16;
}

template <typename V>
void PrepareInt8Per256(const float* row, size_t columns, const PreparedRow& out) {
  for (size_t block = 0; block < columns / 256; ++block) {
    alignas(64) int8_t quants[256];
    const size_t words = block * kPer256Words;
    StoreWord(out, words + kPer256Scale, QuantiseVectors<V, 256>(row + 256 * block, quants));
    for (size_t i = 0; i < 4; ++i) {
      int32_t sums[4];
      V::SumsOf16(quants + 64 * i, sums);
      StoreWord(out, words + kPer256Sums32 + i, PairOf(sums[0] + sums[1], sums[2] + sums[3]));
      StoreWord(out, words + kPer256Sums16 + 2 * i, PairOf(sums[0], sums[1]));
      StoreWord(out, words + kPer256Sums16 + 2 * i + 1, PairOf(sums[2], sums[3]));
      __builtin_memcpy(out.pieces + (4 * block + i) * out.group_rows * kPieceBytes, quants + 64 * i,
                       kPieceBytes);
    }
  }
}

}  // namespace
}  // namespace aster::kernels
