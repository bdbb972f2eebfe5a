// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The loops of the products of every vector instruction set: tiles of kPanels panels of sixteen
// outputs by kRows rows of activations, and the order in which a call visits them. For the sources
// of one instruction set: everything here is in an unnamed namespace, so that each keeps its own
// copy. Must not know instructions nor weight formats, which are two parameters:
//
// Vector `V`: sixteen floats (V::Floats), sixteen int32 (V::Ints) and operations on them.
// Quantisation `Q`: Q::Block (packed.h), and how its parts become vectors.
//
// Every output is one lane, and every lane computes the steps of ref/matmul_ref.cc in their order;
// only integers, whose additions are exact, are added in any order.
#pragma once

#include "kernels/activation_layout.h"
#include "kernels/matmul_table.h"
#include "kernels/packed.h"

namespace aster::kernels {
namespace {

// --- Helpers.

template <int kValue>
struct Constant {
  static constexpr int value = kValue;
};

// f(Constant<0>()), f(Constant<1>()), ...
template <int kCount, typename F>
[[gnu::always_inline]] inline void Unroll(const F& f) {
  if constexpr (kCount > 0) {
    Unroll<kCount - 1>(f);
    f(Constant<kCount - 1>());
  }
}

// Neighbouring rows of activations: row m's pieces are m * kPieceBytes, its words m * kWordBytes
// after those of the first row.
struct TileRows {
  const uint8_t* pieces;
  const uint8_t* words;
  size_t group_rows;

  const uint8_t* piece(size_t index) const { return pieces + index * group_rows * kPieceBytes; }
  const uint8_t* word(size_t index) const { return words + index * group_rows * kWordBytes; }
};

// What a tile prefetches while it goes through its weights: at every `step`th block, from block
// `first` on, the memory `bytes` further.
struct Ahead {
  static constexpr size_t kNever = ~size_t{0};

  size_t bytes;
  size_t first;
  size_t step;
};

// The weights of a tile: panel p starts p * panel_blocks blocks further.
template <typename Block>
struct TilePanels {
  const Block* blocks;
  size_t panel_blocks;
  Ahead ahead;

  const Block& block(size_t panel, size_t index) const {
    return blocks[panel * panel_blocks + index];
  }
};

template <typename V, int kPanels, int kRows>
struct TileSums {
  typename V::Floats at[kPanels][kRows];
};

// Prefetches a tile's Ahead at block At(), in as many parts as the block is computed in: cores wait
// if too many lines are requested at once. Small blocks are counted kBlocks at a time.
template <typename Block, int kPanels, int kBlocks = 1>
class Prefetch {
 public:
  explicit Prefetch(const TilePanels<Block>& panels) : panels_(panels), next_(panels.ahead.first) {}

  [[gnu::always_inline]] void At(size_t index) {
    is_due_ = index >= next_;
    if (!is_due_) return;
    next_ += panels_.ahead.step;
    index_ = index * kBlocks;
  }

  template <int kParts>
  [[gnu::always_inline]] void Part(int part) const {
    if (!is_due_) return;
    constexpr size_t kLines = (kBlocks * sizeof(Block) + 63) / 64;
    constexpr size_t kAtOnce = (kLines + kParts - 1) / kParts;
    for (int p = 0; p < kPanels; ++p) {
      const auto* block = reinterpret_cast<const char*>(&panels_.block(p, index_));
      const char* lines = block + panels_.ahead.bytes + 64 * kAtOnce * static_cast<size_t>(part);
      for (size_t i = 0; i < kAtOnce; ++i) __builtin_prefetch(lines + 64 * i);
    }
  }

