// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Products of quantised weights with tile registers: some blocks of a panel are unpacked, and then
// multiplied with all rows. For sources of one instruction set: everything is in an unnamed
// namespace. Must not know how a call is divided (matmul_amx_body.h).
#pragma once

#include <immintrin.h>

#include "kernels/matmul_formats.h"
#include "kernels/x86/amx_call.h"
#include "kernels/x86/iq2_xxs_avx512.h"

namespace aster::kernels {
namespace {

// --- How weights are unpacked (matmul_formats.h): without sums, and a group's scale in both halves
// of a lane.

struct Unpacked {
  using V = Vector;
  static constexpr bool kSigned = true;
  template <int>
  using Sum = void;
  template <int>
  using SignedSum = void;
  template <int>
  using ScaledSum = void;
  template <int>
  using SignedScaledSum = void;

  using Scale = __m512i;
  template <int h>
  static Scale ScaleOf(__m512i pairs) {
    const __m512i low = _mm512_and_si512(pairs, _mm512_set1_epi32(0xffff));
    return h == 0 ? _mm512_or_si512(low, _mm512_slli_epi32(low, 16))
                  : _mm512_or_si512(_mm512_srli_epi32(pairs, 16), _mm512_andnot_si512(low, pairs));
  }
};

// --- Types with a scale per 32 weights: a tile of sums for each 32 columns, since a step of floats
// follows.

template <typename TilesType, typename Q, int kOffset>
class ScaledTiles {
 public:
  using Tiles = TilesType;
  using Block = typename Q::Block;
  static constexpr ActivationFormat kFormat = ActivationFormat::kInt8Per32;
  static constexpr size_t kParts = 1;
  static constexpr size_t kTileRowBytes = 32;
  static constexpr size_t kBlocks = 16;  // that are unpacked together

  void Unpack(const Block* blocks, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      for (int group = 0; group < 2; ++group) {
        Unroll<8>([&](auto quad) __attribute__((always_inline)) {
          constexpr int t = decltype(quad)::value;
          const __m512i bytes = Q::template Quad<t>(blocks[i], group);
          _mm512_store_si512(quads_[i][group][t],
                             _mm512_sub_epi8(bytes, _mm512_set1_epi8(kOffset)));
        });
        _mm512_store_ps(scales_[i][group], Q::Scale(blocks[i], group));
      }
    }
  }

  // Adds the products of `count` blocks, from the matrix's block `first` on.
  void Multiply(const TileCall& call, const Part* part, size_t, size_t panel, size_t first,
                size_t count) {
    if (part->rows == kGroupRows) {
      MultiplyRows<true>(call, *part, panel, first, count);
    } else {
      MultiplyRows<false>(call, *part, panel, first, count);
    }
  }

 private:
  struct BlockDots {
    Stored groups[2];
  };

  template <bool kAllRows>
  void MultiplyRows(const TileCall& call, const Part& part, size_t panel, size_t first,
                    size_t count) const {
    const size_t rows = kAllRows ? kGroupRows : part.rows;
    __m512 sums[kGroupRows];
    for (size_t m = 0; m < rows; ++m) {
      sums[m] = first == 0 ? Vector::Zero() : call.Sums(part.first + m, panel);
    }
    BlockDots dots[2];
    for (size_t i = 0; i < count; ++i) {
      i % 2 == 0 ? Dots<0>(part, first, i, dots[0]) : Dots<1>(part, first, i, dots[1]);
      if (i > 0) Add(part, rows, first, i - 1, dots[(i - 1) % 2], sums);
    }
    Add(part, rows, first, count - 1, dots[(count - 1) % 2], sums);
    for (size_t m = 0; m < rows; ++m) call.SetSums(part.first + m, panel, sums[m]);
  }

  // Two pairs of tiles take turns, so that none waits for what an earlier block does with it.
  template <int turn>
  void Dots(const Part& part, size_t first, size_t i, BlockDots& dots) const {
    Unroll<2>([&](auto half) __attribute__((always_inline)) {
      constexpr int h = decltype(half)::value;
      Tiles::template Zero<SumTile(turn, h)>();
      LoadRows<Tiles, RowTile(h)>(part, first + i, 32 * h);
      Tiles::template Load<WeightTile(h)>(quads_[i][h], kPieceBytes);
      Tiles::template AddSignedDots<SumTile(turn, h), RowTile(h), WeightTile(h)>();
      Tiles::template Store<SumTile(turn, h)>(&dots.groups[h], sizeof(dots.groups[h].at[0]));
    });
  }

