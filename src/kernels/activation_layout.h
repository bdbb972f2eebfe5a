// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The memory layout of prepared activations. Kernel sources may include this: its functions are
// static, so that each source keeps its own copy. Must not know how anything is computed.
//
// A prepared row is pieces of 64 bytes, its values in order, and words of 4 bytes about them.
// Sixteen rows (the last ones of a batch: as many as there are) form a group and are interleaved:
// the first piece of each row, the second of each, ...; then the first word of each row, the second
// of each, ... So the rows that a kernel computes side by side are a fixed small distance apart,
// sixteen pieces are one tile of AMX, and a single row is contiguous.
//
//   kF32        a piece is 16 floats
//   kBF16       a piece is 32 bfloat16
//   kInt8Per32  a piece is 64 int8, quants of two blocks; for each piece six words:
//               two float scales; two int32 starts_8, -8 times the sum of a block's quants;
//               two int32 starts_128, -128 times that sum
//   kInt8Per256 a piece is 64 int8, quants of a quarter of a block; for each four pieces 13 words:
//               a float scale; four pairs of int16, the sums of each 32 quants;
//               eight pairs of int16, the sums of each 16 quants
//
// The last piece is padded with zeros. The sums allow weights to be stored unsigned, with an
// offset: products subtract the offset's share again in integers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/weight_type.h"

namespace aster::kernels {

inline constexpr size_t kActivationAlignment = 64;
inline constexpr size_t kGroupRows = 16;
inline constexpr size_t kPieceBytes = 64;
inline constexpr size_t kWordBytes = 4;

// Columns of a piece.
inline constexpr size_t kF32Piece = 16;
inline constexpr size_t kBF16Piece = 32;
inline constexpr size_t kInt8Piece = 64;

// Words of one piece of kInt8Per32, and the index of each kind.
inline constexpr size_t kPer32Words = 6;
inline constexpr size_t kPer32Scale = 0;
inline constexpr size_t kPer32Start8 = 2;
inline constexpr size_t kPer32Start128 = 4;

// Words of one block of kInt8Per256.
inline constexpr size_t kPer256Words = 13;
inline constexpr size_t kPer256Scale = 0;
inline constexpr size_t kPer256Sums32 = 1;
inline constexpr size_t kPer256Sums16 = 5;

// The numbers of pieces and words of one row.
struct ActivationLayout {
  size_t pieces;
  size_t words;
};

static constexpr ActivationLayout ActivationLayoutOf(ActivationFormat format, size_t columns) {
  switch (format) {
    case ActivationFormat::kF32:
      return {(columns + kF32Piece - 1) / kF32Piece, 0};
    case ActivationFormat::kBF16:
      return {(columns + kBF16Piece - 1) / kBF16Piece, 0};
    case ActivationFormat::kInt8Per32: {
      const size_t pieces = (columns + kInt8Piece - 1) / kInt8Piece;
      return {pieces, pieces * kPer32Words};
    }
    case ActivationFormat::kInt8Per256:
      return {columns / kInt8Piece, columns / 256 * kPer256Words};
  }
  return {0, 0};
}

static constexpr size_t ActivationRowBytes(const ActivationLayout& layout) {
  return layout.pieces * kPieceBytes + layout.words * kWordBytes;
}

// The offsets of a row's first piece and first word from the first row. The next ones are
// group_rows pieces or words further.
struct ActivationRow {
  size_t pieces;
  size_t words;
  size_t group_rows;
};

static constexpr ActivationRow ActivationRowAt(const ActivationLayout& layout, size_t rows,
                                               size_t row) {
  const size_t first = row / kGroupRows * kGroupRows;
  const size_t group_rows = rows - first < kGroupRows ? rows - first : kGroupRows;
  const size_t group = first * ActivationRowBytes(layout);
  const size_t words = group + group_rows * layout.pieces * kPieceBytes;
  return {group + (row - first) * kPieceBytes, words + (row - first) * kWordBytes, group_rows};
}

}  // namespace aster::kernels
