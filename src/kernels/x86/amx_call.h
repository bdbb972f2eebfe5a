// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The rows and outputs of a product with tile registers, and the use of each tile; for amx_blocks.h
// and matmul_amx_body.h. For sources of one instruction set: everything is in an unnamed namespace.
// Must not know weight formats.
#pragma once

#include <immintrin.h>

#include "kernels/activation_layout.h"
#include "kernels/matmul_table.h"
#include "kernels/packed.h"
#include "kernels/x86/amx_tiles.h"
#include "kernels/x86/vector_avx512.h"

namespace aster::kernels {
namespace {

using Vector = VectorAvx512;

// The first and last rows may share a group with rows of another call. If they are fewer than this,
// AVX-512 computes them.
inline constexpr size_t kFewestPartRows = 4;
// Rows that are multiplied with unpacked weights, a set of panels at a time: their sums and
// prepared data of a few hundred columns take most of a second-level cache.
inline constexpr size_t kSetRows = 512;
inline constexpr size_t kSetParts = kSetRows / kGroupRows;
inline constexpr size_t kSetPanels = 16;

static size_t Least(size_t a, size_t b) { return a < b ? a : b; }

// --- Rows and outputs.

// Rows of a call that are adjacent in one group: at most sixteen.
struct Part {
  const uint8_t* pieces;
  const uint8_t* words;
  const uint8_t* end;  // of all activations
  size_t group_rows;
  size_t first;  // of the call's rows
  size_t rows;

  const uint8_t* piece(size_t index) const { return pieces + index * group_rows * kPieceBytes; }
  const uint8_t* word(size_t index) const { return words + index * group_rows * kWordBytes; }
};

class TileCall {
 public:
  TileCall(const MatmulJob& job, ActivationFormat format)
      : job_(job), layout_(ActivationLayoutOf(format, job.columns)) {}

  const MatmulJob& job() const { return job_; }

  // Divides rows `begin` to `end` into parts, at most kSetParts; returns how many.
  size_t PartsOf(size_t begin, size_t end, Part* parts) const {
    size_t count = 0;
    for (; begin < end; ++count) {
      parts[count] = PartAt(begin, end);
      begin += parts[count].rows;
    }
    return count;
  }

  // Writes the sixteen outputs of a row and panel, except those beyond the matrix.
  void SetSums(size_t row, size_t panel, __m512 sums) const {
    _mm512_mask_storeu_ps(At(row, panel), Mask(panel), sums);
  }

  size_t GroupEnd(size_t row) const {
    return row + kGroupRows - (job_.first_row + row) % kGroupRows;
  }

 private:
  Part PartAt(size_t row, size_t end) const {
    const ActivationRow at = ActivationRowAt(layout_, job_.activation_rows, job_.first_row + row);
    const auto* bytes = static_cast<const uint8_t*>(job_.activations);
    return {.pieces = bytes + at.pieces,
            .words = bytes + at.words,
            .end = bytes + job_.activation_rows * ActivationRowBytes(layout_),
            .group_rows = at.group_rows,
            .first = row,
            .rows = Least(GroupEnd(row), end) - row};
  }
  float* At(size_t row, size_t panel) const {
    const size_t to = job_.to_rows == nullptr ? row : job_.to_rows[row];
    return job_.out + to * job_.out_stride + panel * kPanelRows;
  }
  __mmask16 Mask(size_t panel) const {
    const size_t count = Least(job_.rows - panel * kPanelRows, kPanelRows);
    return static_cast<__mmask16>((1u << count) - 1);
  }

  const MatmulJob& job_;
  const ActivationLayout layout_;
};

// Weights that are needed soon, prefetched bit by bit into the second-level cache.
class Coming {
 public:
  Coming() = default;
  // At most `times` calls of AskForSome() prefetch all.
  Coming(const void* from, size_t bytes, size_t times)
      : at_(static_cast<const uint8_t*>(from)),
        lines_(bytes / kLine),
        lines_at_once_(lines_ / times + 1) {}

  [[gnu::always_inline]] void AskForSome() {
    const size_t count = Least(lines_, lines_at_once_);
    for (size_t i = 0; i < count; ++i) _mm_prefetch(at_ + kLine * i, _MM_HINT_T1);
    at_ += kLine * count;
    lines_ -= count;
  }

 private:
  static constexpr size_t kLine = 64;

  const uint8_t* at_ = nullptr;
  size_t lines_ = 0;
  size_t lines_at_once_ = 0;
};

// --- Tiles: sums of part (or turn) g and plane (or panel) p are tile 2 g + p; rows of part g are
// tile 4 + g, weights of plane or panel p are tile 6 + p.

constexpr int SumTile(int g, int p) { return 2 * g + p; }
constexpr int RowTile(int g) { return 4 + g; }
constexpr int WeightTile(int p) { return 6 + p; }
inline constexpr int kTiles = 8;

// A tile in memory: sixteen rows of sixteen int32 or float.
struct alignas(64) Stored {
  int32_t at[kGroupRows][kPanelRows];

  __m512i ints(size_t row) const { return _mm512_load_si512(at[row]); }
  __m512 floats(size_t row) const { return _mm512_load_ps(at[row]); }
  void Set(size_t row, __m512i values) { _mm512_store_si512(at[row], values); }
  void Set(size_t row, __m512 values) { _mm512_store_ps(at[row], values); }
};

template <typename Tiles, int tile>
void LoadTile(const Stored& from) {
  Tiles::template Load<tile>(&from, sizeof(from.at[0]));
}
template <typename Tiles, int tile>
void StoreTile(Stored* to) {
  Tiles::template Store<tile>(to, sizeof(to->at[0]));
}

// Every row tile has sixteen rows of `bytes`, times weights of as many columns.
template <typename Tiles>
void ConfigureTiles(size_t bytes) {
  TileSizes sizes;
  for (int g = 0; g < 2; ++g) {
    for (int p = 0; p < 2; ++p) sizes.Set(SumTile(g, p), kGroupRows, kPieceBytes);
    sizes.Set(RowTile(g), kGroupRows, bytes);
    sizes.Set(WeightTile(g), bytes / 4, kPieceBytes);
  }
  Tiles::Configure(sizes);
}

template <typename Tiles, int tile>
[[gnu::noinline]] void LoadLastRows(const Part& part, const uint8_t* piece, size_t offset) {
  alignas(64) uint8_t rows[kGroupRows][kPieceBytes] = {};
  __builtin_memcpy(rows, piece, part.rows * kPieceBytes);
  Tiles::template Load<tile>(rows[0] + offset, kPieceBytes);
}

// Loads bytes from `offset` on of a piece of each row. If there are fewer than sixteen rows, memory
// after them is loaded as well, and its sums are ignored: reconfiguring tiles costs as much as a
// dozen products.
template <typename Tiles, int tile>
[[gnu::always_inline]] inline void LoadRows(const Part& part, size_t index, size_t offset) {
  const uint8_t* piece = part.piece(index);
  if (static_cast<size_t>(part.end - piece) >= kGroupRows * kPieceBytes) [[likely]] {
    Tiles::template Load<tile>(piece + offset, kPieceBytes);
  } else {
    LoadLastRows<Tiles, tile>(part, piece, offset);
  }
}

}  // namespace
}  // namespace aster::kernels
