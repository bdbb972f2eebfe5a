// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Sixteen lanes in two AVX registers, for matmul_tiles.h. Only for sources compiled for AVX2:
// everything is in an unnamed namespace.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/iq2_tables.h"
#include "kernels/packed.h"

namespace aster::kernels {
namespace {

struct VectorAvx2 {
  // Sums that stay in registers: twelve of the sixteen.
  static constexpr int kMostSums = 6;
  struct Floats {  // lanes 0 to 7, lanes 8 to 15
    __m256 low;
    __m256 high;
  };
  struct Ints {
    __m256i low;
    __m256i high;
  };
  using Bytes = Ints;  // four in each lane
  using Pairs = Ints;  // two int16 in each lane

  template <typename Operation>
  [[gnu::always_inline]] static Ints OfEach(const Operation& operation, const Ints& a) {
    return {operation(a.low), operation(a.high)};
  }
  static __m256i Bytes256(int value) { return _mm256_set1_epi8(static_cast<char>(value)); }

  static Floats Zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
  static Ints ZeroInts() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
  static Floats Multiply(Floats a, Floats b) {
    return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
  }
  static Floats Add(Floats a, Floats b) {
    return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
  }
  static Floats Fma(Floats a, Floats b, Floats c) {
    return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
  }
  static Floats FmaMinus(Floats a, Floats b, Floats c) {
    return {_mm256_fnmadd_ps(a.low, b.low, c.low), _mm256_fnmadd_ps(a.high, b.high, c.high)};
  }
  static Floats ToFloats(Ints a) { return {_mm256_cvtepi32_ps(a.low), _mm256_cvtepi32_ps(a.high)}; }

  static __m256i Load(const void* from) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
  }
  static __m128i LoadHalf(const void* from) {
    return _mm_loadu_si128(static_cast<const __m128i*>(from));
  }
  static Ints LoadInts(const void* from) {
    return {Load(from), Load(static_cast<const uint8_t*>(from) + 32)};
  }
  static void StoreInts(Ints values, void* to) {
    auto* halves = static_cast<__m256i*>(to);
    _mm256_storeu_si256(halves, values.low);
    _mm256_storeu_si256(halves + 1, values.high);
  }
  static void StoreFloats(Floats values, float* to) {
    _mm256_storeu_ps(to, values.low);
    _mm256_storeu_ps(to + 8, values.high);
  }
  static __m256i BroadcastWord(const uint8_t* word) {
    int32_t value;
    __builtin_memcpy(&value, word, sizeof(value));
    return _mm256_set1_epi32(value);
  }
  static Ints Both(__m256i a) { return {a, a}; }
  static Ints BroadcastInt(const uint8_t* word) { return Both(BroadcastWord(word)); }
  static Floats Broadcast(const uint8_t* word) {
    const __m256 value = _mm256_castsi256_ps(BroadcastWord(word));
    return {value, value};
  }

