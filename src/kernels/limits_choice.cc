// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/limits_choice.h"

#include <vector>

#include "kernels/isa_choice.h"

namespace aster::kernels {
namespace {

const LimitLoops* LoopsOf(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kAvx2:
      return &kLimitsAvx2;
    case Isa::kAvxVnni:
      return &kLimitsAvxVnni;
    case Isa::kAvx512:
      return &kLimitsAvx512;
    case Isa::kAmx:
      return &kLimitsAmx;
#elif defined(__aarch64__)
    case Isa::kNeon:
      return &kLimitsNeon;
    case Isa::kI8mm:
      return &kLimitsI8mm;
#endif
    case Isa::kRef:
      return &kLimitsRef;
    default:
      return nullptr;
  }
}

std::vector<const LimitLoops*> Detect() {
  std::vector<const LimitLoops*> loops;
  for (const Isa isa : AvailableIsas()) {
    if (const LimitLoops* own = LoopsOf(isa); own != nullptr) loops.push_back(own);
  }
  return loops;
}

}  // namespace

std::span<const LimitLoops* const> AvailableLimits() {
  static const std::vector<const LimitLoops*> loops = Detect();
  return loops;
}

}  // namespace aster::kernels
