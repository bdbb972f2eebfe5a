// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Prepared activations (activation_layout.h) in the layout of matrix instructions: two rows at a
// time, eight columns of one beside the same columns of the other. Rows are paired once for many
// panels. For the sources of one instruction set: everything here is in an unnamed namespace.
#pragma once

#include <arm_neon.h>

#include "kernels/activation_layout.h"
#include "kernels/matmul_tiles.h"

namespace aster::kernels {
namespace {

// A result has two outputs side by side for each row, so values of a row are stored twice.
using OfBothRows = float[2][2];  // [row][output]

struct alignas(16) PairPer32 {
  static constexpr size_t kColumns = 64;
  int8_t octets[2][4][2][8];  // [group of 32][eight columns][row]
  OfBothRows scales[2];       // [group]
};

// The sums by which Q5_1 multiplies its offsets.
struct alignas(16) PairPer32AndSums : PairPer32 {
  OfBothRows sums[2];  // -8 times the sum of the group's quants
};

struct alignas(16) PairPer256 {
  static constexpr size_t kColumns = 256;
  int8_t octets[32][2][8];
  OfBothRows scale;
};

// The sums of each 32 quants (8 of them), or of each 16, as bytes: a sum is 128 * high + low.
template <int kSums>
struct alignas(16) PairPer256AndSums : PairPer256 {
  static constexpr int kSumOctets = kSums / 8;
  int8_t high[kSumOctets][2][8];  // [eight sums][row]
  int8_t low[kSumOctets][2][8];
};

// Pairs 64 quants of each row.
[[gnu::always_inline]] inline void PairPiece(const uint8_t* first, const uint8_t* second,
                                             int8_t (*octets)[2][8]) {
  for (int i = 0; i < 4; ++i) {
    const int64x2_t a = vreinterpretq_s64_u8(vld1q_u8(first + 16 * i));
    const int64x2_t b = vreinterpretq_s64_u8(vld1q_u8(second + 16 * i));
    vst1q_s8(octets[2 * i][0], vreinterpretq_s8_s64(vzip1q_s64(a, b)));
    vst1q_s8(octets[2 * i + 1][0], vreinterpretq_s8_s64(vzip2q_s64(a, b)));
  }
}

inline void PairScales(const uint8_t* first, const uint8_t* second, OfBothRows& scales) {
  const uint32x2_t a = vld1_dup_u32(reinterpret_cast<const uint32_t*>(first));
  const uint32x2_t b = vld1_dup_u32(reinterpret_cast<const uint32_t*>(second));
  vst1q_f32(scales[0], vreinterpretq_f32_u32(vcombine_u32(a, b)));
}

// Pairs block `index` of two rows. TileRows are one row here.
inline void PairBlock(const TileRows& first, const TileRows& second, size_t index,
                      PairPer32* pair) {
  PairPiece(first.piece(index), second.piece(index), pair->octets[0]);
  const size_t word = index * kPer32Words + kPer32Scale;
  for (size_t group = 0; group < 2; ++group) {
    PairScales(first.word(word + group), second.word(word + group), pair->scales[group]);
  }
}

inline void PairBlock(const TileRows& first, const TileRows& second, size_t index,
                      PairPer32AndSums* pair) {
  PairBlock(first, second, index, static_cast<PairPer32*>(pair));
  for (size_t group = 0; group < 2; ++group) {
    const size_t word = index * kPer32Words + kPer32Start8 + group;
    int32_t sums[2];
    __builtin_memcpy(&sums[0], first.word(word), kWordBytes);
    __builtin_memcpy(&sums[1], second.word(word), kWordBytes);
    for (int row = 0; row < 2; ++row) {
      pair->sums[group][row][0] = pair->sums[group][row][1] = static_cast<float>(sums[row]);
    }
  }
}

inline void PairBlock(const TileRows& first, const TileRows& second, size_t index,
                      PairPer256* pair) {
  for (size_t i = 0; i < 4; ++i) {
    PairPiece(first.piece(4 * index + i), second.piece(4 * index + i), pair->octets + 8 * i);
  }
  const size_t word = index * kPer256Words + kPer256Scale;
  PairScales(first.word(word), second.word(word), pair->scale);
}

template <int kSums>
void PairBlock(const TileRows& first, const TileRows& second, size_t index,
               PairPer256AndSums<kSums>* pair) {
  PairBlock(first, second, index, static_cast<PairPer256*>(pair));
  constexpr size_t kFirstWord = kSums == 8 ? kPer256Sums32 : kPer256Sums16;
  for (int row = 0; row < 2; ++row) {
    int16_t sums[kSums];
    for (size_t i = 0; i < kSums / 2; ++i) {
      const size_t word = index * kPer256Words + kFirstWord + i;
      __builtin_memcpy(&sums[2 * i], (row == 0 ? first : second).word(word), kWordBytes);
    }
    for (int i = 0; i < kSums / 8; ++i) {
      const int16x8_t eight = vld1q_s16(sums + 8 * i);
      vst1_s8(pair->high[i][row], vmovn_s16(vshrq_n_s16(eight, 7)));
      vst1_s8(pair->low[i][row], vmovn_s16(vandq_s16(eight, vdupq_n_s16(127))));
    }
  }
}

}  // namespace
}  // namespace aster::kernels
