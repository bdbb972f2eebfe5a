// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Sums of experts in fixed point on their way between machines: added and finished by the
// processor, whatever back end has made them. Must not know machines.
#pragma once

#include <cstdint>
#include <span>

#include "compute/context.h"

namespace aster::compute {

// Row more_of[i] of `sums` gets row i of `more` added: rows of `columns` numbers.
void AddFixedSums(Context& context, std::span<int64_t> sums, std::span<const uint32_t> more_of,
                  std::span<const int64_t> more, size_t columns);

// Complete sums as numbers: rows that begin `stride` apart.
void FinishFixedSums(Context& context, std::span<const int64_t> sums, size_t columns, float* out,
                     size_t stride);

}  // namespace aster::compute