  static Floats LoadFloats(const float* from) {
    return {_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8)};
  }
  static Floats LoadHalves(const uint16_t* halves) {
    return {_mm256_cvtph_ps(LoadHalf(halves)), _mm256_cvtph_ps(LoadHalf(halves + 8))};
  }
  // 2^(exponent - 128), zero for exponents 0 and 1.
  static Floats LoadHalfExponents(const uint8_t* exponents) {
    const auto power = [](__m128i eight) {
      const __m256i one = _mm256_set1_epi32(1);
      const __m256i wide = _mm256_max_epi32(_mm256_cvtepu8_epi32(eight), one);
      return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_sub_epi32(wide, one), 23));
    };
    const __m128i all = LoadHalf(exponents);
    return {power(all), power(_mm_srli_si128(all, 8))};
  }
  static Floats LowBfloat16(Ints pairs) {
    return {_mm256_castsi256_ps(_mm256_slli_epi32(pairs.low, 16)),
            _mm256_castsi256_ps(_mm256_slli_epi32(pairs.high, 16))};
  }
  static Floats HighBfloat16(Ints pairs) {
    const __m256i mask = _mm256_set1_epi32(static_cast<int>(0xffff0000));
    return {_mm256_castsi256_ps(_mm256_and_si256(pairs.low, mask)),
            _mm256_castsi256_ps(_mm256_and_si256(pairs.high, mask))};
  }

  static Ints AddInts(Ints a, Ints b) {
    return {_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)};
  }
  static Bytes LoadBytes(const PackedQuads& quads) { return LoadInts(quads); }
  // Low and high halves of bytes, each between 0 and 15.
  static Bytes LowHalves(Bytes bytes) { return And(bytes, 15); }
  static Bytes HighHalves(Bytes bytes) {
    return LowHalves(OfEach([](__m256i a) { return _mm256_srli_epi16(a, 4); }, bytes));
  }
  static Bytes FlipSigns(Bytes bytes) {
    return OfEach([](__m256i a) { return _mm256_xor_si256(a, Bytes256(0x80)); }, bytes);
  }
  static Bytes And(Bytes bytes, int mask) {
    return OfEach([&](__m256i a) { return _mm256_and_si256(a, Bytes256(mask)); }, bytes);
  }
  // The bits kMask of each byte, shifted up by kShift (down if it is negative).
  template <int kShift, int kMask>
  static Bytes Bits(const PackedQuads& quads) {
    const auto moved = [](__m256i a) {
      return kShift > 0 ? _mm256_slli_epi16(a, kShift > 0 ? kShift : 0)
                        : _mm256_srli_epi16(a, kShift < 0 ? -kShift : 0);
    };
    return And(OfEach(moved, LoadBytes(quads)), kMask);
  }
  template <int kShift, int kMask>
  static Bytes OrBits(Bytes bytes, const PackedQuads& quads) {
    const Bytes bits = Bits<kShift, kMask>(quads);
    return {_mm256_or_si256(bytes.low, bits.low), _mm256_or_si256(bytes.high, bits.high)};
  }
  static Bytes LookUp(const uint8_t (&table)[16], Bytes codes) {
    const __m256i values = _mm256_broadcastsi128_si256(LoadHalf(table));
    return OfEach([&](__m256i a) { return _mm256_shuffle_epi8(values, a); }, codes);
  }

  static Pairs UnsignedPairs(const PackedPair& pairs) {
    return {_mm256_cvtepu8_epi16(LoadHalf(pairs)), _mm256_cvtepu8_epi16(LoadHalf(pairs[8]))};
  }
  static Pairs SignedPairs(const PackedPair& pairs) {
    return {_mm256_cvtepi8_epi16(LoadHalf(pairs)), _mm256_cvtepi8_epi16(LoadHalf(pairs[8]))};
  }
  static Pairs LowHalfPairs(const PackedPair& pairs) { return LowHalves(UnsignedPairs(pairs)); }
  static Pairs HighHalfPairs(const PackedPair& pairs) { return HighHalves(UnsignedPairs(pairs)); }

  // Quad t of the IQ2_XXS points [row][point] of sixteen rows.
  template <int t>
  static Bytes PointQuads(const uint8_t (*points)[4]) {
    return {EightPointQuads<t>(points), EightPointQuads<t>(points + 8)};
  }
  template <int t>
  static __m256i EightPointQuads(const uint8_t (*points)[4]) {
    const auto four = [&](int a, int b) {
      return _mm256_inserti128_si256(_mm256_castsi128_si256(TwoPoints<t / 2>(points + a)),
                                     TwoPoints<t / 2>(points + b), 1);
    };
    const __m256 outer = _mm256_castsi256_ps(four(0, 4));
    const __m256 inner = _mm256_castsi256_ps(four(2, 6));
    return _mm256_castps_si256(_mm256_shuffle_ps(outer, inner, t % 2 == 0 ? 0x88 : 0xdd));
  }
  // Point i of two rows.
  template <int i>
  static __m128i TwoPoints(const uint8_t (*points)[4]) {
    const auto point = [](uint8_t index) {
      return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kIq2Tables.points[index]));
    };
    return _mm_unpacklo_epi64(point(points[0][i]), point(points[1][i]));
  }
  // Words of signs (packed.h), with the implied signs in place of the scale.
  static Ints EvenSigns(Ints signs_and_scale) {
    return OfEach(
        [](__m256i lanes) {
          const __m256i scale = _mm256_set1_epi32(static_cast<int>(0xf0000000));
          const __m256i signs = _mm256_andnot_si256(scale, lanes);
          __m256i odd = _mm256_xor_si256(signs, _mm256_slli_epi32(signs, 16));
          odd = _mm256_xor_si256(odd, _mm256_slli_epi32(odd, 8));
          odd = _mm256_xor_si256(odd, _mm256_slli_epi32(odd, 4));
          return _mm256_or_si256(signs, _mm256_and_si256(odd, scale));
        },
        signs_and_scale);
  }
  // All bits of those bytes of quad t that are negative.
  template <int t>
  static Bytes NegativeBytes(Ints signs) {
    return OfEach(
        [](__m256i lanes) {
          const __m256i bit = Bytes256(1 << Iq2SignBit(t));
          return _mm256_cmpeq_epi8(_mm256_and_si256(lanes, bit), bit);
        },
        signs);
  }
  static Bytes Negate(Bytes bytes, Bytes mask) {
    return {_mm256_sub_epi8(_mm256_xor_si256(bytes.low, mask.low), mask.low),
            _mm256_sub_epi8(_mm256_xor_si256(bytes.high, mask.high), mask.high)};
  }
  static Bytes Add64(Bytes bytes) {
    return OfEach([](__m256i a) { return _mm256_add_epi8(a, Bytes256(64)); }, bytes);
  }
  // 2 s + 1 for the upper four bits s of two words, side by side.
  static Pairs OddScalePairs(const uint32_t* first, const uint32_t* second) {
    const auto eight = [](const uint32_t* a, const uint32_t* b) {
      const __m256i low = _mm256_srli_epi32(Load(a), 28);
      const __m256i high = _mm256_slli_epi32(_mm256_srli_epi32(Load(b), 28), 16);
      const __m256i stored = _mm256_or_si256(low, high);
      return _mm256_add_epi32(_mm256_slli_epi32(stored, 1), _mm256_set1_epi16(1));
    };
    return {eight(first, second), eight(first + 8, second + 8)};
  }

  // Products of int16, summed in pairs.
  static Ints PairProducts(Pairs a, Pairs b) {
    return {_mm256_madd_epi16(a.low, b.low), _mm256_madd_epi16(a.high, b.high)};
  }
  // sum + factors * pair, for the two int16 of a word.
  static Ints AddPairProducts(Ints sum, Pairs factors, const uint8_t* word) {
    return AddInts(sum, PairProducts(factors, BroadcastInt(word)));
  }
  // a - kFactor * b; kFactor is a power of two.
  template <int kFactor>
  static Ints SubtractTimes(Ints a, Ints b) {
    constexpr int kShift = __builtin_ctz(kFactor);
    return {_mm256_sub_epi32(a.low, _mm256_slli_epi32(b.low, kShift)),
            _mm256_sub_epi32(a.high, _mm256_slli_epi32(b.high, kShift))};
  }

  static void Store(Floats values, float* out, size_t count) {
    if (count == 16) return StoreFloats(values, out);
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const int low = static_cast<int>(count);
    _mm256_maskstore_ps(out, _mm256_cmpgt_epi32(_mm256_set1_epi32(low), lanes), values.low);
    if (count <= 8) return;
    _mm256_maskstore_ps(out + 8, _mm256_cmpgt_epi32(_mm256_set1_epi32(low - 8), lanes),
                        values.high);
  }

  // Sixteen activations in a row; quad t of them in every lane.
  struct Activations {
    template <int t>
    __m256i Quad() const {
      return BroadcastWord(at + 4 * t);
    }
    const uint8_t* at;
  };
  static Activations LoadActivations(const uint8_t* at) { return {at}; }

  // Operations for preparing activations.
  static Ints MaxMagnitudes(Ints largest, Ints float_bits) {
    const __m256i mask = _mm256_set1_epi32(0x7fffffff);
    return {_mm256_max_epu32(largest.low, _mm256_and_si256(float_bits.low, mask)),
            _mm256_max_epu32(largest.high, _mm256_and_si256(float_bits.high, mask))};
  }
  static uint32_t Largest(Ints values) {
    const __m256i eight = _mm256_max_epu32(values.low, values.high);
    __m128i four = _mm_max_epu32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    four = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0x4e));
    four = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0xb1));
    return static_cast<uint32_t>(_mm_cvtsi128_si32(four));
  }
  static void Quantise(const float* values, float inverse, int8_t* quants) {
    const __m256 factor = _mm256_set1_ps(inverse);
    const __m256i low = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(values), factor));
    const __m256i high = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(values + 8), factor));
    const __m128i words_low =
        _mm_packs_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
    const __m128i words_high =
        _mm_packs_epi32(_mm256_castsi256_si128(high), _mm256_extracti128_si256(high, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(quants), _mm_packs_epi16(words_low, words_high));
  }
  // The sums of each sixteen of 64 bytes.
  static void SumsOf16(const int8_t* quants, int32_t* sums) {
    for (int i = 0; i < 2; ++i) {
      const __m256i twos = _mm256_maddubs_epi16(_mm256_set1_epi8(1), Load(quants + 32 * i));
      __m256i sum = _mm256_madd_epi16(twos, _mm256_set1_epi16(1));
      sum = _mm256_add_epi32(sum, _mm256_shuffle_epi32(sum, 0xb1));
      sum = _mm256_add_epi32(sum, _mm256_shuffle_epi32(sum, 0x4e));
      sums[2 * i] = _mm256_extract_epi32(sum, 0);
      sums[2 * i + 1] = _mm256_extract_epi32(sum, 4);
    }
  }
  // Rounded to the nearest, ties to even; NaN becomes quiet.
  static void StoreBfloat16(Ints float_bits, uint8_t* out) {
    const auto rounded = [](__m256i bits) {
      const __m256i last_bit = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
      const __m256i up = _mm256_add_epi32(last_bit, _mm256_set1_epi32(0x7fff));
      const __m256i magnitudes = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff));
      const __m256i nan = _mm256_cmpgt_epi32(magnitudes, _mm256_set1_epi32(0x7f800000));
      const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
      return _mm256_srli_epi32(_mm256_blendv_epi8(_mm256_add_epi32(bits, up), quiet, nan), 16);
    };
    const __m256i mixed = _mm256_packus_epi32(rounded(float_bits.low), rounded(float_bits.high));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm256_permute4x64_epi64(mixed, 0xd8));
  }
};

}  // namespace
}  // namespace aster::kernels
