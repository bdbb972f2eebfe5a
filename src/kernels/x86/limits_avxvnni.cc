// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <immintrin.h>

#include <utility>

#include "kernels/limits.h"

namespace aster::kernels {
namespace {

// Two a cycle, five cycles each, leave two registers for the factors.
constexpr int kSums = 12;

// What the compiler takes for unknown: equal sums would be added up once for all.
void Hide(__m256i& value) { __asm__ volatile("" : "+x"(value)); }

// Every sum has a name of its own for the compiler, which then keeps it in a register.
template <size_t... I>
uint64_t DotWith(uint64_t rounds, std::index_sequence<I...>) {
  __m256i sums[] = {(static_cast<void>(I), _mm256_setzero_si256())...};
  __m256i bytes = _mm256_set1_epi8(1);
  (Hide(sums[I]), ...);
  for (uint64_t round = 0; round < rounds; ++round) {
    Hide(bytes);
    ((sums[I] = _mm256_dpbusd_avx_epi32(sums[I], bytes, bytes)), ...);
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

// Streams as many registers at once as the loop of limits_avx2.cc, two lines further ahead.
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
