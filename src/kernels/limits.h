// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Loops for the roofline of a machine: integer dot products on registers only, and reads of memory.
// Kernels' rates are compared with them. Must not know kernels, threads or clocks. Plain data:
// sources of one instruction set include this.
#pragma once

#include <cstddef>
#include <cstdint>

namespace aster::kernels {

struct LimitLoops {
  // The instruction's name.
  const char* dot_name;
  // Multiply-adds of one round.
  uint64_t dots_per_round;
  // Runs `rounds` rounds with every factor one, so that the result, the sum of all products, is the
  // number of multiply-adds that were really done (below 2^31 in each of their lanes).
  uint64_t (*dot)(uint64_t rounds);

  // Reads `count` bytes in order, a multiple of kReadMultiple at an address that is a multiple of
  // 64. Returns the sum of their 64-bit words, so that no read can be optimised away.
  uint64_t (*read)(const uint8_t* bytes, size_t count);
};

// A whole number of every loop's steps.
inline constexpr size_t kReadMultiple = 4096;

extern const LimitLoops kLimitsRef;
extern const LimitLoops kLimitsAvx2;
extern const LimitLoops kLimitsAvxVnni;
extern const LimitLoops kLimitsAvx512;
extern const LimitLoops kLimitsAmx;
extern const LimitLoops kLimitsNeon;
extern const LimitLoops kLimitsI8mm;

}  // namespace aster::kernels