 private:
  const TilePanels<Block>& panels_;
  size_t next_;
  size_t index_ = 0;
  bool is_due_ = false;
};

// --- Types with a scale per 32 weights.

// Whether they also have an offset, Q::EighthOfOffset().
template <typename Q>
constexpr bool HasOffsets() {
  if constexpr (requires { Q::kOffsets; }) return Q::kOffsets;
  return false;
}

template <typename V, typename Q, int kPanels, int kRows>
[[gnu::always_inline]] inline void AddScaledGroup(const TilePanels<typename Q::Block>& panels,
                                                  const TileRows& rows, size_t index, int group,
                                                  TileSums<V, kPanels, kRows>& sums) {
  typename Q::Sum dots[kPanels][kRows];
  const uint8_t* starts = rows.word(index * kPer32Words + Q::kStartWord + group);
  for (int m = 0; m < kRows; ++m) {
    const typename V::Ints start = Q::Start(starts + m * kWordBytes);
    for (int p = 0; p < kPanels; ++p) dots[p][m].Start(start);
  }
  const uint8_t* piece = rows.piece(index) + 32 * group;
  typename V::Activations activations[kRows];
  Unroll<8>([&](auto quad) __attribute__((always_inline)) {
    constexpr int t = decltype(quad)::value;
    decltype(Q::template Quad<t>(panels.block(0, index), group)) weights[kPanels];
    for (int p = 0; p < kPanels; ++p) {
      weights[p] = Q::template Quad<t>(panels.block(p, index), group);
    }
    for (int m = 0; m < kRows; ++m) {
      if constexpr (t % 4 == 0)
        activations[m] = V::LoadActivations(piece + m * kPieceBytes + 4 * t);
      const auto activation = activations[m].template Quad<t % 4>();
      for (int p = 0; p < kPanels; ++p) dots[p][m].template Add<t>(weights[p], activation);
    }
  });
  const uint8_t* scales = rows.word(index * kPer32Words + kPer32Scale + group);
  for (int p = 0; p < kPanels; ++p) {
    const typename V::Floats scale = Q::Scale(panels.block(p, index), group);
    for (int m = 0; m < kRows; ++m) {
      sums.at[p][m] =
          V::Fma(V::ToFloats(dots[p][m].Total()),
                 V::Multiply(scale, V::Broadcast(scales + m * kWordBytes)), sums.at[p][m]);
    }
    if constexpr (HasOffsets<Q>()) {
      const typename V::Floats offset = Q::EighthOfOffset(panels.block(p, index), group);
      for (int m = 0; m < kRows; ++m) {
        sums.at[p][m] =
            V::FmaMinus(V::ToFloats(V::BroadcastInt(starts + m * kWordBytes)),
                        V::Multiply(offset, V::Broadcast(scales + m * kWordBytes)), sums.at[p][m]);
      }
    }
  }
}

template <typename Q>
struct ScaledTile {
  using V = typename Q::V;
  using Block = typename Q::Block;
  static constexpr ActivationFormat kFormat = ActivationFormat::kInt8Per32;
  static constexpr int kPanels = V::kPanels;
  static constexpr int kRows = V::kRows;

  template <int kPanels, int kRows>
  static void Run(const TilePanels<Block>& panels, const TileRows& rows, size_t,
                  TileSums<V, kPanels, kRows>& sums) {
    Prefetch<Block, kPanels> prefetch(panels);
    for (size_t i = 0; i < panels.panel_blocks; ++i) {
      prefetch.At(i);
      prefetch.template Part<2>(0);
      AddScaledGroup<V, Q>(panels, rows, i, 0, sums);
      prefetch.template Part<2>(1);
      AddScaledGroup<V, Q>(panels, rows, i, 1, sums);
    }
  }
};

// --- Super-blocks of 256 weights.

// The dot products of one super-block, each group's times its scale.
template <typename V, typename Q, int kPanels, int kRows>
[[gnu::always_inline]] inline void AddSuperBlock(
    const TilePanels<typename Q::Block>& panels, const TileRows& rows, size_t index,
    const Prefetch<typename Q::Block, kPanels>& prefetch, typename Q::Sum (&dots)[kPanels][kRows]) {
  constexpr int kPairBytes = 8 * Q::kQuads;  // of activations
  for (int pair = 0; pair < 256 / kPairBytes; ++pair) {
    prefetch.template Part<256 / kPairBytes>(pair);
    const uint8_t* piece =
        rows.piece(4 * index + pair * kPairBytes / kPieceBytes) + pair * kPairBytes % kPieceBytes;
    Unroll<2>([&](auto half) __attribute__((always_inline)) {
      constexpr int h = decltype(half)::value;
      typename Q::Group groups[kPanels];
      for (int p = 0; p < kPanels; ++p) {
        groups[p] = Q::template LoadGroup<h>(panels.block(p, index), pair);
      }
      typename V::Activations activations[kRows];
      Unroll<Q::kQuads>([&](auto quad) __attribute__((always_inline)) {
        constexpr int t = decltype(quad)::value;
        decltype(groups[0].template Quad<t>()) weights[kPanels];
        for (int p = 0; p < kPanels; ++p) weights[p] = groups[p].template Quad<t>();
        for (int m = 0; m < kRows; ++m) {
          if constexpr (t % 4 == 0) {
            activations[m] = V::LoadActivations(piece + m * kPieceBytes + 4 * (h * Q::kQuads + t));
          }
          const auto activation = activations[m].template Quad<t % 4>();
          for (int p = 0; p < kPanels; ++p) {
            dots[p][m].template Add<t, Q::kQuads>(weights[p], activation, groups[p].scale);
          }
        }
      });
    });
  }
}

// The sum over all groups of a small integer of the weights (a minimum, or the scale if all weights
// have an offset) times the sum of the group's activations.
template <typename V, typename Q, int kRows>
[[gnu::always_inline]] inline void PairSums(const typename Q::Block& block, const TileRows& rows,
                                            size_t index, typename V::Ints (&sums)[kRows]) {
  constexpr int kPairs = 32 / Q::kQuads;
  constexpr size_t kFirstWord = Q::kQuads == 8 ? kPer256Sums32 : kPer256Sums16;
  for (int m = 0; m < kRows; ++m) sums[m] = V::ZeroInts();
  for (int pair = 0; pair < kPairs; ++pair) {
    const typename V::Pairs factors = Q::SumFactors(block, pair);
    const uint8_t* words = rows.word(index * kPer256Words + kFirstWord + pair);
    for (int m = 0; m < kRows; ++m) {
      sums[m] = V::AddPairProducts(sums[m], factors, words + m * kWordBytes);
    }
  }
}

template <typename Q>
struct SuperTile {
  using V = typename Q::V;
  using Block = typename Q::Block;
  static constexpr ActivationFormat kFormat = ActivationFormat::kInt8Per256;
  static constexpr int kPanels = V::kPanels;
  static constexpr int kRows = V::kRows;

