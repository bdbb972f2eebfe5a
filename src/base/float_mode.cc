// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/float_mode.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace aster {
namespace {

// Out of line on purpose: a compiler may move arithmetic across a register write that it can see,
// but not across a call that it cannot see into.
#if defined(__x86_64__)

// MXCSR: all exceptions masked (bits 7-12), round to nearest (13-14 zero), denormal inputs are zero
// (6) and denormal results too (15).
constexpr uint32_t kExactMode = 0x1F80;
constexpr uint32_t kComputeMode = kExactMode | (1U << 6) | (1U << 15);
constexpr uint32_t kFlags = 0x3F;  // the exceptions so far, not part of the mode

uint64_t ReadMode() { return _mm_getcsr() & ~kFlags; }
void WriteMode(uint64_t mode) { _mm_setcsr(static_cast<uint32_t>(mode)); }

#elif defined(__aarch64__)

// FPCR: flush denormals of single and double precision (bit 24); round to nearest, no traps, NaNs
// pass through: all zero. Half precision (bit 19) is only converted, never computed in.
constexpr uint64_t kExactMode = 0;
constexpr uint64_t kComputeMode = uint64_t{1} << 24;

uint64_t ReadMode() {
  uint64_t mode;
  asm volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
void WriteMode(uint64_t mode) { asm volatile("msr fpcr, %0" ::"r"(mode) : "memory"); }

#else
#error "No known way to flush denormals on this processor; add it here and to the tests."
#endif

}  // namespace

ComputeFloatMode::ComputeFloatMode() : earlier_(ReadMode()) { WriteMode(kComputeMode); }
ComputeFloatMode::~ComputeFloatMode() { WriteMode(earlier_); }

ExactFloatMode::ExactFloatMode() : earlier_(ReadMode()) { WriteMode(kExactMode); }
ExactFloatMode::~ExactFloatMode() { WriteMode(earlier_); }

bool InComputeFloatMode() { return ReadMode() == kComputeMode; }

}  // namespace aster
