// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Products with many rows, if unpacking weights costs as much as multiplying with them: some
// hundred columns of a panel are unpacked once, into memory that stays in a first-level cache, and
// then multiplied with all rows. The tiles are those of matmul_tiles.h, with blocks that need no
// unpacking; the sums of all rows are kept in memory while the next columns are unpacked, which
// changes no bit. For the sources of one instruction set. Besides what the tiles need, `V` has
// StoreInts() and StoreFloats(), and sums have kLanes, LoadWeights() and StoreWeights(): blocks are
// plain memory, since compilers copy structs of vectors in pieces, and then wait for these.
#pragma once

#include <type_traits>

#include "kernels/matmul_formats.h"
#include "kernels/matmul_table.h"
#include "kernels/matmul_tiles.h"

namespace aster::kernels {
namespace {

// A vector in memory.
struct alignas(64) Lanes {
  uint8_t bytes[64];
};

template <typename V>
[[gnu::always_inline]] inline typename V::Floats LoadLanes(const Lanes& lanes) {
  return V::LoadFloats(reinterpret_cast<const float*>(lanes.bytes));
}
template <typename V>
[[gnu::always_inline]] inline void StoreLanes(typename V::Floats values, Lanes* lanes) {
  V::StoreFloats(values, reinterpret_cast<float*>(lanes->bytes));
}

// Each of these has `Packed`, the type of packed.h, and `Tile`, whose blocks are packed ones, or
// made from them by Unfold().

// Types with a scale per 32 weights.
template <typename Q>
struct UnfoldedScaled {
  using V = typename Q::V;
  using Sum = typename Q::Sum;
  using Packed = typename Q::Block;
  using Tile = ScaledTile<UnfoldedScaled>;
  static constexpr size_t kStartWord = Q::kStartWord;
  static constexpr bool kOffsets = HasOffsets<Q>();

  struct Block {
    static constexpr size_t kColumns = 64;
    Lanes quads[2][8][Sum::kLanes];
    Lanes scales[2];
    Lanes offsets[2];
  };
  static typename V::Ints Start(const uint8_t* word) { return Q::Start(word); }
  template <int t>
  static typename Sum::Weights Quad(const Block& block, int group) {
    return Sum::LoadWeights(block.quads[group][t]);
  }
  static typename V::Floats Scale(const Block& block, int group) {
    return LoadLanes<V>(block.scales[group]);
  }
  static typename V::Floats EighthOfOffset(const Block& block, int group) {
    return LoadLanes<V>(block.offsets[group]);
  }

  static void Unfold(const Packed& packed, Block* block) {
    for (int group = 0; group < 2; ++group) {
      Unroll<8>([&](auto quad) __attribute__((always_inline)) {
        constexpr int t = decltype(quad)::value;
        Sum::StoreWeights(Q::template Quad<t>(packed, group), block->quads[group][t]);
      });
      StoreLanes<V>(Q::Scale(packed, group), &block->scales[group]);
      if constexpr (kOffsets) {
        StoreLanes<V>(Q::EighthOfOffset(packed, group), &block->offsets[group]);
      }
    }
  }
};

// Super-blocks.
template <typename Q>
struct UnfoldedSuper {
  using V = typename Q::V;
  using Sum = typename Q::Sum;
  using Packed = typename Q::Block;
  using Tile = SuperTile<UnfoldedSuper>;
  static constexpr int kQuads = Q::kQuads;
  static constexpr bool kMins = Q::kMins;
  static constexpr int kOffset = Q::kOffset;
  static constexpr int kPairs = 32 / kQuads;

  struct Block {
    static constexpr size_t kColumns = 256;
    Lanes quads[2 * kPairs][kQuads][Sum::kLanes];
    Lanes scales[2 * kPairs];
    Lanes factors[kPairs];
    Lanes scale;
    Lanes min_scale;
  };
  struct Group {
    template <int t>
    typename Sum::Weights Quad() const {
      return Sum::LoadWeights(quads[t]);
    }
    const Lanes (*quads)[Sum::kLanes];
    typename V::Ints scale;
  };
  template <int h>
  static Group LoadGroup(const Block& block, int pair) {
    return {block.quads[2 * pair + h], V::LoadInts(&block.scales[2 * pair + h])};
  }
  static typename V::Pairs SumFactors(const Block& block, int pair) {
    return V::LoadInts(&block.factors[pair]);
  }
  static typename V::Floats BlockScale(const Block& block) { return LoadLanes<V>(block.scale); }
  static typename V::Floats MinScale(const Block& block) { return LoadLanes<V>(block.min_scale); }
  static typename V::Floats Scale(typename V::Floats scale) { return Q::Scale(scale); }