  template <int kPanels, int kRows>
  static void Run(const TilePanels<Block>& panels, const TileRows& rows, size_t,
                  TileSums<V, kPanels, kRows>& sums) {
    Prefetch<Block, kPanels> prefetch(panels);
    for (size_t i = 0; i < panels.panel_blocks; ++i) {
      prefetch.At(i);
      typename Q::Sum dots[kPanels][kRows];
      for (int p = 0; p < kPanels; ++p) {
        for (int m = 0; m < kRows; ++m) dots[p][m].Start();
      }
      AddSuperBlock<V, Q>(panels, rows, i, prefetch, dots);
      for (int p = 0; p < kPanels; ++p) Finish(panels.block(p, i), rows, i, dots[p], sums.at[p]);
    }
  }

 private:
  template <int kRows>
  [[gnu::always_inline]] static void Finish(const Block& block, const TileRows& rows, size_t index,
                                            const typename Q::Sum (&dots)[kRows],
                                            typename V::Floats (&sums)[kRows]) {
    typename V::Ints pair_sums[kRows];
    if constexpr (Q::kMins || Q::kOffset != 0) PairSums<V, Q>(block, rows, index, pair_sums);
    const uint8_t* scales = rows.word(index * kPer256Words + kPer256Scale);
    const typename V::Floats scale = Q::BlockScale(block);
    for (int m = 0; m < kRows; ++m) {
      const typename V::Floats activation_scale = V::Broadcast(scales + m * kWordBytes);
      typename V::Ints total = dots[m].Total();
      if constexpr (Q::kOffset != 0)
        total = V::template SubtractTimes<Q::kOffset>(total, pair_sums[m]);
      sums[m] = V::Fma(V::ToFloats(total), Q::Scale(V::Multiply(scale, activation_scale)), sums[m]);
      if constexpr (Q::kMins) {
        const typename V::Floats min_scale = V::Multiply(Q::MinScale(block), activation_scale);
        sums[m] = V::FmaMinus(V::ToFloats(pair_sums[m]), min_scale, sums[m]);
      }
    }
  }
};

// --- Floats.

template <typename Vector, typename Q>
struct FloatTile {
  using V = Vector;
  using Block = typename Q::Block;
  static constexpr ActivationFormat kFormat = ActivationFormat::kF32;
  static constexpr int kPanels = V::kPanels;
  static constexpr int kRows = V::kFloatRows;

