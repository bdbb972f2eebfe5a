// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <arm_neon.h>

#include <utility>

#include "kernels/limits.h"

namespace aster::kernels {
namespace {

// Four a cycle, four cycles each, and some to spare.
constexpr int kSums = 24;

// What the compiler takes for unknown: equal sums would be added up once for all.
void Hide(int32x4_t& value) { __asm__ volatile("" : "+w"(value)); }

// Every sum has a name of its own for the compiler, which then keeps it in a register.
template <size_t... I>
uint64_t DotWith(uint64_t rounds, std::index_sequence<I...>) {
  int32x4_t sums[] = {(static_cast<void>(I), vdupq_n_s32(0))...};
  int8x16_t bytes = vdupq_n_s8(1);
  (Hide(sums[I]), ...);
  for (uint64_t round = 0; round < rounds; ++round) {
    __asm__ volatile("" : "+w"(bytes));
    ((sums[I] = vdotq_s32(sums[I], bytes, bytes)), ...);
  }
  uint64_t total = 0;
  for (const int32x4_t& sum : sums) total += vaddlvq_u32(vreinterpretq_u32_s32(sum));
  return total;
}

uint64_t Dot(uint64_t rounds) { return DotWith(rounds, std::make_index_sequence<kSums>()); }

uint64_t Read(const uint8_t* bytes, size_t count) {
  constexpr int kLoads = 8;
  uint64x2_t sums[kLoads];
  for (uint64x2_t& sum : sums) sum = vdupq_n_u64(0);
  for (size_t i = 0; i < count; i += kLoads * sizeof(uint64x2_t)) {
    const auto* words = reinterpret_cast<const uint64_t*>(bytes + i);
#pragma GCC unroll 8
    for (int k = 0; k < kLoads; ++k) sums[k] = vaddq_u64(sums[k], vld1q_u64(words + 2 * k));
  }
  uint64_t total = 0;
  for (const uint64x2_t& sum : sums) total += vgetq_lane_u64(sum, 0) + vgetq_lane_u64(sum, 1);
  return total;
}

}  // namespace

const LimitLoops kLimitsNeon = {"sdot", kSums * 16, Dot, Read};

}  // namespace aster::kernels
