// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Sixteen lanes in one AVX-512 register, for matmul_tiles.h. Only for sources compiled for AVX-512:
// everything is in an unnamed namespace.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace aster::kernels {
namespace {

struct VectorAvx512 {
  using Floats = __m512;
  using Ints = __m512i;
  using Bytes = __m512i;  // four in each lane
  using Pairs = __m512i;  // two int16 in each lane

  // Twelve sums stay in registers with what they are made from. Each broadcast activation serves
  // two panels, each weight register six rows.
  static constexpr int kPanels = 2;
  static constexpr int kRows = 6;

  static Floats Zero() { return _mm512_setzero_ps(); }
  static Ints ZeroInts() { return _mm512_setzero_si512(); }
  static Floats Multiply(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
  static Floats Add(Floats a, Floats b) { return _mm512_add_ps(a, b); }
  static Floats Fma(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
  static Floats FmaMinus(Floats a, Floats b, Floats c) { return _mm512_fnmadd_ps(a, b, c); }
  static Floats ToFloats(Ints ints) { return _mm512_cvtepi32_ps(ints); }
  static Ints LoadInts(const void* from) { return _mm512_loadu_si512(from); }

  static int32_t WordAt(const uint8_t* word) {
    int32_t value;
    __builtin_memcpy(&value, word, sizeof(value));
    return value;
  }
  static Ints BroadcastInt(const uint8_t* word) { return _mm512_set1_epi32(WordAt(word)); }
  static Floats Broadcast(const uint8_t* word) { return _mm512_castsi512_ps(BroadcastInt(word)); }

  static Floats LoadHalves(const uint16_t* halves) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(halves)));
  }
  // 2^(exponent - 128), zero for exponents 0 and 1.
  static Floats LoadHalfExponents(const uint8_t* exponents) {
    const Ints wide =
        _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(exponents)));
    const Ints one = _mm512_set1_epi32(1);
    return _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_sub_epi32(_mm512_max_epi32(wide, one), one), 23));
  }
  static Floats LowBfloat16(Ints pairs) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16));
  }
  static Floats HighBfloat16(Ints pairs) {
    return _mm512_castsi512_ps(
        _mm512_and_si512(pairs, _mm512_set1_epi32(static_cast<int>(0xffff0000))));
  }

  // sum + factors * pair, for the two int16 of a word.
  static Ints AddPairProducts(Ints sum, Pairs factors, const uint8_t* word) {
    return _mm512_dpwssd_epi32(sum, factors, BroadcastInt(word));
  }
  // a - kFactor * b; a power of two.
  template <int kFactor>
  static Ints SubtractTimes(Ints a, Ints b) {
    return _mm512_sub_epi32(a, _mm512_slli_epi32(b, __builtin_ctz(kFactor)));
  }

  static void Store(Floats values, float* out, size_t count) {
    _mm512_mask_storeu_ps(out, static_cast<__mmask16>((1u << count) - 1), values);
  }

  // Sixteen activations in a row; quad t of them in every lane.
  struct Activations {
    template <int t>
    Ints Quad() const {
      return BroadcastInt(at + 4 * t);
    }
    const uint8_t* at;
  };
  static Activations LoadActivations(const uint8_t* at) { return {at}; }
};

}  // namespace
}  // namespace aster::kernels