  [[gnu::always_inline]] void Add(const Part& part, size_t rows, size_t first, size_t i,
                                  const BlockDots& dots, __m512* sums) const {
    for (int group = 0; group < 2; ++group) {
      const __m512 scale = _mm512_load_ps(scales_[i][group]);
      const uint8_t* words = part.word((first + i) * kPer32Words + kPer32Scale + group);
#pragma GCC unroll 16
      for (size_t m = 0; m < rows; ++m) {
        const __m512 both = Vector::Multiply(scale, Vector::Broadcast(words + m * kWordBytes));
        sums[m] = Vector::Fma(Vector::ToFloats(dots.groups[group].ints(m)), both, sums[m]);
      }
    }
  }

  alignas(64) uint8_t quads_[kBlocks][2][8][kPieceBytes];
  alignas(64) float scales_[kBlocks][2][kPanelRows];
};

// --- Super-blocks: the groups' integer scales are multiplied into the weights, which then have up
// to fourteen bits: a plane of their low bytes, unsigned, and one of the high bytes, signed. So a
// whole block of 256 columns is summed up in tiles, 256 * high + low.

template <typename TilesType, typename Q, int kPlanes>
class SuperTiles {
 public:
  using Tiles = TilesType;
  using Block = typename Q::Block;
  static constexpr ActivationFormat kFormat = ActivationFormat::kInt8Per256;
  static constexpr size_t kParts = 2;
  static constexpr size_t kTileRowBytes = kPieceBytes;
  static constexpr size_t kBlocks = 2;  // that are unpacked together

  void Unpack(const Block* blocks, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      for (int pair = 0; pair < kPairs; ++pair) {
        Unroll<2>([&](auto half) __attribute__((always_inline)) {
          UnpackGroup<decltype(half)::value>(blocks[i], pair, planes_[i]);
        });
        if constexpr (Q::kMins) sum_factors_[i][pair] = Q::SumFactors(blocks[i], pair);
      }
      scales_[i] = Q::BlockScale(blocks[i]);
      if constexpr (Q::kMins) min_scales_[i] = Vector::LoadHalves(blocks[i].min_scale);
    }
  }

  void Multiply(const TileCall& call, const Part* parts, size_t part_count, size_t panel,
                size_t first, size_t count) {
    if (part_count == 2) {
      MultiplyParts<2>(call, parts, panel, first, count);
    } else {
      MultiplyParts<1>(call, parts, panel, first, count);
    }
  }

 private:
  static constexpr int kPairs = 32 / Q::kQuads;
  static constexpr int kSteps = 4;  // of 64 columns

  using Planes = uint8_t[kPlanes][64][kPieceBytes];

  template <int h>
  [[gnu::always_inline]] static void UnpackGroup(const Block& block, int pair, Planes& planes) {
    const auto group = Q::template LoadGroup<h>(block, pair);
    Unroll<Q::kQuads>([&](auto quad) __attribute__((always_inline)) {
      constexpr int t = decltype(quad)::value;
      const __m512i bytes = _mm512_sub_epi8(group.template Quad<t>(), _mm512_set1_epi8(Q::kOffset));
      const __m512i even = _mm512_srai_epi16(_mm512_slli_epi16(bytes, 8), 8);
      const __m512i odd = _mm512_srai_epi16(bytes, 8);
      const __m512i even_product = _mm512_mullo_epi16(even, group.scale);
      const __m512i odd_product = _mm512_mullo_epi16(odd, group.scale);
      const __m512i low_bytes = _mm512_set1_epi16(0xff);
      const size_t at = (2 * pair + h) * Q::kQuads + t;
      _mm512_store_si512(planes[0][at], _mm512_or_si512(_mm512_and_si512(even_product, low_bytes),
                                                        _mm512_slli_epi16(odd_product, 8)));
      if constexpr (kPlanes == 2) {
        _mm512_store_si512(planes[1][at],
                           _mm512_or_si512(_mm512_srli_epi16(even_product, 8),
                                           _mm512_andnot_si512(low_bytes, odd_product)));
      }
    });
  }

