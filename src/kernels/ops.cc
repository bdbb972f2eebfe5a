// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/ops.h"

#include "base/check.h"

namespace aster::kernels {

const OpsTable& Ops(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kAvx2:
    case Isa::kAvxVnni:
      return kOpsAvx2;
    case Isa::kAvx512:
    case Isa::kAmx:
      return kOpsAvx512;
#elif defined(__aarch64__)
    case Isa::kNeon:
    case Isa::kI8mm:
      return kOpsNeon;
#endif
    default:
      CHECK_NOTE(isa == Isa::kRef, "this program has no kernels for that instruction set");
      return kOpsRef;
  }
}

}  // namespace aster::kernels
