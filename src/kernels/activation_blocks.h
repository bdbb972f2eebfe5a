// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Prepared rows as machines send them to each other: for every row its 8-bit quants in order, then
// the float32 scale of each block. Columns of a row can be prepared on one machine and joined on
// another, which computes the sums that products also need again. Must not know machines.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/weight_type.h"

namespace aster::kernels {

// Columns that must not be divided; 0 for formats without blocks.
size_t BlockStep(ActivationFormat format);

// The bytes of `rows` rows of `columns` values, a multiple of BlockStep.
size_t BlockBytes(ActivationFormat format, size_t rows, size_t columns);

// Writes rows row_begin to row_end of rows that were prepared together (activations.h) to their
// place in `blocks`.
void WriteBlocks(ActivationFormat format, const void* prepared, size_t rows, size_t columns,
                 size_t row_begin, size_t row_end, void* blocks);

// The place of such columns in whole prepared rows.
struct BlockPlace {
  size_t rows;
  size_t all_columns;
  size_t begin;    // of the columns, a multiple of BlockStep
  size_t columns;  // likewise
};

// The reverse: writes these columns of rows row_begin to row_end of `prepared`, with the same bits
// as PrepareActivations.
void ReadBlocks(ActivationFormat format, const void* blocks, const BlockPlace& place,
                size_t row_begin, size_t row_end, void* prepared);

}  // namespace aster::kernels
