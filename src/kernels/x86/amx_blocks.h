// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Products of quantised weights with tile registers: some columns of a panel are unpacked, and then
// multiplied with all rows. For sources of one instruction set: everything is in an unnamed
// namespace. Must not know how a call is divided (matmul_amx_body.h).
// | While tiles compute, vectors of floats have one port instead of two. So little is done with
// vectors: everything possible is summed up in tiles, as floats if that is exact.
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

// Two integers that bfloat16 holds exactly (eight bits and a sign), side by side in each lane.
[[gnu::always_inline]] inline __m512i Bfloat16Pairs(__m512i first, __m512i second) {
  constexpr int kFirstOrBothOthers = 0xf8;
  const __m512i low = _mm512_srli_epi32(_mm512_castps_si512(_mm512_cvtepi32_ps(first)), 16);
  const __m512i high = _mm512_castps_si512(_mm512_cvtepi32_ps(second));
  return _mm512_ternarylogic_epi32(low, high, _mm512_set1_epi32(static_cast<int>(0xffff0000)),
                                   kFirstOrBothOthers);
}

// --- The order in which tiles and vectors compute. A unit is a block of columns of a part. Its
// sums are stored while the tiles compute the next unit, and then scaled: if a sum is stored at
// once, the tiles have to wait.

struct Columns {
  const Part* parts;  // [part_count]
  size_t part_count;
  size_t first;  // block of the matrix
  size_t count;  // of blocks
};

// For all parts.
using PanelSums = Stored[kSetParts];

template <typename Kernel>
[[gnu::always_inline]] inline void AddRows(const Kernel& kernel, const Columns& columns, size_t g,
                                           size_t i, const typename Kernel::Results& results,
                                           Stored* sums) {
  const size_t rows = columns.parts[g].rows;
  if (rows == kGroupRows) return kernel.template Add<kGroupRows>(columns, g, i, 0, results, sums);
  for (size_t m = 0; m < rows; ++m) kernel.template Add<1>(columns, g, i, m, results, sums);
}

// The activations of the unit after part g and block i.
template <typename Kernel>
[[gnu::always_inline]] inline const uint8_t* NextPieces(const Columns& columns, size_t g,
                                                        size_t i) {
  constexpr size_t kPieces = Kernel::Block::kColumns / kInt8Piece;
  const bool same_part = i + 1 < columns.count || g + 1 == columns.part_count;
  return same_part ? columns.parts[g].piece(kPieces * (columns.first + i + 1))
                   : columns.parts[g + 1].piece(kPieces * columns.first);
}

// Prefetches a tile that is needed soon.
[[gnu::always_inline]] inline void AskFor(const uint8_t* pieces) {
#pragma GCC unroll 16
  for (size_t m = 0; m < kGroupRows; ++m) __builtin_prefetch(pieces + m * kPieceBytes);
}

// `Kernel` has Results; Dots<turn>(g, i, before), which leaves the sums of part g and unpacked
// block i in the tiles of that turn and stores those of the other turn; Store<turn>(before); and
// Add(), which scales what was stored.
template <typename Kernel>
void MultiplyInTurns(const Kernel& kernel, const Columns& columns, Stored* sums) {
  typename Kernel::Results results[2];
  size_t part_before = 0;
  size_t block_before = 0;
  size_t unit = 0;
  const auto add = [&]() __attribute__((always_inline)) {
    AddRows(kernel, columns, part_before, block_before, results[unit % 2], &sums[part_before]);
  };
  for (size_t g = 0; g < columns.part_count; ++g) {
    for (size_t i = 0; i < columns.count; ++i, ++unit) {
      auto& before = results[unit % 2];
      const uint8_t* next = NextPieces<Kernel>(columns, g, i);
      unit % 2 == 0 ? kernel.template Dots<0>(columns, g, i, next, &before)
                    : kernel.template Dots<1>(columns, g, i, next, &before);
      if (unit > 0) add();
      part_before = g;
      block_before = i;
    }
  }
  auto& before = results[unit % 2];
  unit % 2 == 0 ? kernel.template Store<1>(&before) : kernel.template Store<0>(&before);
  add();
}

// --- Types with a scale per 32 weights: sums of 32 columns, as a step of floats follows.

