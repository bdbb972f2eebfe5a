// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <arm_neon.h>

#include "kernels/limits.h"

namespace aster::kernels {
namespace {

// Four a cycle, four cycles each, and some to spare.
constexpr int kSums = 24;

uint64_t Dot(uint64_t rounds) {
  int32x4_t sums[kSums];
  for (int32x4_t& sum : sums) sum = vdupq_n_s32(0);
  int8x16_t bytes = vdupq_n_s8(1);
  for (uint64_t round = 0; round < rounds; ++round) {
    __asm__ volatile("" : "+w"(bytes));
#pragma GCC unroll 24
    for (int i = 0; i < kSums; ++i) sums[i] = vdotq_s32(sums[i], bytes, bytes);
  }
  uint64_t total = 0;
  for (const int32x4_t& sum : sums) total += vaddlvq_u32(vreinterpretq_u32_s32(sum));
  return total;
}

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
