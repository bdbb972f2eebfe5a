// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How the blocks of each weight type become vectors, for matmul_tiles.h. For the sources of one
// instruction set: everything here is in an unnamed namespace. Must not know instructions, which
// come as a parameter:
//
// Dot products `D`
//   D::V                    the vectors, with the operations of vector_avx512.h
//   D::kSigned              whether weights of eight bits come signed, or with an offset
//   D::Sum<kFold>           adds up dot products of a group. Two products of each of kFold quads
//                           fit 16 bits together;
//   D::SignedSum<kFold>     of weights that are signed if D::kSigned;
//   D::ScaledSum<kFold>, D::SignedScaledSum<kFold>
//                           the same over groups, each times its scale
//   D::Scale, D::ScaleOf<h>(pairs)
//                           the scale of group h of a pair, as a scaled sum takes it
#pragma once

#include "kernels/matmul_tiles.h"
#include "kernels/packed.h"
#include "quant/blocks.h"

namespace aster::kernels {
namespace {

// How many quads of a group a dot product in 32 bits adds up while it fits 16 bits, so that one
// instruction instead of three multiplies it with the scale and adds it; 0 where a group of kQuads
// would need more than two of these.
template <int kFold, int kQuads>
constexpr int kQuadsOfWord = kFold >= 2 * kQuads ? kQuads
                             : kFold >= kQuads   ? kQuads / 2
                                                 : 0;

// Quad t of a group of kQuads, 4 bits in each byte.
template <typename V, int t, int kQuads>
[[gnu::always_inline]] inline typename V::Bytes FourBits(const PackedQuads* quads) {
  constexpr int kHalf = kQuads / 2;
  const typename V::Bytes both = V::LoadBytes(quads[t % kHalf]);
  return t < kHalf ? V::LowHalves(both) : V::HighHalves(both);
}

template <typename V>
typename V::Floats Eighth() {
  const float eighth = 0.125f;
  return V::Broadcast(reinterpret_cast<const uint8_t*>(&eighth));
}

// --- Types with a scale per 32 weights.

template <typename D>
struct Q8_0 {
  using V = typename D::V;
  using Block = PackedQ8_0;
  using Sum = typename D::template SignedSum<1>;
  static constexpr size_t kStartWord = kPer32Start128;
  static typename V::Ints Start(const uint8_t* word) {
    return D::kSigned ? V::ZeroInts() : V::BroadcastInt(word);
  }
  template <int t>
  static typename V::Bytes Quad(const Block& block, int group) {
    const typename V::Bytes bytes = V::LoadBytes(block.quants[group][t]);
    return D::kSigned ? V::FlipSigns(bytes) : bytes;
  }
  static typename V::Floats Scale(const Block& block, int group) {
    return V::LoadHalves(block.scales[group]);
  }
};

template <typename D>
struct Q4_0 {
  using V = typename D::V;
  using Block = PackedQ4_0;
  using Sum = typename D::template Sum<8>;
  static constexpr size_t kStartWord = kPer32Start8;
  static typename V::Ints Start(const uint8_t* word) { return V::BroadcastInt(word); }
  template <int t>
  static typename V::Bytes Quad(const Block& block, int group) {
    return FourBits<V, t, 8>(block.quants[group]);
  }
  static typename V::Floats Scale(const Block& block, int group) {
    return V::LoadHalves(block.scales[group]);
  }
};

template <typename D>
struct MXFP4 {
  using V = typename D::V;
  using Block = PackedMXFP4;
  using Sum = typename D::template Sum<4>;
  static constexpr size_t kStartWord = kPer32Start8;
  // Sixteen was added to the weights; the word has minus eight times the sum, so it counts twice.
  static typename V::Ints Start(const uint8_t* word) {
    const typename V::Ints start = V::BroadcastInt(word);
    return V::AddInts(start, start);
  }
  template <int t>
  static typename V::Bytes Quad(const Block& block, int group) {
    alignas(16) static constexpr uint8_t kValues[16] = {16, 17, 18, 19, 20, 22, 24, 28,
                                                        16, 15, 14, 13, 12, 10, 8,  4};
    return V::LookUp(kValues, FourBits<V, t, 8>(block.quants[group]));
  }
  static typename V::Floats Scale(const Block& block, int group) {
    return V::LoadHalfExponents(block.exponents[group]);
  }
};

// The levels of IQ4_NL, with an offset.
template <int kOffset>
struct Iq4Levels {
  constexpr Iq4Levels() : at{} {
    for (int i = 0; i < 16; ++i) at[i] = static_cast<uint8_t>(quant::kIq4Levels[i] + kOffset);
  }
  alignas(16) uint8_t at[16];
};

template <typename D>
struct IQ4_NL {
  using V = typename D::V;
  using Block = PackedIQ4_NL;
  using Sum = typename D::template SignedSum<1>;
  static constexpr size_t kStartWord = kPer32Start128;
  static typename V::Ints Start(const uint8_t* word) {
    return D::kSigned ? V::ZeroInts() : V::BroadcastInt(word);
  }
  template <int t>
  static typename V::Bytes Quad(const Block& block, int group) {
    static constexpr Iq4Levels<D::kSigned ? 0 : 128> kLevels;
    return V::LookUp(kLevels.at, FourBits<V, t, 8>(block.quants[group]));
  }
  static typename V::Floats Scale(const Block& block, int group) {
    return V::LoadHalves(block.scales[group]);
  }
};

template <typename D>
struct Q5_1 {
  using V = typename D::V;
  using Block = PackedQ5_1;
  using Sum = typename D::template Sum<4>;
  static constexpr size_t kStartWord = kPer32Start8;
  static typename V::Ints Start(const uint8_t*) { return V::ZeroInts(); }
  template <int t>
  static typename V::Bytes Quad(const Block& block, int group) {
    const auto& quants = block.groups[group];
    return V::template OrBits<4 - t, 16>(FourBits<V, t, 8>(quants.low), quants.high);
  }
  static typename V::Floats Scale(const Block& block, int group) {
    return V::LoadHalves(block.scales[group]);
  }
  static constexpr bool kOffsets = true;
  // An eighth of the offset, as the word of kStartWord is -8 times the sum of the activations.
  static typename V::Floats EighthOfOffset(const Block& block, int group) {
    return V::Multiply(V::LoadHalves(block.offsets[group]), Eighth<V>());
  }
};

// --- Super-blocks.

// What most of them share.
template <typename D, typename PackedBlock, int kQuadsOfGroup, int kFold>
struct SuperBase {
  using V = typename D::V;
  using Block = PackedBlock;
  using Sum = typename D::template ScaledSum<kFold>;
  static constexpr int kQuads = kQuadsOfGroup;
  static constexpr bool kMins = true;
  static constexpr int kOffset = 0;
  static typename V::Floats BlockScale(const Block& block) { return V::LoadHalves(block.scale); }
  static typename V::Floats MinScale(const Block& block) { return V::LoadHalves(block.min_scale); }
  static typename V::Floats Scale(typename V::Floats scale) { return scale; }
};

template <typename D>
struct Q4_K : SuperBase<D, PackedQ4_K, 8, 8> {
  using V = typename D::V;
  struct Group {
    template <int t>
    typename V::Bytes Quad() const {
      return FourBits<V, t, 8>(quads);
    }
    const PackedQuads* quads;
    typename D::Scale scale;
  };
  template <int h>
  static Group LoadGroup(const PackedQ4_K& block, int pair) {
    return {block.quants[2 * pair + h],
            D::template ScaleOf<h>(V::UnsignedPairs(block.scales[pair]))};
  }
  static typename V::Pairs SumFactors(const PackedQ4_K& block, int pair) {
    return V::UnsignedPairs(block.mins[pair]);
  }
};

template <typename D>
struct Q5_K : SuperBase<D, PackedQ5_K, 8, 4> {
  using V = typename D::V;
  struct Group {
    template <int t>
    typename V::Bytes Quad() const {
      return V::template OrBits<4 - t, 16>(FourBits<V, t, 8>(quads), quads[4]);
    }
    const PackedQuads* quads;
    typename D::Scale scale;
  };
  template <int h>
  static Group LoadGroup(const PackedQ5_K& block, int pair) {
    return {block.groups[2 * pair + h].low,
            D::template ScaleOf<h>(V::UnsignedPairs(block.scales[pair]))};
  }
  static typename V::Pairs SumFactors(const PackedQ5_K& block, int pair) {
    return V::UnsignedPairs(block.mins[pair]);
  }
};

template <typename D>
struct Q6_K : SuperBase<D, PackedQ6_K, 4, 2> {
  using V = typename D::V;
  static constexpr bool kMins = false;
  static constexpr int kOffset = 32;
  struct Group {
    template <int t>
    typename V::Bytes Quad() const {
      return V::template OrBits<4 - 2 * t, 48>(FourBits<V, t, 4>(quads), quads[2]);
    }
    const PackedQuads* quads;
    typename D::Scale scale;
  };
  template <int h>
  static Group LoadGroup(const PackedQ6_K& block, int pair) {
    return {block.groups[2 * pair + h].low,
            D::template ScaleOf<h>(V::SignedPairs(block.scales[pair]))};
  }
  static typename V::Pairs SumFactors(const PackedQ6_K& block, int pair) {
    return V::SignedPairs(block.scales[pair]);
  }
};

template <typename D>
struct Q2_K : SuperBase<D, PackedQ2_K, 4, 8> {
  using V = typename D::V;
  struct Group {
    template <int t>
    typename V::Bytes Quad() const {
      return V::template Bits<-2 * t, 3>(*quads);
    }
    const PackedQuads* quads;
    typename D::Scale scale;
  };
  template <int h>
  static Group LoadGroup(const PackedQ2_K& block, int pair) {
    return {&block.quants[2 * pair + h],
            D::template ScaleOf<h>(V::LowHalfPairs(block.scales[pair]))};
  }
  static typename V::Pairs SumFactors(const PackedQ2_K& block, int pair) {
    return V::HighHalfPairs(block.scales[pair]);
  }
};

// Looks up points in memory, eight columns of a row at a time.
template <typename D>
struct IQ2_XXS : SuperBase<D, PackedIQ2_XXS, 8, 2> {
  using V = typename D::V;
  using Sum = typename D::template SignedScaledSum<2>;
  static constexpr bool kMins = false;
  static constexpr int kOffset = D::kSigned ? 0 : 64;
  struct Group {
    template <int t>
    typename V::Bytes Quad() const {
      const typename V::Bytes weights =
          V::Negate(V::template PointQuads<t>(points), V::template NegativeBytes<t>(signs));
      if constexpr (D::kSigned)
        return weights;
      else
        return V::Add64(weights);
    }
    const uint8_t (*points)[4];  // [row]
    typename V::Ints signs;
    typename D::Scale scale;
  };
  template <int h>
  static Group LoadGroup(const PackedIQ2_XXS& block, int pair) {
    const auto& group = block.groups[2 * pair + h];
    return {group.points, V::EvenSigns(V::LoadInts(group.signs_and_scale)),
            D::template ScaleOf<h>(SumFactors(block, pair))};
  }
  static typename V::Pairs SumFactors(const PackedIQ2_XXS& block, int pair) {
    return V::OddScalePairs(block.groups[2 * pair].signs_and_scale,
                            block.groups[2 * pair + 1].signs_and_scale);
  }
  static typename V::Floats Scale(typename V::Floats scale) {
    return V::Multiply(scale, Eighth<V>());
  }
};

template <typename D>
struct Levels : SuperBase<D, PackedLevels, 4, 1> {
  using V = typename D::V;
  using Sum = typename D::template SignedScaledSum<1>;
  static constexpr bool kMins = false;
  static constexpr int kOffset = D::kSigned ? 0 : 128;
  struct Group {
    template <int t>
    typename V::Bytes Quad() const {
      const typename V::Bytes weights = V::LookUp(*levels, FourBits<V, t, 4>(quads));
      if constexpr (D::kSigned) {
        return weights;
      } else {
        return V::FlipSigns(weights);
      }
    }
    const PackedQuads* quads;
    const uint8_t (*levels)[16];
    typename D::Scale scale;
  };
  template <int h>
  static Group LoadGroup(const PackedLevels& block, int pair) {
    return {block.quants[2 * pair + h], &block.levels,
            D::template ScaleOf<h>(V::SignedPairs(block.scales[pair]))};
  }
  static typename V::Pairs SumFactors(const PackedLevels& block, int pair) {
    return V::SignedPairs(block.scales[pair]);
  }
  static typename V::Floats BlockScale(const PackedLevels& block) {
    return V::Multiply(V::LoadHalves(block.scale),
                       V::Broadcast(reinterpret_cast<const uint8_t*>(&block.factor)));
  }
};

// --- Floats.

template <typename V>
struct F32 {
  using Block = PackedF32;
  static typename V::Floats Column(const Block& block, size_t) {
    return V::LoadFloats(block.values);
  }
};

template <typename V>
struct F16 {
  using Block = PackedF16;
  static typename V::Floats Column(const Block& block, size_t column) {
    return V::LoadHalves(block.values[column]);
  }
};

template <typename V>
struct BF16 {
  using Block = PackedBF16;
  struct Columns {
    typename V::Floats even() const { return V::LowBfloat16(pairs); }
    typename V::Floats odd() const { return V::HighBfloat16(pairs); }
    typename V::Ints pairs;
  };
  static Columns Pair(const Block& block, size_t pair) { return {V::LoadInts(block.pairs[pair])}; }
};

}  // namespace
}  // namespace aster::kernels
