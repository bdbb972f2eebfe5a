// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <immintrin.h>

#include "kernels/limits.h"

namespace aster::kernels {
namespace {

// Enough sums to hide the latency of an addition behind twelve others.
constexpr int kSums = 12;

// Bytes times bytes in pairs to 16 bits, those times one in pairs to 32 bits.
uint64_t Dot(uint64_t rounds) {
  __m256i sums[kSums];
  for (__m256i& sum : sums) sum = _mm256_setzero_si256();
  __m256i bytes = _mm256_set1_epi8(1);
  const __m256i ones = _mm256_set1_epi16(1);
  for (uint64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kSums; ++i) {
      __asm__ volatile("" : "+x"(bytes));  // a product is not to be made once for all
      const __m256i pairs = _mm256_maddubs_epi16(bytes, bytes);
      sums[i] = _mm256_add_epi32(sums[i], _mm256_madd_epi16(pairs, ones));
    }
  }
  uint64_t total = 0;
  for (const __m256i& sum : sums) {
    alignas(32) uint32_t lanes[8];
    _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), sum);
    for (const uint32_t lane : lanes) total += lane;
  }
  return total;
}

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
