// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "compute/fixed_sums.h"

#include "base/check.h"

namespace aster::compute {

void AddFixedSums(Context& context, std::span<int64_t> sums, std::span<const uint32_t> more_of,
                  std::span<const int64_t> more, size_t columns) {
  CHECK(more.size() == more_of.size() * columns);
  context.pool.ParallelFor(more_of.size(), [&](size_t begin, size_t end, size_t) {
    for (size_t i = begin; i < end; ++i) {
      int64_t* const row = sums.subspan(more_of[i] * columns, columns).data();
      context.ops().fixed_add(row, more.data() + i * columns, columns);
    }
  });
}

void FinishFixedSums(Context& context, std::span<const int64_t> sums, size_t columns, float* out,
                     size_t stride) {
  context.pool.ParallelFor(sums.size() / columns, [&](size_t begin, size_t end, size_t) {
    for (size_t row = begin; row < end; ++row) {
      context.ops().fixed_finish(sums.data() + row * columns, columns, out + row * stride);
    }
  });
}

}  // namespace aster::compute
