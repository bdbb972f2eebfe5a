// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Compares the operations of latent rows that layers share with the reference: blocks of rows,
// values that keys gate, copies between rows with gaps. Must not know which sizes are worth
// checking.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "kernels/latent.h"
#include "vulkan/check/workbench.h"

namespace aster::vulkan {

// Two tokens: one chooses among all rows, and chooses blocks as well; the other chooses among the
// rows of given blocks, some of which do not exist.
struct BlockRankSize {
  kernels::LatentFormat format;
  uint32_t heads;
  uint32_t rows;
  uint32_t top;
  uint32_t block_rows;
  uint32_t top_blocks;  // fewer than there are
};
Status CheckBlockRanks(Workbench& bench, const BlockRankSize& size, uint64_t seed);

Status CheckGateValues(Workbench& bench, uint32_t streams, uint32_t rows, uint32_t width,
                       CheckValues values, uint64_t seed);

// With gaps on both sides.
Status CheckCopyRows(Workbench& bench, uint32_t rows, uint32_t columns, uint64_t seed);

}  // namespace aster::vulkan
