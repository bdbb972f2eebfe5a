// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Prepared rows as machines send them to each other: of every row its 8-bit quants in order, then
// the float32 scale of each block. Columns of a row can be prepared on one machine and joined on
// another; the sums that products need beside are made again there. Must not know machines.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/weight_type.h"

namespace aster::kernels {

// Columns that have to stay together; 0 for formats without blocks.
size_t BlockStep(ActivationFormat format);

// What `rows` rows of `columns` values take, a multiple of BlockStep.
size_t BlockBytes(ActivationFormat format, size_t rows, size_t columns);

// Rows row_begin to row_end of those that were prepared together (activations.h), to their place
// in `blocks`.
void WriteBlocks(ActivationFormat format, const void* prepared, size_t rows, size_t columns,
                 size_t row_begin, size_t row_end, void* blocks);

// Where such columns belong in rows that are prepared as a whole.
struct BlockPlace {
  size_t rows;
  size_t all_columns;
  size_t begin;    // of the columns, a multiple of BlockStep
  size_t columns;  // likewise
};

// The reverse: gives rows row_begin to row_end of `prepared` these columns, to the bit as
// PrepareActivations does.
void ReadBlocks(ActivationFormat format, const void* blocks, const BlockPlace& place,
                size_t row_begin, size_t row_end, void* prepared);

}  // namespace aster::kernels
