// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Unpacks blocks of IQ2_XXS to vectors with AVX-512, without looking up points in memory; for use
// with the other types of matmul_formats.h. For sources of one instruction set: everything is in an
// unnamed namespace.
#pragma once

#include <immintrin.h>

#include "kernels/iq2_tables.h"
#include "kernels/matmul_formats.h"
#include "kernels/x86/vector_avx512.h"

namespace aster::kernels {
namespace {

// The grid has three levels, so a quad is eight bits: tables of the low and the high quad of each
// point fit into four registers each. A weight's two bits and its sign are moved into one byte,
// which selects one of six weights around an offset of 64.
template <typename D>
struct Iq2XxsInRegisters : SuperBase<D, PackedIQ2_XXS, 8, 1> {
  using V = typename D::V;
  using Block = PackedIQ2_XXS;
  static constexpr bool kMins = false;
  static constexpr int kOffset = 64;
  struct Group {
    template <int t>
    __m512i Quad() const {
      // Of the bits above the digit only the sign's may count, and an index has six bits: signs at
      // other positions are taken from the shifted words.
      constexpr int kStored = Iq2SignBit(t);
      constexpr int kSignBit = kStored < 2 ? kStored + 2 : kStored > 5 ? kStored - 2 : kStored;
      const __m512i sign = kStored < 2 ? signs_up : kStored > 5 ? signs_down : signs;
      const __m512i digit = DigitsOfPoint<t / 2>(t % 2 == 0 ? low_codes : high_codes);
      constexpr int kSecondWhereThird = 0xd8;
      const __m512i indices = _mm512_ternarylogic_epi32(
          digit, sign, _mm512_set1_epi8(1 << kSignBit), kSecondWhereThird);
      return _mm512_permutexvar_epi8(indices, _mm512_load_si512(&kWeights<kSignBit>));
    }
    __m512i low_codes;   // [row][point]
    __m512i high_codes;  // [row][point]
    __m512i signs;       // packed.h
    __m512i signs_up;    // shifted up by two bits
    __m512i signs_down;  // shifted down by two bits
    __m512i scale;
  };
  template <int h>
  static Group LoadGroup(const Block& block, int pair) {
    const auto& group = block.groups[2 * pair + h];
    const __m512i points = Load(group.points);
    const __m512i signs_and_scale = Load(group.signs_and_scale);
    const __m512i signs = EvenSigns(signs_and_scale);
    return {Codes(kIq2Tables.low_codes, points),
            Codes(kIq2Tables.high_codes, points),
            signs,
            _mm512_slli_epi16(signs, 2),
            _mm512_srli_epi16(signs, 2),
            _mm512_or_si512(_mm512_srli_epi32(signs_and_scale, 27), _mm512_set1_epi32(1))};
  }
  // 2 s + 1 for the upper four bits s of two words, side by side.
  static __m512i SumFactors(const Block& block, int pair) {
    const __m512i first = _mm512_srli_epi32(Load(block.groups[2 * pair].signs_and_scale), 27);
    const __m512i second = _mm512_srli_epi32(Load(block.groups[2 * pair + 1].signs_and_scale), 11);
    const __m512i both =
        _mm512_ternarylogic_epi32(first, second, _mm512_set1_epi32(0x1f0000), kFirstOrBothOthers);
    return _mm512_or_si512(both, _mm512_set1_epi32(0x10001));
  }
  static __m512 Scale(__m512 scale) { return V::Multiply(scale, _mm512_set1_ps(0.125f)); }

 private:
  struct alignas(64) Table {
    uint8_t at[64];
  };
  // The weight of a digit at the lowest bits of an index and a sign at a higher one.
  template <int kSignBit>
  static constexpr Table kWeights = [] {
    Table table{};
    for (int i = 0; i < 64; ++i) {
      const int level = i % 4 < 3 ? kIq2Levels[i % 4] : 0;
      table.at[i] = static_cast<uint8_t>((i >> kSignBit & 1) != 0 ? 64 - level : 64 + level);
    }
    return table;
  }();
  static constexpr int kFirstOrBothOthers = 0xf8;

  static __m512i Load(const void* from) { return _mm512_loadu_si512(from); }
  static __m512i Codes(const uint8_t (&table)[256], __m512i points) {
    const __m512i lower = _mm512_permutex2var_epi8(Load(table), points, Load(table + 64));
    const __m512i upper = _mm512_permutex2var_epi8(Load(table + 128), points, Load(table + 192));
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(points), lower, upper);
  }
  // Digit i of the point's code at the lowest bits of byte i of each lane.
  template <int kPoint>
  static __m512i DigitsOfPoint(__m512i codes) {
    constexpr int64_t kFirst = 0x2624222006040200;
    const __m512i shifts = _mm512_set1_epi64(kFirst + 0x0808080808080808 * kPoint);
    return _mm512_multishift_epi64_epi8(shifts, codes);
  }
  // With the implied signs in place of the scale.
  static __m512i EvenSigns(__m512i signs_and_scale) {
    const __m512i scale = _mm512_set1_epi32(static_cast<int>(0xf0000000));
    const __m512i signs = _mm512_andnot_si512(scale, signs_and_scale);
    __m512i odd = _mm512_xor_si512(signs, _mm512_slli_epi32(signs, 16));
    odd = _mm512_xor_si512(odd, _mm512_slli_epi32(odd, 8));
    odd = _mm512_xor_si512(odd, _mm512_slli_epi32(odd, 4));
    return _mm512_ternarylogic_epi32(signs, odd, scale, kFirstOrBothOthers);
  }
};

}  // namespace
}  // namespace aster::kernels