  static void Unfold(const Packed& packed, Block* block) {
    for (int pair = 0; pair < kPairs; ++pair) {
      Unroll<2>([&](auto half) __attribute__((always_inline)) {
        constexpr int h = decltype(half)::value;
        const auto group = Q::template LoadGroup<h>(packed, pair);
        // Two quads may be looked up by the same bytes: these are read once if no store is between.
        Unroll<kQuads / 2>([&](auto two) __attribute__((always_inline)) {
          constexpr int t = 2 * decltype(two)::value;
          const auto even = group.template Quad<t>();
          const auto odd = group.template Quad<t + 1>();
          Sum::StoreWeights(even, block->quads[2 * pair + h][t]);
          Sum::StoreWeights(odd, block->quads[2 * pair + h][t + 1]);
        });
        V::StoreInts(group.scale, &block->scales[2 * pair + h]);
      });
      if constexpr (kMins || kOffset != 0) {
        V::StoreInts(Q::SumFactors(packed, pair), &block->factors[pair]);
      }
    }
    StoreLanes<V>(Q::BlockScale(packed), &block->scale);
    if constexpr (kMins) StoreLanes<V>(Q::MinScale(packed), &block->min_scale);
  }
};

template <typename Vector>
struct UnfoldedF16 {
  using V = Vector;
  using Packed = PackedF16;
  using Tile = FloatTile<V, UnfoldedF16>;

  struct Block {
    static constexpr size_t kColumns = 2;
    Lanes columns[2];
  };
  static typename V::Floats Column(const Block& block, size_t column) {
    return LoadLanes<V>(block.columns[column]);
  }
  static void Unfold(const Packed& packed, Block* block) {
    for (size_t i = 0; i < 2; ++i) StoreLanes<V>(F16<V>::Column(packed, i), &block->columns[i]);
  }
};

// Weights stay as they are, only rows are widened: pays with fewer rows.
template <typename Vector>
struct WideRowsBF16 : BF16<Vector> {
  using V = Vector;
  using Packed = PackedBF16;
  using Tile = Bfloat16Tile<V, WideRowsBF16>;
  static constexpr bool kWideRows = true;
};

template <typename Vector>
struct UnfoldedBF16 {
  using V = Vector;
  using Packed = PackedBF16;
  using Tile = Bfloat16Tile<V, UnfoldedBF16>;

  struct Block {
    static constexpr size_t kColumns = 32;
    Lanes pairs[16][2];
  };
  static constexpr bool kWideRows = true;
  struct Columns {
    typename V::Floats even() const { return LoadLanes<V>(lanes[0]); }
    typename V::Floats odd() const { return LoadLanes<V>(lanes[1]); }
    const Lanes* lanes;  // [2]
  };
  static Columns Pair(const Block& block, size_t pair) { return {block.pairs[pair]}; }
  static void Unfold(const Packed& packed, Block* block) {
    for (size_t i = 0; i < 16; ++i) {
      const auto pair = BF16<V>::Pair(packed, i);
      StoreLanes<V>(pair.even(), &block->pairs[i][0]);
      StoreLanes<V>(pair.odd(), &block->pairs[i][1]);
    }
  }
};

// --- Calls.

// `Few` for fewer than kRows rows, `Many` from there on.
template <typename Few, size_t kRows, typename Many>
struct ByRows {
  static void Run(const MatmulJob& job, size_t panel_begin, size_t panel_end) {
    (job.batch < kRows ? Few::Run : Many::Run)(job, panel_begin, panel_end);
  }
};

template <typename U>
class UnfoldedProducts {
 public:
  static void Run(const MatmulJob& job, size_t panel_begin, size_t panel_end) {
    const UnfoldedProducts products(job);
    const size_t panels = kSums / Min(job.batch, kRowsAtOnce);
    for (size_t panel = panel_begin; panel < panel_end; panel += panels) {
      const size_t count = Min(panels, panel_end - panel);
      for (size_t row = 0; row < job.batch; row += kRowsAtOnce) {
        products.Panels(panel, count, row, Min(job.batch - row, kRowsAtOnce));
      }
    }
  }

