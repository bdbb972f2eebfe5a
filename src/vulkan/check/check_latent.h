// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Compares latent attention and residuals of several streams on a device with the reference. Must
// not know which sizes are worth checking.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "kernels/latent.h"
#include "vulkan/check/workbench.h"

namespace aster::vulkan {

// Packs rows, writes them into pages of `rows_of_page` from `position` on, and decodes them and
// rows of arbitrary bytes.
struct LatentRowsSize {
  kernels::LatentFormat format;
  uint32_t rows;
  uint32_t position;
  uint32_t rows_of_page;
  uint32_t step = 1;  // as many packed rows for one that is written
};
Status CheckLatentRows(Workbench& bench, const LatentRowsSize& size, CheckValues values,
                       uint64_t seed);

// Writes inputs of tokens into pages from `position` on, and makes the rows that they complete.
struct PoolSize {
  uint32_t dim;
  uint32_t ratio;
  bool overlaps;
  uint32_t position;
  uint32_t tokens;
  bool in_place = false;  // without places that count, and with gaps between what they become
};
Status CheckPool(Workbench& bench, const PoolSize& size, CheckValues values, uint64_t seed);

// The highest ranks of two tokens, some of them equal.
struct RankSize {
  kernels::LatentFormat format;
  uint32_t heads;
  uint32_t rows;
  uint32_t top;
};
Status CheckRanks(Workbench& bench, const RankSize& size, uint64_t seed);

// Attention of some tokens, the last of which sees `window` rows and the chosen ones of `far`
// compressed rows; those before it see one row fewer each, and the first compressed rows.
struct LatentSize {
  kernels::LatentFormat format;
  uint32_t heads;
  uint32_t tokens;
  uint32_t window;
  uint32_t far;
  uint32_t chosen;
  std::optional<kernels::LatentFormat> compressed_format =
      {};  // of compressed rows; none: the same
};
Status CheckLatentAttention(Workbench& bench, const LatentSize& size, uint64_t seed);

Status CheckStreams(Workbench& bench, uint32_t streams, uint32_t rows, uint32_t width,
                    CheckValues values, uint64_t seed);

}  // namespace aster::vulkan
