// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Operations of kernels/ops.h on whole rows of floats, and gathering rows. Must not know layers. An
// output may be the same memory as an input.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "kernels/ops.h"
#include "vulkan/kernels/kernels.h"

namespace aster::vulkan {

struct RmsNormJob {
  Address x;
  uint32_t x_stride;  // floats from row to row
  uint32_t rows;
  uint32_t count;      // elements of a row
  Address weight = 0;  // [count], or none
  float epsilon;
  Address y;
  uint32_t y_stride;
};
Status RecordRmsNorm(Kernels& kernels, Commands& commands, const RmsNormJob& job);

// Rows of `count` floats, `stride` apart in x and y.
struct SoftmaxJob {
  Address x;
  uint32_t rows;
  uint32_t count;
  uint32_t stride;
  Address y;
};
Status RecordSoftmax(Kernels& kernels, Commands& commands, const SoftmaxJob& job);

struct ArgmaxJob {
  Address x;
  uint32_t rows;
  uint32_t count;
  uint32_t stride;
  Address indices;  // [rows] uint32
};
Status RecordArgmax(Kernels& kernels, Commands& commands, const ArgmaxJob& job);

// In place. The rows (heads) of a token follow each other and share its angles.
struct RopeJob {
  Address x;
  uint32_t stride;  // floats from row to row
  uint32_t rows;
  uint32_t rows_of_token;
  uint32_t pairs;
  Address cosines;  // [tokens][pairs] (kernels/rope.h)
  Address sines;
  kernels::RopeLayout layout;
  bool inverse = false;
};
Status RecordRope(Kernels& kernels, Commands& commands, const RopeJob& job);

// In place. `count` is a power of two up to kMostHadamard.
inline constexpr uint32_t kMostHadamard = 4096;  // hadamard.comp has the same number
Status RecordHadamard(Kernels& kernels, Commands& commands, Address x, uint32_t stride,
                      uint32_t rows, uint32_t count);

// Copies rows of words; both sides may have gaps.
struct CopyRowsJob {
  Address from;
  uint32_t from_stride;  // words from row to row
  uint32_t rows;
  uint32_t columns;
  Address to;
  uint32_t to_stride;
};
Status RecordCopyRows(Kernels& kernels, Commands& commands, const CopyRowsJob& job);

// Rows of a table by their numbers, as floats. Embeddings of other types are decoded by the host:
// one row a token.
enum class TableType : uint8_t { kF32, kF16, kBf16 };  // gather_rows.comp has the same numbers
struct GatherRowsJob {
  TableType type;
  Address table;    // rows one after the other, as in a file
  Address indices;  // [rows] uint32
  uint32_t rows;
  uint32_t width;  // even, unless the type is kF32
  Address result;  // [rows][width] floats
};
Status RecordGatherRows(Kernels& kernels, Commands& commands, const GatherRowsJob& job);

}  // namespace aster::vulkan
