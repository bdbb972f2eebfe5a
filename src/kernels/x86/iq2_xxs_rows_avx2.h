// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A few rows of activations times IQ2_XXS, for AVX2. Most of the time is spent looking up points,
// so they stay in the order in which they are found: four outputs by eight columns in a register,
// with eight activations. Only the sums are brought into the order of outputs, once a block. For
// sources of one instruction set: everything is in an unnamed namespace.
#pragma once

#include <immintrin.h>

#include "kernels/iq2_tables.h"
#include "kernels/matmul_formats.h"
#include "kernels/x86/vector_avx2.h"

namespace aster::kernels {
namespace {

// A tile of matmul_tiles.h; `D` computes the dot products of tiles with more rows.
template <typename D>
struct Iq2XxsRows {
  struct V : D::V {
    static constexpr int kRows = 4;
    static constexpr int kFewRows = 4;
  };
  using Block = PackedIQ2_XXS;
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
      const Block& block = panels.block(0, i);
      Totals<kRows> low, high;
      for (size_t g = 0; g < 8; ++g) {
        prefetch.template Part<8>(static_cast<int>(g));
        const auto& group = block.groups[g];
        const uint8_t* activations = rows.piece(4 * i + g / 2) + g % 2 * 32;
        AddGroup(group.signs_and_scale, group.points, activations, low);
        AddGroup(group.signs_and_scale + 8, group.points + 8, activations, high);
      }
      const uint8_t* scales = rows.word(i * kPer256Words + kPer256Scale);
      for (int m = 0; m < kRows; ++m) {
        const typename V::Ints total = {low.OfOutputs(m), high.OfOutputs(m)};
        const typename V::Floats scale =
            V::Multiply(IQ2_XXS<D>::BlockScale(block), V::Broadcast(scales + m * kWordBytes));
        sums.at[0][m] = V::Fma(V::ToFloats(total), IQ2_XXS<D>::Scale(scale), sums.at[0][m]);
      }
    }
  }

 private:
  // Sums of eight outputs for each row, in two registers: of outputs 0, 1, 4 and 5, and of outputs
  // 2, 3, 6 and 7.
  template <int kRows>
  struct Totals {
    Totals() {
      for (int m = 0; m < kRows; ++m) outer[m] = inner[m] = _mm256_setzero_si256();
    }
    __m256i OfOutputs(int m) const { return _mm256_hadd_epi32(outer[m], inner[m]); }
    __m256i outer[kRows];
    __m256i inner[kRows];
  };

  // Adds a group's 32 columns of eight outputs.
  template <int kRows>
  [[gnu::always_inline]] static void AddGroup(const uint32_t* signs_and_scale,
                                              const uint8_t (*points)[4],
                                              const uint8_t* activations, Totals<kRows>& totals) {
    const __m256i words = V::Load(signs_and_scale);
    const __m256i scale = _mm256_or_si256(_mm256_srli_epi32(words, 27), _mm256_set1_epi32(1));
    const __m256i scales = _mm256_or_si256(scale, _mm256_slli_epi32(scale, 16));
    // Bit 7 - p of a byte is the sign of point p's weight, and bit 0 is 1: no byte is zero, also
    // after shifting up by p bits.
    const __m256i signs = V::EvenSigns({words, words}).low;
    const __m256i one = V::Bytes256(1);
    const __m256i even = _mm256_or_si256(_mm256_slli_epi16(signs, 4), one);
    const __m256i odd = _mm256_or_si256(signs, one);
    AddPoints(points, _mm256_unpacklo_epi32(even, odd), _mm256_unpacklo_epi32(scales, scales),
              activations, totals.outer);
    AddPoints(points + 2, _mm256_unpackhi_epi32(even, odd), _mm256_unpackhi_epi32(scales, scales),
              activations, totals.inner);
  }

  // For outputs 0, 1, 4 and 5. Two products are at most 2 * 43 * 127; two of these fit 16 bits.
  template <int kRows>
  [[gnu::always_inline]] static void AddPoints(const uint8_t (*points)[4], __m256i signs,
                                               __m256i scale, const uint8_t* activations,
                                               __m256i (&totals)[kRows]) {
    // As many points at once as fit into registers beside a row.
    constexpr int kAtOnce = kRows == 1 ? 4 : 2;
    Unroll<4 / kAtOnce>([&](auto some) __attribute__((always_inline)) {
      constexpr int first = decltype(some)::value * kAtOnce;
      __m256i magnitudes[kAtOnce], signs_of[kAtOnce];
      Unroll<kAtOnce>([&](auto point) __attribute__((always_inline)) {
        constexpr int p = decltype(point)::value;
        magnitudes[p] = FourPoints<first + p>(points);
        signs_of[p] = _mm256_slli_epi16(signs, first + p);
      });
      Unroll<kRows>([&](auto row) __attribute__((always_inline)) {
        constexpr int m = decltype(row)::value;
        __m256i products[kAtOnce];
        Unroll<kAtOnce>([&](auto point) __attribute__((always_inline)) {
          constexpr int p = decltype(point)::value;
          int64_t eight;
          __builtin_memcpy(&eight, activations + m * kPieceBytes + 8 * (first + p), sizeof(eight));
          products[p] = _mm256_maddubs_epi16(
              magnitudes[p], _mm256_sign_epi8(_mm256_set1_epi64x(eight), signs_of[p]));
        });
        for (int p = 0; p < kAtOnce; p += 2) {
          const __m256i both = _mm256_add_epi16(products[p], products[p + 1]);
          totals[m] = _mm256_add_epi32(totals[m], _mm256_madd_epi16(both, scale));
        }
      });
    });
  }

  // Point p of outputs 0, 1, 4 and 5.
  template <int p>
  [[gnu::always_inline]] static __m256i FourPoints(const uint8_t (*points)[4]) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(TwoPoints<p>(points)),
                                   TwoPoints<p>(points + 4), 1);
  }

  // Point p of two outputs.
  template <int p>
  [[gnu::always_inline]] static __m128i TwoPoints(const uint8_t (*points)[4]) {
    const uint8_t* first = kIq2Tables.points[points[0][p]];
    const uint8_t* second = kIq2Tables.points[points[1][p]];
    const __m128i low = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(first));
    return _mm_castps_si128(
        _mm_loadh_pi(_mm_castsi128_ps(low), reinterpret_cast<const __m64*>(second)));
  }
};

}  // namespace
}  // namespace aster::kernels
