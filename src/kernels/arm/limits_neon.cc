// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <arm_neon.h>

#include "kernels/limits.h"

namespace aster::kernels {
namespace {

// As many as an asm statement can name; four cycles each, up to four a cycle.
constexpr int kSums = 14;

uint64_t Total(int32x4_t sum) { return vaddlvq_u32(vreinterpretq_u32_s32(sum)); }

// Each sum is a variable: compilers also keep arrays of registers in memory, which costs time.
uint64_t Dot(uint64_t rounds) {
  int32x4_t s0 = vdupq_n_s32(0), s1 = vdupq_n_s32(0), s2 = vdupq_n_s32(0), s3 = vdupq_n_s32(0),
            s4 = vdupq_n_s32(0), s5 = vdupq_n_s32(0), s6 = vdupq_n_s32(0), s7 = vdupq_n_s32(0),
            s8 = vdupq_n_s32(0), s9 = vdupq_n_s32(0), s10 = vdupq_n_s32(0), s11 = vdupq_n_s32(0),
            s12 = vdupq_n_s32(0), s13 = vdupq_n_s32(0);
  const int8x16_t ones = vdupq_n_s8(1);
  for (uint64_t round = 0; round < rounds; ++round) {
    __asm__ volatile(
        "sdot %0.4s, %14.16b, %14.16b\n\t"
        "sdot %1.4s, %14.16b, %14.16b\n\t"
        "sdot %2.4s, %14.16b, %14.16b\n\t"
        "sdot %3.4s, %14.16b, %14.16b\n\t"
        "sdot %4.4s, %14.16b, %14.16b\n\t"
        "sdot %5.4s, %14.16b, %14.16b\n\t"
        "sdot %6.4s, %14.16b, %14.16b\n\t"
        "sdot %7.4s, %14.16b, %14.16b\n\t"
        "sdot %8.4s, %14.16b, %14.16b\n\t"
        "sdot %9.4s, %14.16b, %14.16b\n\t"
        "sdot %10.4s, %14.16b, %14.16b\n\t"
        "sdot %11.4s, %14.16b, %14.16b\n\t"
        "sdot %12.4s, %14.16b, %14.16b\n\t"
        "sdot %13.4s, %14.16b, %14.16b\n\t"
        : "+w"(s0), "+w"(s1), "+w"(s2), "+w"(s3), "+w"(s4), "+w"(s5), "+w"(s6), "+w"(s7), "+w"(s8),
          "+w"(s9), "+w"(s10), "+w"(s11), "+w"(s12), "+w"(s13)
        : "w"(ones));
  }
  return Total(s0) + Total(s1) + Total(s2) + Total(s3) + Total(s4) + Total(s5) + Total(s6) +
         Total(s7) + Total(s8) + Total(s9) + Total(s10) + Total(s11) + Total(s12) + Total(s13);
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
