// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Up to eight rows of activations times super-blocks of unsigned weights, for AVX2: eight outputs
// at a time. Weights are unpacked for all rows at once, and the sums of all rows stay in registers,
// which sixteen outputs would not leave room for. For sources of one instruction set: everything is
// in an unnamed namespace.
#pragma once

#include <immintrin.h>

#include "kernels/matmul_formats.h"
#include "kernels/x86/vector_avx2.h"

namespace aster::kernels {
namespace {

// A tile of matmul_tiles.h. Products of kFold quads are summed up in 16 bits.
template <typename Q, int kFold>
class HalfPanels {
 public:
  struct V : Q::V {
    static constexpr int kRows = 8;
    static constexpr int kFewRows = 8;
    static constexpr size_t kStreamedRows = kGroupRows;
  };
  using Block = typename Q::Block;
  static constexpr ActivationFormat kFormat = ActivationFormat::kInt8Per256;
  static constexpr int kPanels = 1;
  static constexpr int kRows = V::kRows;

  template <int kPanels, int kRows>
  static void Run(const TilePanels<Block>& panels, const TileRows& rows, size_t,
                  TileSums<V, kPanels, kRows>& sums) {
    static_assert(kPanels == 1);
    Prefetch<Block, 1> prefetch(panels);
    for (size_t i = 0; i < panels.panel_blocks; ++i) {
      prefetch.At(i);
      AddHalf<0>(panels.block(0, i), rows, i, prefetch, sums.at[0]);
      AddHalf<1>(panels.block(0, i), rows, i, prefetch, sums.at[0]);
    }
  }

 private:
  static constexpr int kGroupPairs = 32 / Q::kQuads;  // of a block

  template <int kHalf, typename Vectors>
  static auto& Part(Vectors& vectors) {
    if constexpr (kHalf == 0) {
      return vectors.low;
    } else {
      return vectors.high;
    }
  }

  template <int kHalf, int kRows>
  [[gnu::always_inline]] static void AddHalf(const Block& block, const TileRows& rows, size_t index,
                                             const Prefetch<Block, 1>& prefetch,
                                             typename V::Floats (&sums)[kRows]) {
    constexpr int kBytes = 8 * Q::kQuads;  // of a row, for two groups
    __m256i totals[kRows];
    for (int m = 0; m < kRows; ++m) totals[m] = _mm256_setzero_si256();
    for (int pair = 0; pair < kGroupPairs; ++pair) {
      prefetch.template Part<2 * kGroupPairs>(kHalf * kGroupPairs + pair);
      const uint8_t* piece = rows.piece(4 * index + pair * kBytes / kPieceBytes);
      piece += pair * kBytes % kPieceBytes;
      AddGroup<kHalf>(Q::template LoadGroup<0>(block, pair), piece, totals);
      AddGroup<kHalf>(Q::template LoadGroup<1>(block, pair), piece + kBytes / 2, totals);
    }
    Finish<kHalf>(block, rows, index, totals, sums);
  }

  template <int kHalf, int kRows>
  [[gnu::always_inline]] static void AddGroup(const typename Q::Group& group, const uint8_t* piece,
                                              __m256i (&totals)[kRows]) {
    Unroll<Q::kQuads / kFold>([&](auto fold) __attribute__((always_inline)) {
      constexpr int kFirst = kFold * decltype(fold)::value;
      __m256i weights[kFold];
      Unroll<kFold>([&](auto quad) __attribute__((always_inline)) {
        constexpr int t = decltype(quad)::value;
        const auto both = group.template Quad<kFirst + t>();
        weights[t] = Part<kHalf>(both);
      });
      for (int m = 0; m < kRows; ++m) {
        const uint8_t* activations = piece + m * kPieceBytes + 4 * kFirst;
        __m256i words = _mm256_maddubs_epi16(weights[0], V::BroadcastWord(activations));
        for (int t = 1; t < kFold; ++t) {
          words = _mm256_add_epi16(
              words, _mm256_maddubs_epi16(weights[t], V::BroadcastWord(activations + 4 * t)));
        }
        totals[m] = _mm256_add_epi32(totals[m], _mm256_madd_epi16(words, Part<kHalf>(group.scale)));
      }
    });
  }

  // Subtracts minima or offsets, and multiplies with the scales of the block.
  template <int kHalf, int kRows>
  [[gnu::always_inline]] static void Finish(const Block& block, const TileRows& rows, size_t index,
                                            const __m256i (&totals)[kRows],
                                            typename V::Floats (&sums)[kRows]) {
    constexpr size_t kFirstWord = Q::kQuads == 8 ? kPer256Sums32 : kPer256Sums16;
    __m256i pair_sums[kRows];
    for (int m = 0; m < kRows; ++m) pair_sums[m] = _mm256_setzero_si256();
    for (int pair = 0; pair < kGroupPairs; ++pair) {
      const auto both = Q::SumFactors(block, pair);
      const __m256i factors = Part<kHalf>(both);
      const uint8_t* words = rows.word(index * kPer256Words + kFirstWord + pair);
      for (int m = 0; m < kRows; ++m) {
        const __m256i word = V::BroadcastWord(words + m * kWordBytes);
        pair_sums[m] = _mm256_add_epi32(pair_sums[m], _mm256_madd_epi16(factors, word));
      }
    }
    const uint8_t* scales = rows.word(index * kPer256Words + kPer256Scale);
    const auto both = Q::BlockScale(block);
    const __m256 scale = Part<kHalf>(both);
    for (int m = 0; m < kRows; ++m) {
      const __m256 activation_scale = V::Broadcast(scales + m * kWordBytes).low;
      __m256i total = totals[m];
      if constexpr (Q::kOffset != 0) {
        total = _mm256_sub_epi32(total, _mm256_slli_epi32(pair_sums[m], __builtin_ctz(Q::kOffset)));
      }
      __m256& sum = Part<kHalf>(sums[m]);
      sum = _mm256_fmadd_ps(_mm256_cvtepi32_ps(total), _mm256_mul_ps(scale, activation_scale), sum);
      if constexpr (Q::kMins) {
        const auto min_scales = Q::MinScale(block);
        const __m256 min_scale = _mm256_mul_ps(Part<kHalf>(min_scales), activation_scale);
        sum = _mm256_fnmadd_ps(_mm256_cvtepi32_ps(pair_sums[m]), min_scale, sum);
      }
    }
  }
};

}  // namespace
}  // namespace aster::kernels