template <typename TilesType, typename Q, int kOffset>
class ScaledTiles {
 public:
  using Tiles = TilesType;
  using Block = typename Q::Block;
  static constexpr ActivationFormat kFormat = ActivationFormat::kInt8Per32;
  static constexpr size_t kTileRowBytes = 32;
  static constexpr size_t kFewestRows = 16;
  static constexpr size_t kBlocks = 8;  // unpacked together
  static constexpr size_t kPanels = 1;  // the same

  // Prefetches no weights, as that gains nothing.
  static size_t UnitsOfPanel(const Columns&) { return 1; }

  struct Rows {};
  struct Results {
    Stored groups[2];
  };

  explicit ScaledTiles(Rows*) {}

  void Start(const Columns&) {}

  void Unpack(size_t, const Block* blocks, size_t count) {
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

  void Multiply(const Columns& columns, size_t, Coming*, PanelSums* sums) const {
    MultiplyInTurns(*this, columns, sums[0]);
  }

  template <int turn>
  [[gnu::always_inline]] void Dots(const Columns& columns, size_t g, size_t i, const uint8_t* next,
                                   Results* before) const {
    AskFor(next);
    Unroll<2>([&](auto half) __attribute__((always_inline)) {
      constexpr int h = decltype(half)::value;
      Tiles::template Zero<SumTile(turn, h)>();
      LoadRows<Tiles, RowTile(h)>(columns.parts[g], columns.first + i, 32 * h);
      Tiles::template Load<WeightTile(h)>(quads_[i][h], kPieceBytes);
      Tiles::template AddSignedDots<SumTile(turn, h), RowTile(h), WeightTile(h)>();
      StoreTile<Tiles, SumTile(1 - turn, h)>(&before->groups[h]);
    });
  }

  template <int turn>
  void Store(Results* results) const {
    StoreTile<Tiles, SumTile(turn, 0)>(&results->groups[0]);
    StoreTile<Tiles, SumTile(turn, 1)>(&results->groups[1]);
  }

  template <int kRows>
  [[gnu::always_inline]] void Add(const Columns& columns, size_t g, size_t i, size_t m,
                                  const Results& results, Stored* sums) const {
    const Part& part = columns.parts[g];
    const uint8_t* words = part.word((columns.first + i) * kPer32Words + kPer32Scale);
    const uint8_t* next_words = words + part.group_rows * kWordBytes;
    const __m512 scales[2] = {_mm512_load_ps(scales_[i][0]), _mm512_load_ps(scales_[i][1])};
    Unroll<kRows>([&](auto row) __attribute__((always_inline)) {
      const size_t r = m + decltype(row)::value;
      const __m512 first = Vector::Multiply(scales[0], Vector::Broadcast(words + r * kWordBytes));
      const __m512 second =
          Vector::Multiply(scales[1], Vector::Broadcast(next_words + r * kWordBytes));
      __m512 sum = sums->floats(r);
      sum = Vector::Fma(Vector::ToFloats(results.groups[0].ints(r)), first, sum);
      sum = Vector::Fma(Vector::ToFloats(results.groups[1].ints(r)), second, sum);
      sums->Set(r, sum);
    });
  }

 private:
  alignas(64) uint8_t quads_[kBlocks][2][8][kPieceBytes];
  alignas(64) float scales_[kBlocks][2][kPanelRows];
};

// --- Super-blocks: the groups' integer scales are multiplied into the weights, which then have up
// to fourteen bits: a plane of their low bytes, unsigned, and one of the high bytes, signed. So a
// whole block of 256 columns is summed up in tiles, 256 * high + low.
// | The products of minima with sums of activations are less than 2^24 together, so bfloat16 and
// floats hold them exactly: a sum is 32 a + b, two numbers of bfloat16 side by side.
// | A tile of weights is loaded once for two parts, and the rows of a part come from the
// second-level cache once for all panels that are unpacked together.

template <typename TilesType, typename Q, int kPlanes>
class SuperTiles {
 public:
  using Tiles = TilesType;
  using Block = typename Q::Block;
  static constexpr ActivationFormat kFormat = ActivationFormat::kInt8Per256;
  static constexpr size_t kTileRowBytes = kPieceBytes;
  static constexpr size_t kFewestRows = 16;
  static constexpr size_t kBlocks = 1;            // unpacked together
  static constexpr size_t kPanels = 4 / kPlanes;  // the same: half of a first-level cache at most

  // The sums of each group of the rows' activations.
  struct Rows {
    Stored sums[kBlocks][kSetParts];
  };

