// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <immintrin.h>

#include "kernels/limits.h"

namespace aster::kernels {
namespace {

// Two a cycle, five cycles each, and some to spare.
constexpr int kSums = 12;

uint64_t Total(__m256i sum) {
  alignas(sizeof(__m256i)) uint32_t lanes[8];
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), sum);
  uint64_t total = 0;
  for (const uint32_t lane : lanes) total += lane;
  return total;
}

// Each sum is a variable: compilers also keep arrays of registers in memory, which costs time.
uint64_t Dot(uint64_t rounds) {
  __m256i s0 = _mm256_setzero_si256(), s1 = _mm256_setzero_si256(), s2 = _mm256_setzero_si256(),
          s3 = _mm256_setzero_si256(), s4 = _mm256_setzero_si256(), s5 = _mm256_setzero_si256(),
          s6 = _mm256_setzero_si256(), s7 = _mm256_setzero_si256(), s8 = _mm256_setzero_si256(),
          s9 = _mm256_setzero_si256(), s10 = _mm256_setzero_si256(), s11 = _mm256_setzero_si256();
  const __m256i ones = _mm256_set1_epi8(1);
  for (uint64_t round = 0; round < rounds; ++round) {
    __asm__ volatile(
        "%{vex%} vpdpbusd %12, %12, %0\n\t"
        "%{vex%} vpdpbusd %12, %12, %1\n\t"
        "%{vex%} vpdpbusd %12, %12, %2\n\t"
        "%{vex%} vpdpbusd %12, %12, %3\n\t"
        "%{vex%} vpdpbusd %12, %12, %4\n\t"
        "%{vex%} vpdpbusd %12, %12, %5\n\t"
        "%{vex%} vpdpbusd %12, %12, %6\n\t"
        "%{vex%} vpdpbusd %12, %12, %7\n\t"
        "%{vex%} vpdpbusd %12, %12, %8\n\t"
        "%{vex%} vpdpbusd %12, %12, %9\n\t"
        "%{vex%} vpdpbusd %12, %12, %10\n\t"
        "%{vex%} vpdpbusd %12, %12, %11\n\t"
        : "+x"(s0), "+x"(s1), "+x"(s2), "+x"(s3), "+x"(s4), "+x"(s5), "+x"(s6), "+x"(s7), "+x"(s8),
          "+x"(s9), "+x"(s10), "+x"(s11)
        : "x"(ones));
  }
  return Total(s0) + Total(s1) + Total(s2) + Total(s3) + Total(s4) + Total(s5) + Total(s6) +
         Total(s7) + Total(s8) + Total(s9) + Total(s10) + Total(s11);
}

// Loads as many registers at once as the loop of limits_avx2.cc, and prefetches two lines further.
uint64_t Read(const uint8_t* bytes, size_t count) {
  constexpr size_t kStep = 4 * sizeof(__m256i);
  constexpr size_t kAhead = 2048;
  __m256i sums[4];
  for (__m256i& sum : sums) sum = _mm256_setzero_si256();
  for (size_t i = 0; i < count; i += kStep) {
    const auto* words = reinterpret_cast<const __m256i*>(bytes + i);
    _mm_prefetch(reinterpret_cast<const char*>(bytes + i + kAhead), _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(bytes + i + kAhead + 64), _MM_HINT_T0);
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) sums[k] = _mm256_add_epi64(sums[k], _mm256_load_si256(words + k));
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

const LimitLoops kLimitsAvxVnni = {"vpdpbusd ymm", kSums * 32, Dot, Read};

}  // namespace aster::kernels