  template <int kPanels, int kRows>
  static void Run(const TilePanels<Block>& panels, const TileRows& rows, size_t columns,
                  TileSums<V, kPanels, kRows>& result) {
    TileSums<V, kPanels, kRows> sums = result;  // a copy can stay in registers
    Prefetch<Block, kPanels, kF32Piece / kColumns> prefetch(panels);
    size_t column = 0;
    for (; column + kF32Piece <= columns; column += kF32Piece) {
      const uint8_t* piece = rows.piece(column / kF32Piece);
      prefetch.At(column / kF32Piece);
      prefetch.template Part<1>(0);
      Unroll<kF32Piece>([&](auto offset) __attribute__((always_inline)) {
        AddColumn(panels, column, piece, decltype(offset)::value, sums);
      });
    }
    const uint8_t* piece = rows.piece(column / kF32Piece);
    for (size_t i = 0; column + i < columns; ++i) AddColumn(panels, column, piece, i, sums);
    result = sums;
  }

 private:
  static constexpr size_t kColumns = Block::kColumns;

  template <int kPanels, int kRows>
  [[gnu::always_inline]] static void AddColumn(const TilePanels<Block>& panels, size_t column,
                                               const uint8_t* piece, size_t offset,
                                               TileSums<V, kPanels, kRows>& sums) {
    typename V::Floats weights[kPanels];
    for (int p = 0; p < kPanels; ++p) {
      const Block* blocks = &panels.block(p, column / kColumns);
      weights[p] = Q::Column(blocks[offset / kColumns], offset % kColumns);
    }
    for (int m = 0; m < kRows; ++m) {
      const typename V::Floats activation =
          V::Broadcast(piece + m * kPieceBytes + offset * sizeof(float));
      for (int p = 0; p < kPanels; ++p) {
        sums.at[p][m] = V::Fma(weights[p], activation, sums.at[p][m]);
      }
    }
  }
};

// Whether rows were already widened to floats: even columns of a piece before odd ones.
template <typename Q>
constexpr bool HasWideRows() {
  if constexpr (requires { Q::kWideRows; }) return Q::kWideRows;
  return false;
}

template <typename Vector, typename Q>
struct Bfloat16Tile {
  using V = Vector;
  using Block = typename Q::Block;
  static constexpr ActivationFormat kFormat = ActivationFormat::kBF16;
  static constexpr int kPanels = V::kPanels;
  // Each sum has two chains. They need not be computed side by side if they share nothing.
  static constexpr int kRows = HasWideRows<Q>() ? V::kFloatRows : V::kFloatRows / 2;

  template <int kPanels, int kRows>
  static void Run(const TilePanels<Block>& panels, const TileRows& rows, size_t,
                  TileSums<V, kPanels, kRows>& sums) {
    Prefetch<Block, kPanels> prefetch(panels);
    for (size_t i = 0; i < panels.panel_blocks; ++i) {
      prefetch.At(i);
      prefetch.template Part<1>(0);
      TileSums<V, kPanels, kRows> even, odd;
      for (int p = 0; p < kPanels; ++p) {
        for (int m = 0; m < kRows; ++m) even.at[p][m] = odd.at[p][m] = V::Zero();
      }
      if constexpr (HasWideRows<Q>()) {
        Unroll<16>([&](auto pair) __attribute__((always_inline)) {
          constexpr int t = decltype(pair)::value;
          AddColumn<false>(panels, i, rows.piece(2 * i), t, even);
        });
        Unroll<16>([&](auto pair) __attribute__((always_inline)) {
          constexpr int t = decltype(pair)::value;
          AddColumn<true>(panels, i, rows.piece(2 * i + 1), t, odd);
        });
      } else if constexpr (2 * kPanels * kRows > V::kMostSums) {
        // The sums of both chains do not fit into registers. `again` makes compilers read the block
        // again, in place of keeping its vectors in memory.
        size_t again = i;
        asm("" : "+r"(again));
        AddPairs<true, false>(panels, i, rows.piece(i), even, odd);
        AddPairs<false, true>(panels, again, rows.piece(again), even, odd);
      } else {
        AddPairs<true, true>(panels, i, rows.piece(i), even, odd);
      }
      for (int p = 0; p < kPanels; ++p) {
        for (int m = 0; m < kRows; ++m) {
          sums.at[p][m] = V::Add(sums.at[p][m], V::Add(even.at[p][m], odd.at[p][m]));
        }
      }
    }
  }

