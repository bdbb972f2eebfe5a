// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Matrix products with tile registers, for many rows of activations. Sixteen prepared rows are a
// left tile as they lie in memory; weights are unpacked into right tiles, a few hundred columns of
// a panel at a time, and stay in the first-level cache while all rows pass by. What tiles sum up
// is exact integers; scales are applied to these with AVX-512, in the order of ref/matmul_ref.cc,
// while the tiles already work on the next block. docs/amx.md says what bounds what.
//
// `Tiles` is AmxTiles (amx_tiles.h), or something in the tests that computes the same. For sources
// of one instruction set: everything is in an unnamed namespace.
#pragma once

#include <immintrin.h>

#include "kernels/x86/amx_blocks.h"
#include "kernels/x86/amx_call.h"

namespace aster::kernels {
namespace {

// --- bfloat16: floats stay in tiles from the first column to the last, and weights are right tiles
// as they lie in memory.

template <typename Tiles>
class Bfloat16Tiles {
 public:
  static constexpr ActivationFormat kFormat = ActivationFormat::kBF16;

  static void Run(const TileCall& call, size_t row_begin, size_t row_end, size_t begin,
                  size_t end) {
    constexpr size_t kSetBytes = 1024 * 1024;  // of weights, in the second-level cache
    const size_t blocks = (call.job().columns + PackedBF16::kColumns - 1) / PackedBF16::kColumns;
    const size_t most = kSetBytes / (blocks * sizeof(PackedBF16)) / 2 * 2;
    const size_t set = most < 2 ? 2 : most;
    const auto* weights = static_cast<const PackedBF16*>(call.job().weights);
    ConfigureTiles<Tiles>(kPieceBytes);
    for (; begin < end; begin += set) {
      const size_t set_end = Least(begin + set, end);
      call.ForParts<2>(row_begin, row_end, [&](const Part* parts, size_t count) {
        for (size_t panel = begin; panel < set_end; panel += 2) {
          const PackedBF16* first = weights + panel * blocks;
          const bool two_panels = panel + 1 < set_end;
          if (count == 2) {
            two_panels ? Multiply<2, 2>(call, parts, panel, first, blocks)
                       : Multiply<2, 1>(call, parts, panel, first, blocks);
          } else {
            two_panels ? Multiply<1, 2>(call, parts, panel, first, blocks)
                       : Multiply<1, 1>(call, parts, panel, first, blocks);
          }
        }
      });
    }
  }

 private:
  template <int kParts, int kPanels>
  static void Multiply(const TileCall& call, const Part* parts, size_t panel,
                       const PackedBF16* weights, size_t blocks) {
    Unroll<kParts * kPanels>([&](auto sum) __attribute__((always_inline)) {
      constexpr int s = decltype(sum)::value;
      Tiles::template Zero<SumTile(s / kPanels, s % kPanels)>();
    });
    for (size_t i = 0; i < blocks; ++i) {
      Unroll<kPanels>([&](auto tile) __attribute__((always_inline)) {
        constexpr int p = decltype(tile)::value;
        Tiles::template Load<WeightTile(p)>(weights[p * blocks + i].pairs, kPieceBytes);
      });
      Unroll<kParts>([&](auto part) __attribute__((always_inline)) {
        constexpr int g = decltype(part)::value;
        LoadRows<Tiles, RowTile(g)>(parts[g], i, 0);
        Unroll<kPanels>([&](auto tile) __attribute__((always_inline)) {
          constexpr int p = decltype(tile)::value;
          Tiles::template AddBfloat16Dots<SumTile(g, p), RowTile(g), WeightTile(p)>();
        });
      });
    }
    Unroll<kParts * kPanels>([&](auto sum) __attribute__((always_inline)) {
      constexpr int g = decltype(sum)::value / kPanels;
      constexpr int p = decltype(sum)::value % kPanels;
      Stored stored;
      Tiles::template Store<SumTile(g, p)>(&stored, sizeof(stored.at[0]));
      for (size_t m = 0; m < parts[g].rows; ++m) {
        call.SetSums(parts[g].first + m, panel + p, _mm512_castsi512_ps(stored.ints(m)));
      }
    });
  }
};

// --- Calls.

// Of quantised types: block of columns after block of columns for a set of panels, each unpacked
// once for all rows. Between the blocks the sums wait in the output.
template <typename Kernel>
class Blockwise {
 public:
  using Tiles = typename Kernel::Tiles;
  static constexpr ActivationFormat kFormat = Kernel::kFormat;

  static void Run(const TileCall& call, size_t row_begin, size_t row_end, size_t begin,
                  size_t end) {
    using Block = typename Kernel::Block;
    const size_t blocks = (call.job().columns + Block::kColumns - 1) / Block::kColumns;
    const auto* weights = static_cast<const Block*>(call.job().weights);
    ConfigureTiles<Tiles>(Kernel::kTileRowBytes);
    Kernel kernel;
    for (; begin < end; begin += kSetPanels) {
      const size_t set_end = Least(begin + kSetPanels, end);
      for (size_t first = 0; first < blocks; first += Kernel::kBlocks) {
        const size_t count = Least(Kernel::kBlocks, blocks - first);
        for (size_t panel = begin; panel < set_end; ++panel) {
          kernel.Unpack(weights + panel * blocks + first, count);
          call.ForParts<Kernel::kParts>(
              row_begin, row_end, [&](const Part* parts, size_t part_count) {
                kernel.Multiply(call, parts, part_count, panel, first, count);
              });
        }
      }
    }
  }
};

// Divides a call's rows between tiles and kFewRows, which does the same without them.
template <typename Tiles, typename Loops, MatmulFunction kFewRows>
void TileProduct(const MatmulJob& job, size_t panel_begin, size_t panel_end) {
  const auto few_rows = [&](size_t begin, size_t end) {
    if (begin == end) return;
    MatmulJob part = job;
    part.first_row += begin;
    part.batch = end - begin;
    if (part.to_rows == nullptr) {
      part.out += begin * part.out_stride;
    } else {
      part.to_rows += begin;
    }
    kFewRows(part, panel_begin, panel_end);
  };
  if (job.batch < kFewestRows) return few_rows(0, job.batch);
  const TileCall call(job, Loops::kFormat);
  const size_t in_first_group = call.GroupEnd(0);
  const size_t in_last_group = (job.first_row + job.batch) % kGroupRows;
  const size_t begin = in_first_group < kFewestPartRows ? in_first_group : 0;
  const size_t end = job.batch - (in_last_group < kFewestPartRows ? in_last_group : 0);
  few_rows(0, begin);
  few_rows(end, job.batch);
  for (size_t row = begin; row < end;) {
    const size_t set_end = Least(call.GroupEnd(row) + kSetRows - kGroupRows, end);
    Loops::Run(call, row, set_end, panel_begin, panel_end);
    row = set_end;
  }
  Tiles::Release();
}

}  // namespace
}  // namespace aster::kernels
