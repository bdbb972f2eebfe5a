// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Products of quantised weights with tile registers: some columns of a panel are unpacked, and then
// multiplied with all rows. For sources of one instruction set: everything is in an unnamed
// namespace. Must not know how a call is divided (matmul_amx_body.h).
//
// While tiles work, vectors of floats go through one port instead of two, so what is done with
// vectors is kept short: what can be summed up in tiles is, as floats where that is exact.
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

// --- The order in which tiles and vectors work. A unit is a block of columns of a part. Its sums
// are stored while the tiles work on the next unit, and then scaled: a sum that is stored as soon
// as it is asked for keeps the tiles waiting.
//
// `Kernel` has Results; Dots<turn>(g, i, before), which leaves the sums of part g and unpacked
// block i in the tiles of that turn and stores those of the other turn; Store<turn>(before); and
// Add(), which scales what was stored.

struct Columns {
  const Part* parts;  // [part_count]
  size_t part_count;
  size_t first;  // block of the matrix
  size_t count;  // of blocks
};

template <typename Kernel>
[[gnu::always_inline]] inline void AddRows(const Kernel& kernel, const Columns& columns, size_t g,
                                           size_t i, const typename Kernel::Results& results,
                                           Stored* sums) {
  const size_t rows = columns.parts[g].rows;
  if (rows == kGroupRows) return kernel.template Add<kGroupRows>(columns, g, i, 0, results, sums);
  for (size_t m = 0; m < rows; ++m) kernel.template Add<1>(columns, g, i, m, results, sums);
}

// Where the activations of the unit after part g and block i are.
template <typename Kernel>
[[gnu::always_inline]] inline const uint8_t* NextPieces(const Columns& columns, size_t g,
                                                        size_t i) {
  constexpr size_t kPieces = Kernel::Block::kColumns / kInt8Piece;
  const bool same_part = i + 1 < columns.count || g + 1 == columns.part_count;
  return same_part ? columns.parts[g].piece(kPieces * (columns.first + i + 1))
                   : columns.parts[g + 1].piece(kPieces * columns.first);
}

// Asks for a tile that is needed soon.
[[gnu::always_inline]] inline void AskFor(const uint8_t* pieces) {
#pragma GCC unroll 16
  for (size_t m = 0; m < kGroupRows; ++m) __builtin_prefetch(pieces + m * kPieceBytes);
}

