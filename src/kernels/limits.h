// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Loops that do nothing but what a machine does fastest: integer dot products that never leave the
// registers, and reads of memory. What kernels reach is held against them. Must not know kernels,
// threads or clocks. Plain data: sources of one instruction set include this.
#pragma once

#include <cstddef>
#include <cstdint>

namespace aster::kernels {

struct LimitLoops {
  // The instruction, as its maker calls it.
  const char* dot_name;
  // Multiply-adds of one round.
  uint64_t dots_per_round;
  // That many rounds with every factor one, so that what comes back, the sum of all products, is
  // the number of multiply-adds that were really done (below 2^31 in each of their lanes).
  uint64_t (*dot)(uint64_t rounds);

  // Reads `count` bytes from the first to the last, a multiple of kReadMultiple at an address that
  // is a multiple of 64: the sum of their 64-bit words, so that no read can be left out.
  uint64_t (*read)(const uint8_t* bytes, size_t count);
};

// Large pages' worth of nothing special: a whole number of every loop's steps.
inline constexpr size_t kReadMultiple = 4096;

extern const LimitLoops kLimitsRef;
extern const LimitLoops kLimitsAvx2;
extern const LimitLoops kLimitsAvxVnni;
extern const LimitLoops kLimitsAvx512;
extern const LimitLoops kLimitsAmx;
extern const LimitLoops kLimitsNeon;
extern const LimitLoops kLimitsI8mm;

}  // namespace aster::kernels
