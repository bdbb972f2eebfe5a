// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The order in which a product with matrix instructions visits panels, columns and rows. Some
// hundred columns of many rows are paired (i8mm_rows.h) and stay in a second-level cache; a panel's
// columns are unpacked (i8mm_blocks.h) into a first-level cache, and then multiplied with all pairs
// of rows. Sums are kept in memory meanwhile, which changes no bit. For the sources of one
// instruction set: everything here is in an unnamed namespace.
#pragma once

#include "kernels/arm/i8mm_blocks.h"
#include "kernels/matmul_table.h"

namespace aster::kernels {
namespace {

// `B`: a class of i8mm_blocks.h.
template <typename B>
class PairProducts {
 public:
  static void Run(const MatmulJob& job, size_t panel_begin, size_t panel_end) {
    const PairProducts products(job);
    const size_t panels = kMostSums / Pairs(Min(job.batch, kMostRows));
    for (size_t panel = panel_begin; panel < panel_end; panel += panels) {
      const size_t count = Min(panels, panel_end - panel);
      for (size_t row = 0; row < job.batch; row += kMostRows) {
        products.SomePanels(panel, count, row, Min(job.batch - row, kMostRows));
      }
    }
  }

 private:
  using Packed = typename B::Packed;
  using Block = typename B::Block;
  using Pair = typename B::Pair;
  static_assert(Pair::kColumns == Packed::kColumns);

  // Unpacked columns take 11 to 14 KiB, those of all rows up to 96 KiB, and the sums 64.
  static constexpr size_t kBlocks = 512 / Packed::kColumns;
  static constexpr size_t kMostRows = 128;
  static constexpr size_t kMostSums = 512;  // of a pair of rows and a panel

  struct Sums {
    float at[2][4][4];  // [half of a panel][two outputs]
  };

  // Some columns: of a panel, unpacked, and of all rows.
  struct Columns {
    const Block (*blocks)[kBlocks];  // [half of a panel]
    const Pair (*pairs)[kBlocks];    // [pair of rows]
    size_t count;                    // of blocks
    bool is_first;
    bool is_last;
    const char* next;  // packed
    size_t next_lines;
  };

  static constexpr size_t Min(size_t a, size_t b) { return a < b ? a : b; }
  static constexpr size_t Pairs(size_t rows) { return (rows + 1) / 2; }

  explicit PairProducts(const MatmulJob& job)
      : job_(job),
        layout_(ActivationLayoutOf(B::kFormat, job.columns)),
        panel_blocks_((job.columns + Packed::kColumns - 1) / Packed::kColumns) {}

  // Computes the outputs of some panels for rows `row` to `row + rows`.
  void SomePanels(size_t panel, size_t panels, size_t row, size_t rows) const {
    Block blocks[2][kBlocks];
    Pair pairs[kMostRows / 2][kBlocks];
    Sums sums[kMostSums];
    const Packed* packed = static_cast<const Packed*>(job_.weights) + panel * panel_blocks_;
    for (size_t begin = 0; begin < panel_blocks_; begin += kBlocks) {
      const size_t count = Min(kBlocks, panel_blocks_ - begin);
      const bool is_last = begin + count == panel_blocks_;
      PairRows(row, rows, begin, count, pairs);
      for (size_t p = 0; p < panels; ++p) {
        const Packed* here = packed + p * panel_blocks_ + begin;
        for (size_t i = 0; i < count; ++i) B::Unfold(here[i], &blocks[0][i], &blocks[1][i]);
        const bool is_last_panel = p + 1 == panels;
        const Packed* next = is_last_panel ? packed + begin + count : here + panel_blocks_;
        const Columns columns = {
            .blocks = blocks,
            .pairs = pairs,
            .count = count,
            .is_first = begin == 0,
            .is_last = is_last,
            .next = reinterpret_cast<const char*>(next),
            .next_lines = is_last_panel && is_last ? 0 : count * sizeof(Packed) / 64};
        AllPairs(panel + p, row, rows, columns, sums + p * Pairs(rows));
      }
    }
  }

