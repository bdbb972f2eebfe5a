// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <immintrin.h>

#include <utility>

#include "kernels/limits.h"

namespace aster::kernels {
namespace {

// Enough sums to hide the latency of an addition behind twelve others.
constexpr int kSums = 12;

// What the compiler takes for unknown: equal sums would be added up once for all.
void Hide(__m256i& value) { __asm__ volatile("" : "+x"(value)); }

// Bytes times bytes in pairs to 16 bits, those times one in pairs to 32 bits.
__m256i AddProducts(__m256i sum, __m256i& bytes, __m256i ones) {
  Hide(bytes);  // a product is not to be made once for all
  return _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(bytes, bytes), ones));
}

// Every sum has a name of its own for the compiler, which then keeps it in a register.
template <size_t... I>
uint64_t DotWith(uint64_t rounds, std::index_sequence<I...>) {
  __m256i sums[] = {(static_cast<void>(I), _mm256_setzero_si256())...};
  __m256i bytes = _mm256_set1_epi8(1);
  const __m256i ones = _mm256_set1_epi16(1);
  (Hide(sums[I]), ...);
  for (uint64_t round = 0; round < rounds; ++round) {
    ((sums[I] = AddProducts(sums[I], bytes, ones)), ...);
  }
  uint64_t total = 0;
  for (const __m256i& sum : sums) {
    alignas(32) uint32_t lanes[8];
    _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), sum);
    for (const uint32_t lane : lanes) total += lane;
  }
  return total;
}

uint64_t Dot(uint64_t rounds) { return DotWith(rounds, std::make_index_sequence<kSums>()); }

uint64_t Read(const uint8_t* bytes, size_t count) {
  constexpr size_t kStep = 8 * sizeof(__m256i);
  __m256i sums[8];
  for (__m256i& sum : sums) sum = _mm256_setzero_si256();
  for (size_t i = 0; i < count; i += kStep) {
    const auto* words = reinterpret_cast<const __m256i*>(bytes + i);
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) sums[k] = _mm256_add_epi64(sums[k], _mm256_load_si256(words + k));
  }
  uint64_t total = 0;
  for (const __m256i& sum : sums) {
    alignas(32) uint64_t lanes[4];
    _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), sum);
    for (const uint64_t lane : lanes) total += lane;
  }
  return total;
}

}  // namespace

const LimitLoops kLimitsAvx2 = {"vpmaddubsw", kSums * 32, Dot, Read};

}  // namespace aster::kernels