 private:
  using Tile = typename U::Tile;
  using V = typename Tile::V;
  using Packed = typename U::Packed;
  using Block = typename U::Block;

  // Unpacked columns take 8 to 18 KiB, so that a first-level cache holds them and the rows of a
  // tile. All rows of these columns and all sums take half of a second-level cache.
  static constexpr size_t kColumnsAtOnce = Tile::kFormat == ActivationFormat::kF32    ? 128
                                           : Tile::kFormat == ActivationFormat::kBF16 ? 256
                                                                                      : 512;
  static constexpr size_t kBlocks = kColumnsAtOnce / Packed::kColumns;
  static constexpr size_t kRowsAtOnce = 128;
  static constexpr size_t kSums = 1024;

  // Pieces of widened activations: a further group of rows, as the first row may be within its
  // group.
  static constexpr size_t kWidePieces =
      HasWideRows<U>() ? 2 * (kRowsAtOnce + kGroupRows) * kColumnsAtOnce / kBF16Piece : 1;

  // Some columns of a panel, unpacked, and the next packed ones.
  struct Columns {
    const Block* blocks;
    size_t block_count;
    size_t begin;
    size_t count;
    bool is_last;
    const char* next;
    size_t next_lines;
    const Lanes* wide_rows;   // these columns of all rows, if they are widened
    size_t wide_first_group;  // of rows
  };

  static constexpr size_t Min(size_t a, size_t b) { return a < b ? a : b; }

  explicit UnfoldedProducts(const MatmulJob& job)
      : job_(job),
        layout_(ActivationLayoutOf(Tile::kFormat, job.columns)),
        panel_blocks_((job.columns + Packed::kColumns - 1) / Packed::kColumns) {}

  // Computes the outputs of some panels for rows `row` to `row + rows`: some columns at a time,
  // whose activations then stay in a second-level cache.
  void Panels(size_t panel, size_t panels, size_t row, size_t rows) const {
    Block blocks[kBlocks];
    Lanes sums[kSums];
    Lanes wide_rows[kWidePieces];
    const Packed* packed = static_cast<const Packed*>(job_.weights) + panel * panel_blocks_;
    for (size_t begin = 0; begin < panel_blocks_; begin += kBlocks) {
      const size_t count = Min(kBlocks, panel_blocks_ - begin);
      const bool is_last = begin + count == panel_blocks_;
      if constexpr (HasWideRows<U>()) WidenRows(row, rows, begin, count, wide_rows);
      for (size_t p = 0; p < panels; ++p) {
        const Packed* here = packed + p * panel_blocks_ + begin;
        const bool is_last_panel = p + 1 == panels;
        const Packed* next = is_last_panel ? packed + begin + count : here + panel_blocks_;
        const size_t columns_begin = begin * Packed::kColumns;
        const Columns columns = {
            .blocks = Unfold(here, count, blocks),
            .block_count = count,
            .begin = columns_begin,
            .count = Min(count * Packed::kColumns, job_.columns - columns_begin),
            .is_last = is_last,
            .next = reinterpret_cast<const char*>(next),
            .next_lines = is_last_panel && is_last ? 0 : count * sizeof(Packed) / 64,
            .wide_rows = wide_rows,
            .wide_first_group = (job_.first_row + row) / kGroupRows};
        Rows(panel + p, row, rows, columns, sums + p * rows);
      }
    }
  }

  static const Block* Unfold(const Packed* packed, size_t count, Block* blocks) {
    if constexpr (std::is_same_v<Block, Packed>) {
      return packed;
    } else {
      for (size_t i = 0; i < count; ++i) U::Unfold(packed[i], &blocks[i]);
      return blocks;
    }
  }