  explicit SuperTiles(Rows* rows) : rows_(rows) {}

  void Start(const Columns& columns) {
    if constexpr (Q::kMins) {
      for (size_t i = 0; i < columns.count; ++i) {
        for (size_t g = 0; g < columns.part_count; ++g) {
          const Part& part = columns.parts[g];
          SplitSums(part, part.word((columns.first + i) * kPer256Words + kFirstSum),
                    &rows_->sums[i][g]);
        }
      }
    }
  }

  void Unpack(size_t panel, const Block* blocks, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      Weights& to = weights_[panel][i];
      for (int pair = 0; pair < kPairs; ++pair) {
        Unroll<2>([&](auto half) __attribute__((always_inline)) {
          UnpackGroup<decltype(half)::value>(blocks[i], pair, to);
        });
        if constexpr (Q::kMins) {
          const __m512i mins = Q::SumFactors(blocks[i], pair);
          const __m512i first = _mm512_and_si512(mins, _mm512_set1_epi32(0xffff));
          const __m512i second = _mm512_srli_epi32(mins, 16);
          to.mins.Set(2 * pair, Bfloat16Pairs(first, first));
          to.mins.Set(2 * pair + 1, Bfloat16Pairs(second, second));
        }
      }
      to.scale = Q::BlockScale(blocks[i]);
      if constexpr (Q::kMins) {
        for (int row = kGroups; row < 16; ++row) to.mins.Set(row, Vector::ZeroInts());
        to.min_scale = Vector::LoadHalves(blocks[i].min_scale);
      }
    }
  }

  // Prefetches some of coming[p] with each of this number of units of panel p.
  static size_t UnitsOfPanel(const Columns& columns) {
    return (columns.part_count + 1) / 2 * columns.count;
  }

  void Multiply(const Columns& columns, size_t panels, Coming* coming, PanelSums* sums) const {
    const Call call = {columns, panels, coming, sums};
    const size_t in_pairs = columns.part_count / 2 * 2;
    if (in_pairs > 0) MultiplyParts<2>(call, 0, in_pairs);
    if (in_pairs < columns.part_count) MultiplyParts<1>(call, in_pairs, columns.part_count);
  }

 private:
  static constexpr int kPairs = 32 / Q::kQuads;
  static constexpr int kGroups = 2 * kPairs;
  static constexpr int kSteps = 4;  // of 64 columns
  static constexpr size_t kFirstSum = Q::kQuads == 8 ? kPer256Sums32 : kPer256Sums16;

  // An unpacked block.
  struct Weights {
    Stored planes[kPlanes][kSteps];
    Stored mins;
    __m512 scale;
    __m512 min_scale;
  };
  struct Call {
    const Columns& columns;
    size_t panels;
    Coming* coming;
    PanelSums* sums;
  };
  // The results of a part and block.
  struct Results {
    Stored planes[kPlanes];
    Stored mins;
  };
  // A block of a panel, and one or two parts.
  struct Unit {
    size_t part;
    size_t panel;
    size_t block;
  };

  // Multiplies parts `begin` to `end`, kParts at a time, for which weights are loaded once.
  template <int kParts>
  void MultiplyParts(const Call& call, size_t begin, size_t end) const {
    Results results[2][kParts];
    Unit before = {};
    bool has_before = false;
    size_t turn = 0;
    for (size_t g = begin; g < end; g += kParts) {
      for (size_t p = 0; p < call.panels; ++p) {
        for (size_t i = 0; i < call.columns.count; ++i) {
          call.coming[p].AskForSome();
          const Unit unit = {g, p, i};
          Results* const those = results[1 - turn];
          if constexpr (Q::kMins) MultiplyMins<kParts>(unit);
          Unroll<kSteps>([&](auto at) __attribute__((always_inline)) {
            constexpr int step = decltype(at)::value;
            MultiplyStep<kParts, step>(call, unit, those, results[turn]);
            if (has_before) AddRows<kParts>(call, before, 4 * step, those);
          });
          before = unit;
          has_before = true;
          turn = 1 - turn;
        }
      }
    }
    Results* const those = results[1 - turn];
    Unroll<kParts * kPlanes>([&](auto sum) __attribute__((always_inline)) {
      constexpr int part = decltype(sum)::value / kPlanes, plane = decltype(sum)::value % kPlanes;
      StoreTile<Tiles, SumTile(part, plane)>(&those[part].planes[plane]);
    });
    for (size_t m = 0; m < kGroupRows; m += 4) AddRows<kParts>(call, before, m, those);
  }

