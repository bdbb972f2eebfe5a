// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How blocks of IQ2_XXS become vectors with AVX-512, without looking points up in memory; beside
// the other types of matmul_formats.h. For sources of one instruction set: everything is in an
// unnamed namespace.
#pragma once

#include <immintrin.h>

#include "kernels/iq2_tables.h"
#include "kernels/matmul_formats.h"
#include "kernels/x86/vector_avx512.h"

namespace aster::kernels {
namespace {

// Its grid has three levels, so that a quad is eight bits: tables of the low and the high quad of
// each point fit into four registers each. The signs are applied around an offset of 64.
template <typename D>
struct Iq2XxsInRegisters : SuperBase<D, PackedIQ2_XXS, 8, 8> {
  using V = VectorAvx512;
  using Block = PackedIQ2_XXS;
  static constexpr bool kMins = false;
  static constexpr int kOffset = 64;
  struct Group {
    template <int t>
    __m512i Quad() const {
      constexpr int kPoint = t / 2;
      // A row's code in each byte of its lane, shifted by 0, 2, 4 and 6 bits.
      const __m512i lanes = _mm512_add_epi8(LaneIndices(), _mm512_set1_epi8(16 * kPoint));
      const __m512i codes = _mm512_permutexvar_epi8(lanes, t % 2 == 0 ? low_codes : high_codes);
      const __m512i shifts = _mm512_set1_epi64(0x2624222006040200);
      const __m512i digits = _mm512_multishift_epi64_epi8(shifts, codes);
      const __m512i values = _mm512_permutexvar_epi8(digits, Levels());
      // The point's seven signs in the low byte of the lane, the eighth making their number even.
      const __m512i seven = _mm512_srli_epi32(signs, 7 * kPoint);
      const __m512i eight = _mm512_gf2p8affine_epi64_epi8(seven, EvenSignsMatrix(), 0);
      const __m512i of_lane = _mm512_shuffle_epi8(eight, LowByteOfLane());
      const __m512i bits =
          _mm512_set1_epi32(t % 2 == 0 ? 0x08040201 : static_cast<int>(0x80402010));
      const __mmask64 negative = _mm512_test_epi8_mask(of_lane, bits);
      const __m512i offset = _mm512_set1_epi8(64);
      return _mm512_mask_sub_epi8(_mm512_add_epi8(offset, values), negative, offset, values);
    }
    __m512i low_codes;  // [point][row]
    __m512i high_codes;
    __m512i signs;  // [row]
    __m512i scale;
  };
  template <int h>
  static Group LoadGroup(const Block& block, int pair) {
    const auto& group = block.groups[2 * pair + h];
    const __m512i points = Load(group.points);
    const __m512i signs = Load(group.signs_and_scale);
    return {Codes(kIq2Tables.low_codes, points), Codes(kIq2Tables.high_codes, points), signs,
            GroupScale(signs)};
  }
  static __m512i SumFactors(const Block& block, int pair) {
    const __m512i low = GroupScale(Load(block.groups[2 * pair].signs_and_scale));
    const __m512i high = GroupScale(Load(block.groups[2 * pair + 1].signs_and_scale));
    return _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
  }
  static __m512 Scale(__m512 scale) { return V::Multiply(scale, _mm512_set1_ps(0.125f)); }

 private:
  static __m512i Load(const void* from) { return _mm512_loadu_si512(from); }
  static __m512i Codes(const uint8_t (&table)[256], __m512i points) {
    const __m512i lower = _mm512_permutex2var_epi8(Load(table), points, Load(table + 64));
    const __m512i upper = _mm512_permutex2var_epi8(Load(table + 128), points, Load(table + 192));
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(points), lower, upper);
  }
  static __m512i GroupScale(__m512i signs_and_scale) {
    const __m512i stored = _mm512_srli_epi32(signs_and_scale, 28);
    return _mm512_add_epi32(_mm512_add_epi32(stored, stored), _mm512_set1_epi32(1));
  }
  // The lane, in each of its bytes.
  static __m512i LaneIndices() {
    return _mm512_setr_epi32(0, 0x01010101, 0x02020202, 0x03030303, 0x04040404, 0x05050505,
                             0x06060606, 0x07070707, 0x08080808, 0x09090909, 0x0a0a0a0a, 0x0b0b0b0b,
                             0x0c0c0c0c, 0x0d0d0d0d, 0x0e0e0e0e, 0x0f0f0f0f);
  }
  static __m512i LowByteOfLane() {
    return _mm512_broadcast_i32x4(_mm_setr_epi32(0, 0x04040404, 0x08080808, 0x0c0c0c0c));
  }
  // Level i % 4 at i.
  static __m512i Levels() {
    return _mm512_set1_epi32(kIq2Levels[0] | kIq2Levels[1] << 8 | kIq2Levels[2] << 16);
  }
  // The identity, but for bit 7, which becomes the parity of the others.
  static __m512i EvenSignsMatrix() { return _mm512_set1_epi64(0x010204081020407f); }
};

}  // namespace
}  // namespace aster::kernels
