// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Matrix products with tile registers, for many rows of activations. A set of panels is multiplied
// with a set of rows, a few hundred columns at a time: these columns of a panel stay in the
// first-level cache for all rows, and the sums of the set in the second-level one. Sums in tiles
// are exact; scales are applied to them with AVX-512, in the order of ref/matmul_ref.cc.
// docs/amx.md says what limits the speed.
//
// `Tiles` is AmxTiles (amx_tiles.h), or in tests a class that computes the same. For sources of one
// instruction set: everything is in an unnamed namespace.
#pragma once

#include <immintrin.h>

#include "kernels/x86/amx_blocks.h"
#include "kernels/x86/amx_call.h"
#include "kernels/x86/amx_scratch.h"

namespace aster::kernels {
namespace {

using Sums = Stored[kSetPanels][kSetParts];

// A thread's scratch memory (amx_scratch.h): sums, and a kernel's data about activations.
template <typename Kernel>
struct Scratch {
  Sums sums;
  typename Kernel::Rows rows;
};

// --- bfloat16: sums are floats in tiles, and activations and weights are tiles in memory. A kernel
// that unpacks nothing; two parts and two panels at a time, so that each loaded tile is used twice.

template <typename Tiles>
class Bfloat16Loops {
 public:
  static constexpr ActivationFormat kFormat = ActivationFormat::kBF16;
  static constexpr size_t kTileRowBytes = kPieceBytes;
  static constexpr size_t kFewestRows = 16;

  static void Run(const TileCall& call, const Part* parts, size_t part_count, size_t begin,
                  size_t panel_count, Sums& sums) {
    const size_t blocks = (call.job().columns + PackedBF16::kColumns - 1) / PackedBF16::kColumns;
    const auto* weights = static_cast<const PackedBF16*>(call.job().weights) + begin * blocks;
    for (size_t first = 0; first < blocks; first += kBlocks) {
      const size_t count = Least(kBlocks, blocks - first);
      for (size_t p = 0; p < panel_count; p += 2) {
        const PackedBF16* const panel = weights + p * blocks + first;
        const bool two_panels = p + 1 < panel_count;
        const bool is_last = p + 2 >= panel_count;
        const PackedBF16* const next = is_last ? weights + first + count : panel + 2 * blocks;
        const size_t next_count = is_last ? Least(count, blocks - first - count) : count;
        const size_t next_bytes = next_count * sizeof(PackedBF16);
        const size_t times = (part_count + 1) / 2;
        // Prefetching a panel that does not exist has no effect.
        Coming coming[2] = {{next, next_bytes, times}, {next + blocks, next_bytes, times}};
        for (size_t g = 0; g < part_count; g += 2) {
          for (Coming& some : coming) some.AskForSome();
          const Product product = {&parts[g], first, panel, blocks, count, sums[p] + g};
          if (g + 1 < part_count) {
            two_panels ? Multiply<2, 2>(product) : Multiply<2, 1>(product);
          } else {
            two_panels ? Multiply<1, 2>(product) : Multiply<1, 1>(product);
          }
        }
      }
    }
  }

 private:
  // 16 KiB of two panels, and as much of two parts, are less than a first-level cache.
  static constexpr size_t kBlocks = 8;

  struct Product {
    const Part* parts;
    size_t first;
    const PackedBF16* weights;
    size_t panel_blocks;
    size_t count;
    Stored* sums;  // of the first panel; those of the next are kSetParts further
  };

  template <int kParts, int kPanels>
  static void Multiply(const Product& product) {
    Unroll<kParts * kPanels>([&](auto sum) __attribute__((always_inline)) {
      constexpr int g = decltype(sum)::value / kPanels, p = decltype(sum)::value % kPanels;
      if (product.first == 0) {
        Tiles::template Zero<SumTile(g, p)>();
      } else {
        LoadTile<Tiles, SumTile(g, p)>(product.sums[p * kSetParts + g]);
      }
    });
    for (size_t i = 0; i < product.count; ++i) {
      Unroll<kPanels>([&](auto tile) __attribute__((always_inline)) {
        constexpr int p = decltype(tile)::value;
        const PackedBF16& block = product.weights[p * product.panel_blocks + i];
        Tiles::template Load<WeightTile(p)>(block.pairs, kPieceBytes);
      });
      Unroll<kParts>([&](auto part) __attribute__((always_inline)) {
        constexpr int g = decltype(part)::value;
        LoadRows<Tiles, RowTile(g)>(product.parts[g], product.first + i, 0);
        Unroll<kPanels>([&](auto tile) __attribute__((always_inline)) {
          constexpr int p = decltype(tile)::value;
          Tiles::template AddBfloat16Dots<SumTile(g, p), RowTile(g), WeightTile(p)>();
        });
      });
    }
    Unroll<kParts * kPanels>([&](auto sum) __attribute__((always_inline)) {
      constexpr int g = decltype(sum)::value / kPanels, p = decltype(sum)::value % kPanels;
      StoreTile<Tiles, SumTile(g, p)>(&product.sums[p * kSetParts + g]);
    });
  }
};

// --- Quantised types: block of columns after block of columns, each unpacked once for all rows.

template <typename Kernel>
class QuantisedLoops {
 public:
  static constexpr ActivationFormat kFormat = Kernel::kFormat;
  static constexpr size_t kTileRowBytes = Kernel::kTileRowBytes;
  static constexpr size_t kFewestRows = Kernel::kFewestRows;

