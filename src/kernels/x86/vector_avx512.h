// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Sixteen lanes in one AVX-512 register, for matmul_tiles.h. Only for sources compiled for AVX-512:
// everything is in an unnamed namespace.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/packed.h"

namespace aster::kernels {
namespace {

struct VectorAvx512 {
  using Floats = __m512;
  using Ints = __m512i;
  using Bytes = __m512i;  // four in each lane
  using Pairs = __m512i;  // two int16 in each lane

  // Twelve sums stay in registers with their factors. Each broadcast activation serves two panels,
  // each weight register six rows.
  static constexpr int kPanels = 2;
  static constexpr int kRows = 6;
  static constexpr int kFloatRows = 6;
  static constexpr int kFewRows = 8;    // of one panel
  static constexpr int kMostSums = 24;  // in registers

  static Floats Zero() { return _mm512_setzero_ps(); }
  static Ints ZeroInts() { return _mm512_setzero_si512(); }
  static Floats Multiply(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
  static Floats Add(Floats a, Floats b) { return _mm512_add_ps(a, b); }
  static Floats Fma(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
  static Floats FmaMinus(Floats a, Floats b, Floats c) { return _mm512_fnmadd_ps(a, b, c); }
  static Floats ToFloats(Ints ints) { return _mm512_cvtepi32_ps(ints); }
  static Ints AddInts(Ints a, Ints b) { return _mm512_add_epi32(a, b); }
  static Ints LoadInts(const void* from) { return _mm512_loadu_si512(from); }
  static Floats LoadFloats(const float* from) { return _mm512_loadu_ps(from); }
  static void StoreInts(Ints values, void* to) { _mm512_storeu_si512(to, values); }
  static void StoreFloats(Floats values, float* to) { _mm512_storeu_ps(to, values); }

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

  static Bytes LoadBytes(const PackedQuads& quads) { return _mm512_loadu_si512(quads); }
  // Low and high halves of bytes, each between 0 and 15.
  static Bytes LowHalves(Bytes bytes) { return _mm512_and_si512(bytes, _mm512_set1_epi8(15)); }
  static Bytes HighHalves(Bytes bytes) { return LowHalves(_mm512_srli_epi16(bytes, 4)); }
  static Bytes FlipSigns(Bytes bytes) { return _mm512_xor_si512(bytes, _mm512_set1_epi8(-128)); }
  // The bytes' bits shifted up by kShift (down if it is negative), also across bytes.
  template <int kShift>
  static Bytes MovedBits(const PackedQuads& quads) {
    const Bytes bytes = LoadBytes(quads);
    return kShift > 0 ? _mm512_slli_epi16(bytes, kShift > 0 ? kShift : 0)
                      : _mm512_srli_epi16(bytes, kShift < 0 ? -kShift : 0);
  }
  template <int kShift, int kMask>
  static Bytes Bits(const PackedQuads& quads) {
    return _mm512_and_si512(MovedBits<kShift>(quads), _mm512_set1_epi8(kMask));
  }
  template <int kShift, int kMask>
  static Bytes OrBits(Bytes bytes, const PackedQuads& quads) {
    const Bytes moved = MovedBits<kShift>(quads);
    constexpr int kFirstOrBothOthers = 0xf8;
    return _mm512_ternarylogic_epi32(bytes, moved, _mm512_set1_epi8(kMask), kFirstOrBothOthers);
  }
  static Bytes LookUp(const uint8_t (&table)[16], Bytes codes) {
    const __m128i values = _mm_load_si128(reinterpret_cast<const __m128i*>(table));
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(values), codes);
  }

  static __m256i LoadPairs(const PackedPair& pairs) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(pairs));
  }
  static Pairs UnsignedPairs(const PackedPair& pairs) {
    return _mm512_cvtepu8_epi16(LoadPairs(pairs));
  }
  static Pairs SignedPairs(const PackedPair& pairs) {
    return _mm512_cvtepi8_epi16(LoadPairs(pairs));
  }
  static Pairs LowHalfPairs(const PackedPair& pairs) { return LowHalves(UnsignedPairs(pairs)); }
  static Pairs HighHalfPairs(const PackedPair& pairs) { return HighHalves(UnsignedPairs(pairs)); }

  // sum + factors * pair, for the two int16 of a word.
  static Ints AddPairProducts(Ints sum, Pairs factors, const uint8_t* word) {
    return _mm512_dpwssd_epi32(sum, factors, BroadcastInt(word));
  }
  // a - kFactor * b; kFactor is a power of two.
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

  // Operations for preparing activations.
  static Ints MaxMagnitudes(Ints largest, Ints float_bits) {
    const Ints magnitudes = _mm512_and_si512(float_bits, _mm512_set1_epi32(0x7fffffff));
    return _mm512_max_epu32(largest, magnitudes);
  }
  static uint32_t Largest(Ints values) { return _mm512_reduce_max_epu32(values); }
  static void Quantise(const float* values, float inverse, int8_t* quants) {
    const Floats scaled = _mm512_mul_ps(_mm512_loadu_ps(values), _mm512_set1_ps(inverse));
    const __m128i bytes = _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(scaled));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(quants), bytes);
  }
  // The sums of each sixteen of 64 bytes.
  static void SumsOf16(const int8_t* quants, int32_t* sums) {
    Ints sum = _mm512_dpbusd_epi32(ZeroInts(), _mm512_set1_epi8(1), LoadInts(quants));
    sum = _mm512_add_epi32(sum, _mm512_shuffle_epi32(sum, _MM_PERM_CDAB));
    sum = _mm512_add_epi32(sum, _mm512_shuffle_epi32(sum, _MM_PERM_BADC));
    const Ints firsts = _mm512_maskz_compress_epi32(0x1111, sum);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(sums), _mm512_castsi512_si128(firsts));
  }
  // Rounded to the nearest, ties to even; NaN becomes quiet.
  static void StoreBfloat16(Ints float_bits, uint8_t* out) {
    const Ints last_bit = _mm512_and_si512(_mm512_srli_epi32(float_bits, 16), _mm512_set1_epi32(1));
    const Ints up = _mm512_add_epi32(last_bit, _mm512_set1_epi32(0x7fff));
    const Ints magnitudes = _mm512_and_si512(float_bits, _mm512_set1_epi32(0x7fffffff));
    const __mmask16 nan = _mm512_cmpgt_epu32_mask(magnitudes, _mm512_set1_epi32(0x7f800000));
    Ints rounded = _mm512_add_epi32(float_bits, up);
    rounded = _mm512_mask_or_epi32(rounded, nan, float_bits, _mm512_set1_epi32(0x400000));
    const __m256i halves = _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded, 16));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), halves);
  }
};

}  // namespace
}  // namespace aster::kernels
