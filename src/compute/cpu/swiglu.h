// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// gate = swiglu or swiglu_oai (kernels/ops.h) of gate and up, on all threads. Must not know whose.
#pragma once

#include <algorithm>
#include <cstddef>

#include "compute/commands.h"
#include "compute/context.h"

namespace aster::compute {

inline void CpuSwiglu(Context& context, GateKind kind, float* gate, const float* up, size_t count,
                      float limit) {
  const kernels::OpsTable& ops = context.ops();
  const auto join = kind == GateKind::kSwigluOai ? ops.swiglu_oai : ops.swiglu;
  // Cut by elements, not by rows: a single row is worth sharing out too.
  constexpr size_t kPiece = 256;
  context.pool.ParallelFor((count + kPiece - 1) / kPiece, [&](size_t begin, size_t end, size_t) {
    const size_t first = begin * kPiece;
    const size_t last = std::min(end * kPiece, count);
    join(gate + first, up + first, last - first, limit, gate + first);
  });
}

}  // namespace aster::compute