  static void Run(const TileCall& call, const Part* parts, size_t part_count, size_t begin,
                  size_t panel_count, Sums& sums) {
    using Block = typename Kernel::Block;
    static_assert(sizeof(Scratch<Kernel>) <= kAmxScratchBytes);
    auto* scratch = reinterpret_cast<Scratch<Kernel>*>(&sums);
    const size_t blocks = (call.job().columns + Block::kColumns - 1) / Block::kColumns;
    const auto* weights = static_cast<const Block*>(call.job().weights) + begin * blocks;
    for (size_t p = 0; p < panel_count; ++p) {
      __builtin_memset(sums[p], 0, part_count * sizeof(Stored));
    }
    Kernel kernel(&scratch->rows);
    for (size_t first = 0; first < blocks; first += Kernel::kBlocks) {
      const Columns columns = {parts, part_count, first, Least(Kernel::kBlocks, blocks - first)};
      kernel.Start(columns);
      for (size_t p = 0; p < panel_count; p += Kernel::kPanels) {
        const size_t panels = Least(Kernel::kPanels, panel_count - p);
        const Block* const here = weights + p * blocks + first;
        const bool is_last = p + panels == panel_count;
        const Block* const next =
            is_last ? weights + first + columns.count : here + Kernel::kPanels * blocks;
        const size_t next_count =
            is_last ? Least(columns.count, blocks - first - columns.count) : columns.count;
        // Prefetching a panel that does not exist has no effect.
        Coming coming[Kernel::kPanels];
        for (size_t k = 0; k < panels; ++k) {
          kernel.Unpack(k, here + k * blocks, columns.count);
          coming[k] =
              Coming(next + k * blocks, next_count * sizeof(Block), Kernel::UnitsOfPanel(columns));
        }
        kernel.Multiply(columns, panels, coming, sums + p);
      }
    }
  }
};

// --- Calls.

// Multiplies rows `begin` to `end`, at most kSetRows.
template <typename Loops>
void MultiplySet(const TileCall& call, size_t begin, size_t end, size_t panel_begin,
                 size_t panel_end) {
  Part parts[kSetParts];
  const size_t part_count = call.PartsOf(begin, end, parts);
  Sums& sums = *reinterpret_cast<Sums*>(AmxScratch());
  for (size_t panel = panel_begin; panel < panel_end; panel += kSetPanels) {
    const size_t panel_count = Least(kSetPanels, panel_end - panel);
    Loops::Run(call, parts, part_count, panel, panel_count, sums);
    for (size_t g = 0; g < part_count; ++g) {
      for (size_t m = 0; m < parts[g].rows; ++m) {
        for (size_t p = 0; p < panel_count; ++p) {
          call.SetSums(parts[g].first + m, panel + p, sums[p][g].floats(m));
        }
      }
    }
  }
}

// Divides a call's rows between tiles and kFewRows, which computes the same without them.
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
  if (job.batch < Loops::kFewestRows) return few_rows(0, job.batch);
  const TileCall call(job, Loops::kFormat);
  const size_t in_first_group = call.GroupEnd(0);
  const size_t in_last_group = (job.first_row + job.batch) % kGroupRows;
  const size_t begin = in_first_group < kFewestPartRows ? in_first_group : 0;
  const size_t end = job.batch - (in_last_group < kFewestPartRows ? in_last_group : 0);
  few_rows(0, begin);
  few_rows(end, job.batch);
  ConfigureTiles<Tiles>(Loops::kTileRowBytes);
  for (size_t row = begin; row < end;) {
    const size_t set_end = Least(call.GroupEnd(row) + kSetRows - kGroupRows, end);
    MultiplySet<Loops>(call, row, set_end, panel_begin, panel_end);
    row = set_end;
  }
  Tiles::Release();
}

}  // namespace
}  // namespace aster::kernels