template <typename Kernel>
void MultiplyInTurns(const Kernel& kernel, const Columns& columns, Coming coming, Stored* sums) {
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
      if constexpr (Kernel::kAsksForWeights) coming.AskForSome();
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

// --- Types with a scale per 32 weights: sums of 32 columns, since a step of floats follows.

template <typename TilesType, typename Q, int kOffset>
class ScaledTiles {
 public:
  using Tiles = TilesType;
  using Block = typename Q::Block;
  static constexpr ActivationFormat kFormat = ActivationFormat::kInt8Per32;
  static constexpr size_t kTileRowBytes = 32;
  static constexpr size_t kFewestRows = 16;
  static constexpr size_t kBlocks = 8;            // that are unpacked together
  static constexpr bool kAsksForWeights = false;  // gains nothing

  struct Rows {};
  struct Results {
    Stored groups[2];
  };

  explicit ScaledTiles(Rows*) {}

  void Start(const Columns&) {}

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
//
// The products of minima with sums of activations are less than 2^24 together, so bfloat16 and
// floats hold them exactly: a sum is 32 a + b, two numbers of bfloat16 beside each other.

template <typename TilesType, typename Q, int kPlanes>
class SuperTiles {
 public:
  using Tiles = TilesType;
  using Block = typename Q::Block;
  static constexpr ActivationFormat kFormat = ActivationFormat::kInt8Per256;
  static constexpr size_t kTileRowBytes = kPieceBytes;
  static constexpr size_t kFewestRows = 16;
  static constexpr size_t kBlocks = 2;  // that are unpacked together
  static constexpr bool kAsksForWeights = true;

  // Of the rows' activations: the sums of each group.
  struct Rows {
    Stored sums[kBlocks][kSetParts];
  };
  struct Results {
    Stored planes[kPlanes];
    Stored mins;
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

  void Unpack(const Block* blocks, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      for (int pair = 0; pair < kPairs; ++pair) {
        Unroll<2>([&](auto half) __attribute__((always_inline)) {
          UnpackGroup<decltype(half)::value>(blocks[i], pair, planes_[i]);
        });
        if constexpr (Q::kMins) {
          const __m512i mins = Q::SumFactors(blocks[i], pair);
          const __m512i first = _mm512_and_si512(mins, _mm512_set1_epi32(0xffff));
          const __m512i second = _mm512_srli_epi32(mins, 16);
          mins_[i].Set(2 * pair, Bfloat16Pairs(first, first));
          mins_[i].Set(2 * pair + 1, Bfloat16Pairs(second, second));
        }
      }
      scales_[i] = Q::BlockScale(blocks[i]);
      if constexpr (Q::kMins) {
        for (int row = kGroups; row < 16; ++row) mins_[i].Set(row, Vector::ZeroInts());
        min_scales_[i] = Vector::LoadHalves(blocks[i].min_scale);
      }
    }
  }

  template <int turn>
  [[gnu::always_inline]] void Dots(const Columns& columns, size_t g, size_t i, const uint8_t* next,
                                   Results* before) const {
    const Part& part = columns.parts[g];
    Unroll<kPlanes>([&](auto plane) __attribute__((always_inline)) {
      Tiles::template Zero<SumTile(turn, decltype(plane)::value)>();
    });
    Unroll<kSteps>([&](auto at) __attribute__((always_inline)) {
      constexpr int step = decltype(at)::value;
      LoadRows<Tiles, kRows>(part, kSteps * (columns.first + i) + step, 0);
      LoadTile<Tiles, WeightTile(0)>(planes_[i].at[0][step]);
      if constexpr (kPlanes == 1) AskFor(next + step * kGroupRows * kPieceBytes);
      Tiles::template AddUnsignedDots<SumTile(turn, 0), kRows, WeightTile(0)>();
      if constexpr (kPlanes == 2) {
        LoadTile<Tiles, WeightTile(1)>(planes_[i].at[1][step]);
        Tiles::template AddSignedDots<SumTile(turn, 1), kRows, WeightTile(1)>();
      }
      if constexpr (step < kPlanes) {
        StoreTile<Tiles, SumTile(1 - turn, step)>(&before->planes[step]);
      }
      if constexpr (step == kPlanes && Q::kMins) StoreTile<Tiles, kMinSums>(&before->mins);
    });
    if constexpr (Q::kMins) {
      Tiles::template Zero<kMinSums>();
      LoadTile<Tiles, kRows>(rows_->sums[i][g]);
      LoadTile<Tiles, WeightTile(0)>(mins_[i]);
      Tiles::template AddBfloat16Dots<kMinSums, kRows, WeightTile(0)>();
    }
  }

  template <int turn>
  void Store(Results* results) const {
    Unroll<kPlanes>([&](auto plane) __attribute__((always_inline)) {
      constexpr int p = decltype(plane)::value;
      StoreTile<Tiles, SumTile(turn, p)>(&results->planes[p]);
    });
    if constexpr (Q::kMins) StoreTile<Tiles, kMinSums>(&results->mins);
  }

  template <int kRows>
  [[gnu::always_inline]] void Add(const Columns& columns, size_t g, size_t i, size_t m,
                                  const Results& results, Stored* sums) const {
    const uint8_t* scales =
        columns.parts[g].word((columns.first + i) * kPer256Words + kPer256Scale);
    Unroll<kRows>([&](auto row) __attribute__((always_inline)) {
      const size_t r = m + decltype(row)::value;
      const __m512 row_scale = Vector::Broadcast(scales + r * kWordBytes);
      __m512i total = results.planes[0].ints(r);
      if constexpr (kPlanes == 2) {
        total = _mm512_add_epi32(total, Times256(results.planes[1].ints(r)));
      }
      const __m512 scale = Q::Scale(Vector::Multiply(scales_[i], row_scale));
      __m512 sum = Vector::Fma(Vector::ToFloats(total), scale, sums->floats(r));
      if constexpr (Q::kMins) {
        const __m512 min_scale = Vector::Multiply(min_scales_[i], row_scale);
        sum = Vector::FmaMinus(results.mins.floats(r), min_scale, sum);
      }
      sums->Set(r, sum);
    });
  }

 private:
  static constexpr int kPairs = 32 / Q::kQuads;
  static constexpr int kGroups = 2 * kPairs;
  static constexpr int kSteps = 4;  // of 64 columns
  static constexpr size_t kFirstSum = Q::kQuads == 8 ? kPer256Sums32 : kPer256Sums16;
  static constexpr int kRows = RowTile(0);
  static constexpr int kMinSums = RowTile(1);

  struct Planes {
    Stored at[kPlanes][kSteps];
  };

  // Shifted by bytes, which other ports do than those of floats.
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
      // Sixteen lanes of four vectors become four lanes of sixteen rows.
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
      const int at = (2 * pair + h) * Q::kQuads + t;
      planes.at[0][at / 16].Set(at % 16, _mm512_or_si512(_mm512_and_si512(even_product, low_bytes),
                                                         _mm512_slli_epi16(odd_product, 8)));
      if constexpr (kPlanes == 2) {
        planes.at[1][at / 16].Set(at % 16,
                                  _mm512_or_si512(_mm512_srli_epi16(even_product, 8),
                                                  _mm512_andnot_si512(low_bytes, odd_product)));
      }
    });
  }

  Rows* rows_;
  Planes planes_[kBlocks];
  Stored mins_[kBlocks];
  __m512 scales_[kBlocks];
  __m512 min_scales_[kBlocks];
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
