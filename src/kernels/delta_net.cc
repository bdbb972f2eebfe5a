// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/delta_net.h"

#include "base/check.h"

namespace aster::kernels {

const DeltaTable& Delta(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kAvx2:
    case Isa::kAvxVnni:
      return kDeltaAvx2;
    case Isa::kAvx512:
    case Isa::kAmx:
      return kDeltaAvx512;
#elif defined(__aarch64__)
    case Isa::kNeon:
    case Isa::kI8mm:
      return kDeltaNeon;
#endif
    default:
      CHECK_NOTE(isa == Isa::kRef, "this program has no kernels for that instruction set");
      return kDeltaRef;
  }
}

}  // namespace aster::kernels