  // Widens blocks of columns of all rows, each piece to floats of its even and its odd columns.
  void WidenRows(size_t row, size_t rows, size_t begin, size_t count, Lanes* wide) const {
    const size_t first_group = (job_.first_row + row) / kGroupRows;
    for (size_t i = job_.first_row + row; i < job_.first_row + row + rows; ++i) {
      const ActivationRow from = ActivationRowAt(layout_, job_.activation_rows, i);
      Lanes* to = wide + WideRowAt(i, first_group, count);
      for (size_t piece = 0; piece < count; ++piece, to += 2 * kGroupRows) {
        const typename V::Ints pairs =
            V::LoadInts(static_cast<const uint8_t*>(job_.activations) + from.pieces +
                        (begin + piece) * from.group_rows * kPieceBytes);
        StoreLanes<V>(V::LowBfloat16(pairs), to);
        StoreLanes<V>(V::HighBfloat16(pairs), to + kGroupRows);
      }
    }
  }
  static size_t WideRowAt(size_t row, size_t first_group, size_t count) {
    return (row / kGroupRows - first_group) * 2 * count * kGroupRows + row % kGroupRows;
  }

  // Multiplies these columns with all rows. Meanwhile the next columns come from memory.
  void Rows(size_t panel, size_t row, size_t rows, const Columns& columns, Lanes* sums) const {
    const size_t lines_at_once = columns.next_lines * Tile::kRows / rows + 1;
    size_t line = 0;
    for (size_t done = 0; done < rows;) {
      const size_t group_left = kGroupRows - (job_.first_row + row + done) % kGroupRows;
      const size_t left = Min(rows - done, group_left);
      const size_t tiles = (left + Tile::kRows - 1) / Tile::kRows;
      const size_t count = (left + tiles - 1) / tiles;
      const size_t lines_end = Min(line + lines_at_once, columns.next_lines);
      for (; line < lines_end; ++line) __builtin_prefetch(columns.next + 64 * line);
      SomeRows<Tile::kRows>(panel, row + done, count, columns, sums + done);
      done += count;
    }
  }

  template <int kRows>
  void SomeRows(size_t panel, size_t row, size_t rows, const Columns& columns, Lanes* sums) const {
    if constexpr (kRows > 1) {
      if (rows < kRows) return SomeRows<kRows - 1>(panel, row, rows, columns, sums);
    }
    Compute<kRows>(panel, row, columns, sums);
  }

  // Not inlined, so that compilers keep its variables in registers.
  template <int kRows>
  [[gnu::noinline]] void Compute(size_t panel, size_t row, const Columns& columns,
                                 Lanes* sums) const {
    TileRows rows = RowsAt<Tile>(job_, layout_, row, columns.begin);
    if constexpr (HasWideRows<U>()) {
      const Lanes* wide =
          columns.wide_rows +
          WideRowAt(job_.first_row + row, columns.wide_first_group, columns.block_count);
      rows = {wide->bytes, nullptr, kGroupRows};
    }
    const TilePanels<Block> panels = {
        columns.blocks, columns.block_count, {.bytes = 0, .first = Ahead::kNever, .step = 1}};
    TileSums<V, 1, kRows> tile;
    for (int m = 0; m < kRows; ++m) {
      tile.at[0][m] = columns.begin == 0 ? V::Zero() : LoadLanes<V>(sums[m]);
    }
    Tile::Run(panels, rows, columns.count, tile);
    if (!columns.is_last) {
      for (int m = 0; m < kRows; ++m) StoreLanes<V>(tile.at[0][m], &sums[m]);
      return;
    }
    const size_t output = panel * kPanelRows;
    for (int m = 0; m < kRows; ++m) {
      const size_t to = job_.to_rows == nullptr ? row + m : job_.to_rows[row + m];
      V::Store(tile.at[0][m], job_.out + to * job_.out_stride + output,
               Min(job_.rows - output, kPanelRows));
    }
  }

  const MatmulJob& job_;
  const ActivationLayout layout_;
  const size_t panel_blocks_;
};

}  // namespace
}  // namespace aster::kernels