 private:
  // The pairs of columns of block i: their even columns, their odd ones, or both.
  template <bool kEven, bool kOdd, int kPanels, int kRows>
  [[gnu::always_inline]] static void AddPairs(const TilePanels<Block>& panels, size_t i,
                                              const uint8_t* piece,
                                              TileSums<V, kPanels, kRows>& even,
                                              TileSums<V, kPanels, kRows>& odd) {
    Unroll<16>([&](auto pair) __attribute__((always_inline)) {
      constexpr int t = decltype(pair)::value;
      decltype(Q::Pair(panels.block(0, i), t)) weights[kPanels];
      for (int p = 0; p < kPanels; ++p) weights[p] = Q::Pair(panels.block(p, i), t);
      for (int m = 0; m < kRows; ++m) {
        const typename V::Ints both = V::BroadcastInt(piece + m * kPieceBytes + 4 * t);
        for (int p = 0; p < kPanels; ++p) {
          if constexpr (kEven) {
            even.at[p][m] = V::Fma(weights[p].even(), V::LowBfloat16(both), even.at[p][m]);
          }
          if constexpr (kOdd) {
            odd.at[p][m] = V::Fma(weights[p].odd(), V::HighBfloat16(both), odd.at[p][m]);
          }
        }
      }
    });
  }
  // Adds one column of pair t.
  template <bool kOdd, int kPanels, int kRows>
  [[gnu::always_inline]] static void AddColumn(const TilePanels<Block>& panels, size_t i,
                                               const uint8_t* piece, int t,
                                               TileSums<V, kPanels, kRows>& sums) {
    typename V::Floats weights[kPanels];
    for (int p = 0; p < kPanels; ++p) {
      const auto pair = Q::Pair(panels.block(p, i), t);
      weights[p] = kOdd ? pair.odd() : pair.even();
    }
    for (int m = 0; m < kRows; ++m) {
      const typename V::Floats activation = V::Broadcast(piece + m * kPieceBytes + 4 * t);
      for (int p = 0; p < kPanels; ++p) {
        sums.at[p][m] = V::Fma(weights[p], activation, sums.at[p][m]);
      }
    }
  }
};

// --- Calls.

// The activations of rows from `row` of a call on, from column `columns` on.
template <typename Tile>
TileRows RowsAt(const MatmulJob& job, const ActivationLayout& layout, size_t row, size_t columns) {
  const ActivationRow first = ActivationRowAt(layout, job.activation_rows, job.first_row + row);
  const ActivationLayout before = ActivationLayoutOf(Tile::kFormat, columns);
  const auto* activations = static_cast<const uint8_t*>(job.activations);
  return {activations + first.pieces + before.pieces * first.group_rows * kPieceBytes,
          activations + first.words + before.words * first.group_rows * kWordBytes,
          first.group_rows};
}

template <typename Tile>
class Products {
 public:
  static void Run(const MatmulJob& job, size_t panel_begin, size_t panel_end) {
    const Products products(job);
    if (job.batch <= kStreamedRows) {
      products.FewRows(panel_begin, panel_end);
    } else {
      products.ManyRows(panel_begin, panel_end);
    }
  }

 private:
  using V = typename Tile::V;
  using Block = typename Tile::Block;

  // Up to this many rows are computed panel by panel, in tiles of V::kFewRows.
  static constexpr size_t kStreamedRows = []() -> size_t {
    if constexpr (requires { V::kStreamedRows; }) return V::kStreamedRows;
    return V::kFewRows;
  }();

  // Some blocks of a panel. Sums wait in memory for the next ones.
  struct Columns {
    size_t block;
    size_t blocks;
    float (*sums)[kPanelRows];  // [row]
  };

  static constexpr size_t Min(size_t a, size_t b) { return a < b ? a : b; }
  static constexpr size_t Max(size_t a, size_t b) { return a < b ? b : a; }

  explicit Products(const MatmulJob& job)
      : job_(job),
        layout_(ActivationLayoutOf(Tile::kFormat, job.columns)),
        panel_blocks_((job.columns + Block::kColumns - 1) / Block::kColumns) {}

  // Panel by panel, so that weights are read from memory in one stream. Several tiles of rows take
  // turns at a few blocks, so that what they compute goes on while the next blocks come.
  void FewRows(size_t begin, size_t end) const {
    const Ahead ahead = {
        .bytes = kStreamAhead, .first = kStreamAhead == 0 ? Ahead::kNever : 0, .step = 1};
    constexpr size_t kTurn = Max(4096 / sizeof(Block), 1);
    const size_t turn = job_.batch <= V::kFewRows ? panel_blocks_ : kTurn;
    float sums[kStreamedRows][kPanelRows];
    for (size_t panel = begin; panel < end; ++panel) {
      for (size_t block = 0; block < panel_blocks_; block += turn) {
        ForTilesOfRows(V::kFewRows, [&](size_t row, size_t rows) {
          const Columns columns = {block, Min(turn, panel_blocks_ - block), sums + row};
          SomeRows<1, V::kFewRows>(panel, row, rows, columns, ahead);
        });
      }
    }
  }