  // Uses the last tiles of rows and weights, which are free until a unit's first product.
  template <int kParts>
  [[gnu::always_inline]] void MultiplyMins(const Unit& unit) const {
    LoadTile<Tiles, WeightTile(0)>(weights_[unit.panel][unit.block].mins);
    Unroll<kParts>([&](auto part) __attribute__((always_inline)) {
      constexpr int p = decltype(part)::value;
      Tiles::template Zero<MinSumTile(p)>();
      LoadTile<Tiles, RowTile(0)>(rows_->sums[unit.block][unit.part + p]);
      Tiles::template AddBfloat16Dots<MinSumTile(p), RowTile(0), WeightTile(0)>();
    });
  }
  static constexpr int MinSumTile(int part) { return part == 0 ? RowTile(1) : WeightTile(1); }

  // A unit's sums are stored while the tiles compute the next one: `before` gets those of the unit
  // before, `here` the products of minima of this one.
  template <int kParts, int step>
  [[gnu::always_inline]] void MultiplyStep(const Call& call, const Unit& unit, Results* before,
                                           Results* here) const {
    const Weights& weights = weights_[unit.panel][unit.block];
    Unroll<kParts * kPlanes>([&](auto sum) __attribute__((always_inline)) {
      constexpr int part = decltype(sum)::value / kPlanes, plane = decltype(sum)::value % kPlanes;
      constexpr int kSum = SumTile(part, plane), kRows = RowTile(part);
      if constexpr (plane == 0) {
        LoadRows<Tiles, kRows>(call.columns.parts[unit.part + part],
                               kSteps * (call.columns.first + unit.block) + step, 0);
      }
      if constexpr (part == 0) LoadTile<Tiles, WeightTile(plane)>(weights.planes[plane][step]);
      if constexpr (step == 0) {
        StoreTile<Tiles, kSum>(&before[part].planes[plane]);
        Tiles::template Zero<kSum>();
      }
      if constexpr (plane + 1 < kPlanes || kPlanes == 1) {
        Tiles::template AddUnsignedDots<kSum, kRows, WeightTile(plane)>();
      } else {
        Tiles::template AddSignedDots<kSum, kRows, WeightTile(plane)>();
      }
      if constexpr (Q::kMins && step == 0 && kSum == 0) {
        Unroll<kParts>([&](auto min) __attribute__((always_inline)) {
          constexpr int p = decltype(min)::value;
          StoreTile<Tiles, MinSumTile(p)>(&here[p].mins);
        });
      }
    });
  }

  // Adds rows m to m + 3 of each part.
  template <int kParts>
  [[gnu::always_inline]] void AddRows(const Call& call, const Unit& unit, size_t m,
                                      const Results* results) const {
    for (int p = 0; p < kParts; ++p) {
      const Part& part = call.columns.parts[unit.part + p];
      const size_t block = call.columns.first + unit.block;
      const uint8_t* scales = part.word(block * kPer256Words + kPer256Scale);
      const Weights& weights = weights_[unit.panel][unit.block];
      Stored* sums = &call.sums[unit.panel][unit.part + p];
      if (m + 4 <= part.rows) [[likely]] {
        Add<4>(weights, scales, m, results[p], sums);
      } else {
        for (size_t r = m; r < part.rows; ++r) Add<1>(weights, scales, r, results[p], sums);
      }
    }
  }

  template <int kRows>
  [[gnu::always_inline]] static void Add(const Weights& weights, const uint8_t* scales, size_t m,
                                         const Results& results, Stored* sums) {
    Unroll<kRows>([&](auto row) __attribute__((always_inline)) {
      const size_t r = m + decltype(row)::value;
      const __m512 row_scale = Vector::Broadcast(scales + r * kWordBytes);
      __m512i total = results.planes[0].ints(r);
      if constexpr (kPlanes == 2) {
        total = _mm512_add_epi32(total, Times256(results.planes[1].ints(r)));
      }
      const __m512 scale = Q::Scale(Vector::Multiply(weights.scale, row_scale));
      __m512 sum = Vector::Fma(Vector::ToFloats(total), scale, sums->floats(r));
      if constexpr (Q::kMins) {
        const __m512 min_scale = Vector::Multiply(weights.min_scale, row_scale);
        sum = Vector::FmaMinus(results.mins.floats(r), min_scale, sum);
      }
      sums->Set(r, sum);
    });
  }

