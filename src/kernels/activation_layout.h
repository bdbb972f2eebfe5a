// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Where the parts of a prepared row of activations stand. Kernel sources may include this: its
// functions are static, so that each source keeps its own copy. Must not know how the parts are
// computed.
//
// A row of 8-bit integers is followed by its scales and by sums of its integers; with the sums,
// weights may be stored with an offset that makes them unsigned, and the offset's share of a
// product taken off again in integers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace aster::kernels {

// Rows start at multiples of this.
inline constexpr size_t kActivationAlignment = 64;

// kInt8Per32: int8 quants[padded], float scales[padded / 32], int32 starts_8[padded / 32],
// int32 starts_128[padded / 32]. The starts are -8 and -128 times the sum of the group's 32
// integers: what an accumulator starts from when the weights have 8 or 128 added. The columns that
// pad the row are zero, of scale zero.
struct Int8Per32Layout {
  size_t padded;  // columns, up to a multiple of 64
  size_t scales;  // offsets in bytes
  size_t starts_8;
  size_t starts_128;
  size_t bytes;
};

static constexpr Int8Per32Layout Int8Per32LayoutOf(size_t columns) {
  const size_t padded = (columns + 63) / 64 * 64;
  const size_t array = padded / 32 * sizeof(float);
  return {padded, padded, padded + array, padded + 2 * array, padded + 3 * array};
}

// kInt8Per256: int8 quants[columns], float scales[columns / 256], int16 sums_32[columns / 32],
// int16 sums_16[columns / 16]. The sums are of the integers of 32 and of 16 columns.
struct Int8Per256Layout {
  size_t scales;
  size_t sums_32;
  size_t sums_16;
  size_t bytes;
};

static constexpr Int8Per256Layout Int8Per256LayoutOf(size_t columns) {
  const size_t sums_32 = columns + columns / 256 * sizeof(float);
  const size_t sums_16 = sums_32 + columns / 32 * sizeof(int16_t);
  return {columns, sums_32, sums_16, sums_16 + columns / 16 * sizeof(int16_t)};
}

// kBF16: uint16 values[padded], padded with zeros to a multiple of 32 columns.
static constexpr size_t Bfloat16PaddedColumns(size_t columns) { return (columns + 31) / 32 * 32; }

}  // namespace aster::kernels
