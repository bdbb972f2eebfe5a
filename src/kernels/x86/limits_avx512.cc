// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <immintrin.h>

#include <utility>

#include "kernels/limits.h"

namespace aster::kernels {
namespace {

// Two a cycle, five cycles each, and more than twice that.
constexpr int kSums = 24;

// What the compiler takes for unknown: equal sums would be added up once for all.
void Hide(__m512i& value) { __asm__ volatile("" : "+v"(value)); }

// Every sum has a name of its own for the compiler, which then keeps it in a register.
template <size_t... I>
uint64_t DotWith(uint64_t rounds, std::index_sequence<I...>) {
  __m512i sums[] = {(static_cast<void>(I), _mm512_setzero_si512())...};
  __m512i bytes = _mm512_set1_epi8(1);
  (Hide(sums[I]), ...);
  for (uint64_t round = 0; round < rounds; ++round) {
    Hide(bytes);
    ((sums[I] = _mm512_dpbusd_epi32(sums[I], bytes, bytes)), ...);
  }
  uint64_t total = 0;
  for (const __m512i& sum : sums) {
    alignas(64) uint32_t lanes[16];
    _mm512_store_si512(lanes, sum);
    for (const uint32_t lane : lanes) total += lane;
  }
  return total;
}

uint64_t Dot(uint64_t rounds) { return DotWith(rounds, std::make_index_sequence<kSums>()); }

// A plain run of loads is what the hardware's own prefetching knows best, but some machines gain
// from being told what comes next.
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
