// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <immintrin.h>

#include "kernels/limits.h"

namespace aster::kernels {
namespace {

// Only additions depend on each other, a cycle each.
constexpr int kSums = 6;

uint64_t Total(__m256i sum) {
  alignas(sizeof(__m256i)) uint32_t lanes[8];
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), sum);
  uint64_t total = 0;
  for (const uint32_t lane : lanes) total += lane;
  return total;
}

// Bytes times bytes in pairs to 16 bits, those times one in pairs to 32 bits. Each sum is a
// variable: compilers also keep arrays of registers in memory, and stores would slow the loop down.
uint64_t Dot(uint64_t rounds) {
  __m256i s0 = _mm256_setzero_si256(), s1 = _mm256_setzero_si256(), s2 = _mm256_setzero_si256(),
          s3 = _mm256_setzero_si256(), s4 = _mm256_setzero_si256(), s5 = _mm256_setzero_si256();
  const __m256i bytes = _mm256_set1_epi8(1);
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i products;
  for (uint64_t round = 0; round < rounds; ++round) {
    __asm__ volatile(
        "vpmaddubsw %7, %7, %6\n\t"
        "vpmaddwd %8, %6, %6\n\t"
        "vpaddd %6, %0, %0\n\t"
        "vpmaddubsw %7, %7, %6\n\t"
        "vpmaddwd %8, %6, %6\n\t"
        "vpaddd %6, %1, %1\n\t"
        "vpmaddubsw %7, %7, %6\n\t"
        "vpmaddwd %8, %6, %6\n\t"
        "vpaddd %6, %2, %2\n\t"
        "vpmaddubsw %7, %7, %6\n\t"
        "vpmaddwd %8, %6, %6\n\t"
        "vpaddd %6, %3, %3\n\t"
        "vpmaddubsw %7, %7, %6\n\t"
        "vpmaddwd %8, %6, %6\n\t"
        "vpaddd %6, %4, %4\n\t"
        "vpmaddubsw %7, %7, %6\n\t"
        "vpmaddwd %8, %6, %6\n\t"
        "vpaddd %6, %5, %5\n\t"
        : "+x"(s0), "+x"(s1), "+x"(s2), "+x"(s3), "+x"(s4), "+x"(s5), "=&x"(products)
        : "x"(bytes), "x"(ones));
  }
  return Total(s0) + Total(s1) + Total(s2) + Total(s3) + Total(s4) + Total(s5);
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