  // The last row of an odd number is paired with itself.
  void PairRows(size_t row, size_t rows, size_t begin, size_t count, Pair (*pairs)[kBlocks]) const {
    for (size_t i = 0; i < rows; i += 2) {
      const TileRows first = RowAt(row + i);
      const TileRows second = RowAt(row + Min(i + 1, rows - 1));
      for (size_t block = 0; block < count; ++block) {
        PairBlock(first, second, begin + block, &pairs[i / 2][block]);
      }
    }
  }
  TileRows RowAt(size_t row) const {
    const ActivationRow at = ActivationRowAt(layout_, job_.activation_rows, job_.first_row + row);
    const auto* activations = static_cast<const uint8_t*>(job_.activations);
    return {activations + at.pieces, activations + at.words, at.group_rows};
  }

  // Multiplies these columns with all rows. Meanwhile the next columns come from memory.
  void AllPairs(size_t panel, size_t row, size_t rows, const Columns& columns, Sums* sums) const {
    const size_t pairs = Pairs(rows);
    const size_t tiles = (pairs + B::kMostPairs - 1) / B::kMostPairs;
    const size_t lines_at_once = columns.next_lines / tiles + 1;
    size_t line = 0;
    for (size_t done = 0, left = tiles; left > 0; --left) {
      const size_t count = (pairs - done + left - 1) / left;
      const size_t lines_end = Min(line + lines_at_once, columns.next_lines);
      for (; line < lines_end; ++line) __builtin_prefetch(columns.next + 64 * line);
      for (size_t half = 0; half < 2; ++half) {
        SomePairs<B::kMostPairs>(half, done, count, columns, sums);
      }
      done += count;
    }
    if (!columns.is_last) return;
    for (size_t i = 0; i < rows; ++i) Store(panel, row + i, i % 2, sums[i / 2]);
  }

  template <int kPairs>
  static void SomePairs(size_t half, size_t first, size_t count, const Columns& columns,
                        Sums* sums) {
    if constexpr (kPairs > 1) {
      if (count < kPairs) return SomePairs<kPairs - 1>(half, first, count, columns, sums);
    }
    Compute<kPairs>(half, first, columns, sums + first);
  }

  // Not inlined, so that compilers keep its variables in registers.
  template <int kPairs>
  [[gnu::noinline]] static void Compute(size_t half, size_t first, const Columns& columns,
                                        Sums* sums) {
    Tile4 tile[kPairs];
    for (int m = 0; m < kPairs; ++m) {
      for (int j = 0; j < 4; ++j) {
        tile[m][j] = columns.is_first ? vdupq_n_f32(0.0f) : vld1q_f32(sums[m].at[half][j]);
      }
    }
    B::template Add<kPairs>(columns.blocks[half], columns.count, columns.pairs[first], kBlocks,
                            tile);
    for (int m = 0; m < kPairs; ++m) {
      for (int j = 0; j < 4; ++j) vst1q_f32(sums[m].at[half][j], tile[m][j]);
    }
  }

  // Row `of_pair` of a pair.
  void Store(size_t panel, size_t row, size_t of_pair, const Sums& sums) const {
    VectorNeon::Floats outputs;
    for (int i = 0; i < 4; ++i) {
      const float(&two)[4][4] = sums.at[i / 2];
      outputs.at[i] = vcombine_f32(vld1_f32(two[2 * (i % 2)] + 2 * of_pair),
                                   vld1_f32(two[2 * (i % 2) + 1] + 2 * of_pair));
    }
    const size_t output = panel * kPanelRows;
    const size_t to = job_.to_rows == nullptr ? row : job_.to_rows[row];
    VectorNeon::Store(outputs, job_.out + to * job_.out_stride + output,
                      Min(job_.rows - output, kPanelRows));
  }

  const MatmulJob& job_;
  const ActivationLayout layout_;
  const size_t panel_blocks_;
};

}  // namespace
}  // namespace aster::kernels