  template <int kCount>
  void MultiplyParts(const TileCall& call, const Part* parts, size_t panel, size_t first,
                     size_t count) const {
    __m512 sums[kCount][kGroupRows];
    for (int g = 0; g < kCount; ++g) {
      for (size_t m = 0; m < parts[g].rows; ++m) {
        sums[g][m] = first == 0 ? Vector::Zero() : call.Sums(parts[g].first + m, panel);
      }
    }
    Stored dots[2][kCount][kPlanes];
    for (size_t i = 0; i <= count; ++i) {
      if (i < count) Dots<kCount>(parts, first, i, dots[i % 2]);
      if (i == 0) continue;
      for (int g = 0; g < kCount; ++g) Add(parts[g], first, i - 1, dots[(i - 1) % 2][g], sums[g]);
    }
    for (int g = 0; g < kCount; ++g) {
      for (size_t m = 0; m < parts[g].rows; ++m) {
        call.SetSums(parts[g].first + m, panel, sums[g][m]);
      }
    }
  }

  template <int kCount>
  void Dots(const Part* parts, size_t first, size_t i, Stored (&dots)[kCount][kPlanes]) const {
    Unroll<kCount * kPlanes>([&](auto sum) __attribute__((always_inline)) {
      constexpr int s = decltype(sum)::value;
      Tiles::template Zero<SumTile(s / kPlanes, s % kPlanes)>();
    });
    for (int step = 0; step < kSteps; ++step) {
      Tiles::template Load<WeightTile(0)>(planes_[i][0][16 * step], kPieceBytes);
      if constexpr (kPlanes == 2) {
        Tiles::template Load<WeightTile(1)>(planes_[i][1][16 * step], kPieceBytes);
      }
      Unroll<kCount>([&](auto part) __attribute__((always_inline)) {
        constexpr int g = decltype(part)::value;
        LoadRows<Tiles, RowTile(g)>(parts[g], kSteps * (first + i) + step, 0);
        Tiles::template AddUnsignedDots<SumTile(g, 0), RowTile(g), WeightTile(0)>();
        if constexpr (kPlanes == 2) {
          Tiles::template AddSignedDots<SumTile(g, 1), RowTile(g), WeightTile(1)>();
        }
      });
    }
    Unroll<kCount * kPlanes>([&](auto sum) __attribute__((always_inline)) {
      constexpr int g = decltype(sum)::value / kPlanes;
      constexpr int p = decltype(sum)::value % kPlanes;
      Tiles::template Store<SumTile(g, p)>(&dots[g][p], sizeof(dots[g][p].at[0]));
    });
  }

  [[gnu::always_inline]] void Add(const Part& part, size_t first, size_t i,
                                  const Stored (&dots)[kPlanes], __m512* sums) const {
    const uint8_t* words = part.word((first + i) * kPer256Words);
    const size_t next_word = part.group_rows * kWordBytes;
    for (size_t m = 0; m < part.rows; ++m, words += kWordBytes) {
      const __m512 row_scale = Vector::Broadcast(words + kPer256Scale * next_word);
      __m512i total = dots[0].ints(m);
      if constexpr (kPlanes == 2) {
        total = _mm512_add_epi32(total, _mm512_slli_epi32(dots[1].ints(m), 8));
      }
      const __m512 scale = Q::Scale(Vector::Multiply(scales_[i], row_scale));
      sums[m] = Vector::Fma(Vector::ToFloats(total), scale, sums[m]);
      if constexpr (Q::kMins) {
        constexpr size_t kFirstWord = Q::kQuads == 8 ? kPer256Sums32 : kPer256Sums16;
        __m512i mins = Vector::ZeroInts();
#pragma GCC unroll 8
        for (int pair = 0; pair < kPairs; ++pair) {
          mins = Vector::AddPairProducts(mins, sum_factors_[i][pair],
                                         words + (kFirstWord + pair) * next_word);
        }
        const __m512 min_scale = Vector::Multiply(min_scales_[i], row_scale);
        sums[m] = Vector::FmaMinus(Vector::ToFloats(mins), min_scale, sums[m]);
      }
    }
  }

  alignas(64) Planes planes_[kBlocks];
  __m512 scales_[kBlocks];
  __m512 min_scales_[kBlocks];
  __m512i sum_factors_[kBlocks][kPairs];
};

struct Iq2XxsUnpacked : Iq2XxsInRegisters<Unpacked> {
  template <int h>
  static Group LoadGroup(const Block& block, int pair) {
    Group group = Iq2XxsInRegisters<Unpacked>::LoadGroup<h>(block, pair);
    group.scale = _mm512_or_si512(group.scale, _mm512_slli_epi32(group.scale, 16));
    return group;
  }
};

}  // namespace
}  // namespace aster::kernels