  // Shifts by bytes, which does not use the ports of float operations.
  static __m512i Times256(__m512i ints) {
    const __m128i bytes = _mm_set_epi8(14, 13, 12, -1, 10, 9, 8, -1, 6, 5, 4, -1, 2, 1, 0, -1);
    return _mm512_shuffle_epi8(ints, _mm512_broadcast_i32x4(bytes));
  }

  // From pairs of sums of all rows to rows of sums.
  static void SplitSums(const Part& part, const uint8_t* words, Stored* rows) {
    const auto these = static_cast<__mmask16>((1u << part.rows) - 1);
    constexpr int kFours = kGroups / 4;
    for (int four = 0; four < 4; ++four) {
      __m512i split[4];
      for (int pair = 0; pair < 2; ++pair) {
        const uint8_t* from = words + (2 * (four % kFours) + pair) * part.group_rows * kWordBytes;
        const __m512i both = _mm512_maskz_loadu_epi32(these, from);
        split[2 * pair] = Split(_mm512_srai_epi32(_mm512_slli_epi32(both, 16), 16));
        split[2 * pair + 1] = Split(_mm512_srai_epi32(both, 16));
      }
      // Transposes sixteen lanes of four vectors to four lanes of sixteen rows.
      const __m512i low01 = _mm512_unpacklo_epi32(split[0], split[1]);
      const __m512i low23 = _mm512_unpacklo_epi32(split[2], split[3]);
      const __m512i high01 = _mm512_unpackhi_epi32(split[0], split[1]);
      const __m512i high23 = _mm512_unpackhi_epi32(split[2], split[3]);
      StoreFours<0>(_mm512_unpacklo_epi64(low01, low23), four, rows);
      StoreFours<1>(_mm512_unpackhi_epi64(low01, low23), four, rows);
      StoreFours<2>(_mm512_unpacklo_epi64(high01, high23), four, rows);
      StoreFours<3>(_mm512_unpackhi_epi64(high01, high23), four, rows);
    }
  }
  static __m512i Split(__m512i sum) {
    const __m512i rest = _mm512_and_si512(sum, _mm512_set1_epi32(31));
    return Bfloat16Pairs(rest, _mm512_sub_epi32(sum, rest));
  }
  template <int first>
  static void StoreFours(__m512i rows_of_fours, int four, Stored* rows) {
    Unroll<4>([&](auto lane) __attribute__((always_inline)) {
      constexpr int l = decltype(lane)::value;
      _mm_store_si128(reinterpret_cast<__m128i*>(&rows->at[4 * l + first][4 * four]),
                      _mm512_extracti32x4_epi32(rows_of_fours, l));
    });
  }

  template <int h>
  [[gnu::always_inline]] static void UnpackGroup(const Block& block, int pair, Weights& to) {
    const auto group = Q::template LoadGroup<h>(block, pair);
    Unroll<Q::kQuads>([&](auto quad) __attribute__((always_inline)) {
      constexpr int t = decltype(quad)::value;
      const __m512i bytes = _mm512_sub_epi8(group.template Quad<t>(), _mm512_set1_epi8(Q::kOffset));
      const __m512i even = _mm512_srai_epi16(_mm512_slli_epi16(bytes, 8), 8);
      const __m512i odd = _mm512_srai_epi16(bytes, 8);
      const __m512i even_product = _mm512_mullo_epi16(even, group.scale);
      const __m512i odd_product = _mm512_mullo_epi16(odd, group.scale);
      const __m512i low_bytes = _mm512_set1_epi16(0xff);
      const int at = (2 * pair + h) * Q::kQuads + t;
      to.planes[0][at / 16].Set(at % 16, _mm512_or_si512(_mm512_and_si512(even_product, low_bytes),
                                                         _mm512_slli_epi16(odd_product, 8)));
      if constexpr (kPlanes == 2) {
        to.planes[1][at / 16].Set(at % 16,
                                  _mm512_or_si512(_mm512_srli_epi16(even_product, 8),
                                                  _mm512_andnot_si512(low_bytes, odd_product)));
      }
    });
  }

  Rows* rows_;
  Weights weights_[kPanels][kBlocks];
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
