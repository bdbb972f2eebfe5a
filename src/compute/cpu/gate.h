// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// gate = swiglu, swiglu_oai or geglu (kernels/ops.h) of gate and up, on all threads. Must not know
// experts.
#pragma once

#include <algorithm>
#include <cstddef>

#include "compute/commands.h"
#include "compute/context.h"

namespace aster::compute {

inline auto JoinOf(const kernels::OpsTable& ops, GateKind kind) {
  if (kind == GateKind::kGeglu) return ops.geglu;
  return kind == GateKind::kSwigluOai ? ops.swiglu_oai : ops.swiglu;
}

inline void CpuGate(Context& context, GateKind kind, float* gate, const float* up, size_t count,
                    float limit) {
  const auto join = JoinOf(context.ops(), kind);
  // Divided by elements rather than rows, as even a single row is worth dividing among threads.
  constexpr size_t kPiece = 256;
  context.pool.ParallelFor((count + kPiece - 1) / kPiece, [&](size_t begin, size_t end, size_t) {
    const size_t first = begin * kPiece;
    const size_t last = std::min(end * kPiece, count);
    join(gate + first, up + first, last - first, limit, gate + first);
  });
}

}  // namespace aster::compute
