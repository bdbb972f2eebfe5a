// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <immintrin.h>

#include "kernels/limits.h"

namespace aster::kernels {
namespace {

// Two a cycle, five cycles each, and some to spare.
constexpr int kSums = 12;

uint64_t Total(__m512i sum) {
  alignas(sizeof(__m512i)) uint32_t lanes[16];
  _mm512_store_si512(lanes, sum);
  uint64_t total = 0;
  for (const uint32_t lane : lanes) total += lane;
  return total;
}

// Each sum is a variable: compilers also keep arrays of registers in memory, which costs time.
uint64_t Dot(uint64_t rounds) {
  __m512i s0 = _mm512_setzero_si512(), s1 = _mm512_setzero_si512(), s2 = _mm512_setzero_si512(),
          s3 = _mm512_setzero_si512(), s4 = _mm512_setzero_si512(), s5 = _mm512_setzero_si512(),
          s6 = _mm512_setzero_si512(), s7 = _mm512_setzero_si512(), s8 = _mm512_setzero_si512(),
          s9 = _mm512_setzero_si512(), s10 = _mm512_setzero_si512(), s11 = _mm512_setzero_si512();
  const __m512i ones = _mm512_set1_epi8(1);
  for (uint64_t round = 0; round < rounds; ++round) {
    __asm__ volatile(
        "vpdpbusd %12, %12, %0\n\t"
        "vpdpbusd %12, %12, %1\n\t"
        "vpdpbusd %12, %12, %2\n\t"
        "vpdpbusd %12, %12, %3\n\t"
        "vpdpbusd %12, %12, %4\n\t"
        "vpdpbusd %12, %12, %5\n\t"
        "vpdpbusd %12, %12, %6\n\t"
        "vpdpbusd %12, %12, %7\n\t"
        "vpdpbusd %12, %12, %8\n\t"
        "vpdpbusd %12, %12, %9\n\t"
        "vpdpbusd %12, %12, %10\n\t"
        "vpdpbusd %12, %12, %11\n\t"
        : "+v"(s0), "+v"(s1), "+v"(s2), "+v"(s3), "+v"(s4), "+v"(s5), "+v"(s6), "+v"(s7), "+v"(s8),
          "+v"(s9), "+v"(s10), "+v"(s11)
        : "v"(ones));
  }
  return Total(s0) + Total(s1) + Total(s2) + Total(s3) + Total(s4) + Total(s5) + Total(s6) +
         Total(s7) + Total(s8) + Total(s9) + Total(s10) + Total(s11);
}

// The hardware prefetches a plain run of loads best, but software prefetching helps some machines.
uint64_t Read(const uint8_t* bytes, size_t count) {
  constexpr int kLoads = 8;
  constexpr size_t kAhead = 4096;
  __m512i sums[kLoads];
  for (__m512i& sum : sums) sum = _mm512_setzero_si512();
  for (size_t i = 0; i < count; i += kLoads * sizeof(__m512i)) {
#pragma GCC unroll 8
    for (int k = 0; k < kLoads; ++k) {
      const uint8_t* word = bytes + i + k * sizeof(__m512i);
      _mm_prefetch(reinterpret_cast<const char*>(word + kAhead), _MM_HINT_T0);
      sums[k] = _mm512_add_epi64(sums[k], _mm512_load_si512(word));
    }
  }
  uint64_t total = 0;
  for (const __m512i& sum : sums) {
    alignas(64) uint64_t lanes[8];
    _mm512_store_si512(lanes, sum);
    for (const uint64_t lane : lanes) total += lane;
  }
  return total;
}

}  // namespace

const LimitLoops kLimitsAvx512 = {"vpdpbusd zmm", kSums * 64, Dot, Read};

}  // namespace aster::kernels