  // A set of panels stays in a second-level cache for all rows, and the rows of a tile in a
  // first-level cache for all panels of the set. Meanwhile the next set comes from memory, a part
  // of it with each tile of rows.
  void ManyRows(size_t begin, size_t end) const {
    constexpr size_t kSetBytes = 256 * 1024;
    const size_t panel_bytes = panel_blocks_ * sizeof(Block);
    const size_t set = Max(kSetBytes / (panel_bytes * Tile::kPanels), 1) * Tile::kPanels;
    const Columns all = {0, panel_blocks_, nullptr};
    for (; begin < end; begin += set) {
      const size_t set_end = Min(begin + set, end);
      Ahead ahead = {.bytes = Min(set, end - set_end) * panel_bytes,
                     .first = 0,
                     .step = (job_.batch + Tile::kRows - 1) / Tile::kRows};
      ForTilesOfRows(Tile::kRows, [&](size_t row, size_t rows) {
        size_t panel = begin;
        for (; panel + Tile::kPanels <= set_end; panel += Tile::kPanels) {
          SomeRows<Tile::kPanels, Tile::kRows>(panel, row, rows, all, ahead);
        }
        for (; panel < set_end; ++panel) SomeRows<1, Tile::kRows>(panel, row, rows, all, ahead);
        ++ahead.first;
      });
    }
  }

  // Calls f(row, rows) for tiles of at most `most` rows. A tile does not cross a group of rows; the
  // tiles of a group have similar sizes.
  template <typename F>
  void ForTilesOfRows(size_t most, const F& f) const {
    for (size_t row = 0; row < job_.batch;) {
      const size_t group_left = kGroupRows - (job_.first_row + row) % kGroupRows;
      const size_t left = Min(job_.batch - row, group_left);
      const size_t tiles = (left + most - 1) / most;
      const size_t rows = (left + tiles - 1) / tiles;
      f(row, rows);
      row += rows;
    }
  }

  template <int kPanels, int kRows>
  void SomeRows(size_t panel, size_t row, size_t rows, const Columns& columns,
                const Ahead& ahead) const {
    if constexpr (kRows > 1) {
      if (rows < kRows) return SomeRows<kPanels, kRows - 1>(panel, row, rows, columns, ahead);
    }
    Compute<kPanels, kRows>(panel, row, columns, ahead);
  }

  template <int kPanels, int kRows>
  void Compute(size_t panel, size_t row, const Columns& part, const Ahead& ahead) const {
    const size_t columns = part.block * Block::kColumns;
    const bool is_last = part.block + part.blocks == panel_blocks_;
    const TilePanels<Block> panels = {
        static_cast<const Block*>(job_.weights) + panel * panel_blocks_ + part.block,
        kPanels > 1 ? panel_blocks_ : part.blocks, ahead};
    TileSums<V, kPanels, kRows> sums;
    for (int p = 0; p < kPanels; ++p) {
      for (int m = 0; m < kRows; ++m) {
        sums.at[p][m] = columns == 0 ? V::Zero() : V::LoadFloats(part.sums[m]);
      }
    }
    Tile::Run(panels, RowsAt<Tile>(job_, layout_, row, columns),
              is_last ? job_.columns - columns : part.blocks * Block::kColumns, sums);
    for (int p = 0; p < kPanels; ++p) {
      const size_t output = (panel + p) * kPanelRows;
      for (int m = 0; m < kRows; ++m) {
        const size_t to = job_.to_rows == nullptr ? row + m : job_.to_rows[row + m];
        float* out = job_.out + to * job_.out_stride + output;
        V::Store(sums.at[p][m], is_last ? out : part.sums[m],
                 is_last ? Min(job_.rows - output, kPanelRows) : kPanelRows);
      }
    }
  }

  const MatmulJob& job_;
  const ActivationLayout layout_;
  const size_t panel_blocks_;
};

}  // namespace
}  // namespace aster::kernels
