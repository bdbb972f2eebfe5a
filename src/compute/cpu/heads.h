// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Biases, norms and RoPE of the heads of a row. Must not know threads.
#pragma once

#include "compute/commands.h"
#include "kernels/ops.h"

namespace aster::compute {

// Finishes heads [begin, end) of row `row`.
void CpuFinishHeads(const kernels::OpsTable& ops, const Heads& heads, size_t row, size_t begin,
                    size_t end);

}  // namespace aster::compute
