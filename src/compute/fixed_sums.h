// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Sums of experts in fixed point, which machines exchange. The processor adds and finishes them for
// every back end. Must not know machines.
#pragma once

#include <cstdint>
#include <span>

#include "compute/context.h"

namespace aster::compute {

// Adds row i of `more` to row more_of[i] of `sums`: rows of `columns` numbers.
void AddFixedSums(Context& context, std::span<int64_t> sums, std::span<const uint32_t> more_of,
                  std::span<const int64_t> more, size_t columns);

// Complete sums as floats: rows that begin `stride` apart.
void FinishFixedSums(Context& context, std::span<const int64_t> sums, size_t columns, float* out,
                     size_t stride);

}  // namespace aster::compute
