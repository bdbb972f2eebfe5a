// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Weights in the layout of matrix instructions: eight columns of one output beside the same columns
// of the next. A packed block of sixteen outputs is unpacked to two blocks of eight, once for all
// rows, and multiplied with pairs of rows (i8mm_rows.h). For the sources of one instruction set:
// everything here is in an unnamed namespace.
#pragma once

#include <arm_neon.h>

#include <type_traits>

#include "kernels/arm/dots_neon.h"
#include "kernels/arm/i8mm_rows.h"
#include "kernels/matmul_formats.h"

namespace aster::kernels {
namespace {

// Eight outputs are four registers of two each.
using Octet = int8_t[4][2][8];       // [two outputs][output][column]
using ForBothRows = float[4][2][2];  // [two outputs][row][output]: each output's twice
using IntsForBothRows = int32_t[4][2][2];

using Tile4 = float32x4_t[4];
using Ints4 = int32x4_t[4];

// Two neighbouring quads of sixteen outputs.
[[gnu::always_inline]] inline void StoreOctets(const VectorNeon::Bytes& even,
                                               const VectorNeon::Bytes& odd, Octet& first,
                                               Octet& second) {
  for (int i = 0; i < 4; ++i) {
    const int32x4_t a = vreinterpretq_s32_s8(even.at[i]);
    const int32x4_t b = vreinterpretq_s32_s8(odd.at[i]);
    Octet& octet = i < 2 ? first : second;
    vst1q_s8(octet[2 * (i % 2)][0], vreinterpretq_s8_s32(vzip1q_s32(a, b)));
    vst1q_s8(octet[2 * (i % 2) + 1][0], vreinterpretq_s8_s32(vzip2q_s32(a, b)));
  }
}

[[gnu::always_inline]] inline void StoreForBothRows(const VectorNeon::Ints& values,
                                                    IntsForBothRows& first,
                                                    IntsForBothRows& second) {
  for (int i = 0; i < 4; ++i) {
    const int64x2_t four = vreinterpretq_s64_s32(values.at[i]);
    IntsForBothRows& to = i < 2 ? first : second;
    vst1q_s32(to[2 * (i % 2)][0], vreinterpretq_s32_s64(vdupq_laneq_s64(four, 0)));
    vst1q_s32(to[2 * (i % 2) + 1][0], vreinterpretq_s32_s64(vdupq_laneq_s64(four, 1)));
  }
}

[[gnu::always_inline]] inline void StoreForBothRows(const VectorNeon::Floats& values,
                                                    ForBothRows& first, ForBothRows& second) {
  for (int i = 0; i < 4; ++i) {
    const float64x2_t four = vreinterpretq_f64_f32(values.at[i]);
    ForBothRows& to = i < 2 ? first : second;
    vst1q_f32(to[2 * (i % 2)][0], vreinterpretq_f32_f64(vdupq_laneq_f64(four, 0)));
    vst1q_f32(to[2 * (i % 2) + 1][0], vreinterpretq_f32_f64(vdupq_laneq_f64(four, 1)));
  }
}

template <int kBias>
[[gnu::always_inline]] inline VectorNeon::Bytes WithoutBias(const VectorNeon::Bytes& bytes) {
  if constexpr (kBias == 0) return bytes;
  return VectorNeon::Quarters<VectorNeon::Bytes>(
      [&](int i) { return vsubq_s8(bytes.at[i], vdupq_n_s8(kBias)); });
}

// dots += eight columns of kPairs pairs of rows times eight outputs.
template <int kPairs, typename Pair>
[[gnu::always_inline]] inline void AddOctet(const Octet& weights, const Pair* pairs, size_t stride,
                                            const int8_t (*octet)[2][8], Ints4 (&dots)[kPairs]) {
  int8x16_t outputs[4];
  for (int j = 0; j < 4; ++j) outputs[j] = vld1q_s8(weights[j][0]);
  const size_t at = reinterpret_cast<const char*>(octet) - reinterpret_cast<const char*>(pairs);
  for (int m = 0; m < kPairs; ++m) {
    const int8x16_t rows = vld1q_s8(reinterpret_cast<const int8_t*>(pairs + m * stride) + at);
    for (int j = 0; j < 4; ++j) dots[m][j] = vmmlaq_s32(dots[m][j], rows, outputs[j]);
  }
}

template <int kPairs>
[[gnu::always_inline]] inline void SetZero(Ints4 (&dots)[kPairs]) {
  for (int m = 0; m < kPairs; ++m) {
    for (int j = 0; j < 4; ++j) dots[m][j] = vdupq_n_s32(0);
  }
}

// --- Types with a scale per 32 weights: kBias is the offset that Q adds to unsigned weights.

template <template <typename> typename Q, int kBias>
struct ScaledBlocks {
  using Format = Q<Neon>;
  using Packed = typename Format::Block;
  static constexpr bool kOffsets = HasOffsets<Format>();
  static constexpr ActivationFormat kFormat = ActivationFormat::kInt8Per32;
  // 24 of the 32 registers hold sums: a group's, and those of all groups.
  static constexpr int kMostPairs = 3;

  using Pair = std::conditional_t<kOffsets, PairPer32AndSums, PairPer32>;

  struct Block {
    Octet weights[2][4];  // [group]
    ForBothRows scales[2];
    ForBothRows offsets[2];
  };

  static void Unfold(const Packed& packed, Block* first, Block* second) {
    for (int group = 0; group < 2; ++group) {
      Unroll<4>([&](auto octet) __attribute__((always_inline)) {
        constexpr int t = decltype(octet)::value;
        StoreOctets(WithoutBias<kBias>(Format::template Quad<2 * t>(packed, group)),
                    WithoutBias<kBias>(Format::template Quad<2 * t + 1>(packed, group)),
                    first->weights[group][t], second->weights[group][t]);
      });
      StoreForBothRows(Format::Scale(packed, group), first->scales[group], second->scales[group]);
      if constexpr (kOffsets) {
        StoreForBothRows(Format::EighthOfOffset(packed, group), first->offsets[group],
                         second->offsets[group]);
      }
    }
  }

  template <int kPairs>
  static void Add(const Block* blocks, size_t count, const Pair* pairs, size_t stride,
                  Tile4 (&result)[kPairs]) {
    Tile4 sums[kPairs];  // a copy can stay in registers
    Unroll<kPairs>([&](auto m) __attribute__((always_inline)) {
      for (int j = 0; j < 4; ++j) sums[m.value][j] = result[m.value][j];
    });
    for (size_t i = 0; i < count; ++i) {
      for (int group = 0; group < 2; ++group) {
        AddGroup<kPairs>(blocks[i], group, pairs + i, stride, sums);
      }
    }
    Unroll<kPairs>([&](auto m) __attribute__((always_inline)) {
      for (int j = 0; j < 4; ++j) result[m.value][j] = sums[m.value][j];
    });
  }

 private:
  template <int kPairs>
  [[gnu::always_inline]] static void AddGroup(const Block& block, int group, const Pair* pairs,
                                              size_t stride, Tile4 (&sums)[kPairs]) {
    Ints4 dots[kPairs];
    SetZero<kPairs>(dots);
    Unroll<4>([&](auto octet) __attribute__((always_inline)) {
      constexpr int t = decltype(octet)::value;
      AddOctet<kPairs>(block.weights[group][t], pairs, stride, &pairs->octets[group][t], dots);
    });
    for (int j = 0; j < 4; ++j) {
      const float32x4_t scale = vld1q_f32(block.scales[group][j][0]);
      for (int m = 0; m < kPairs; ++m) {
        const float32x4_t of_rows = vld1q_f32(pairs[m * stride].scales[group][0]);
        sums[m][j] = vfmaq_f32(sums[m][j], vcvtq_f32_s32(dots[m][j]), vmulq_f32(scale, of_rows));
        if constexpr (kOffsets) {
          const float32x4_t offset = vld1q_f32(block.offsets[group][j][0]);
          sums[m][j] = vfmsq_f32(sums[m][j], vld1q_f32(pairs[m * stride].sums[group][0]),
                                 vmulq_f32(offset, of_rows));
        }
      }
    }
  }
};

// --- Super-blocks. kFolds: weights times their integer scales fit into bytes.

template <template <typename> typename Q, bool kFolds = false>
struct SuperBlocks {
  using Format = Q<Neon>;
  using Packed = typename Format::Block;
  static constexpr bool kMins = Format::kMins;
  static constexpr int kOctets = Format::kQuads / 2;
  static constexpr int kGroups = 32 / kOctets;
  static constexpr ActivationFormat kFormat = ActivationFormat::kInt8Per256;
  static constexpr int kMostPairs = kFolds ? 5 : 3;
  using Pair = std::conditional_t<kMins, PairPer256AndSums<kGroups>, PairPer256>;

  // Dot products are added up from group to group, D1, D1 + D2, ..., so that none starts from zero:
  // scale 1 * D1 + scale 2 * D2 + ... is the sum of these times (a scale - the next one).
  struct Block {
    Octet weights[32];
    IntsForBothRows scale_steps[kGroups];
    Octet mins[kGroups / 8];  // [eight groups]
    ForBothRows scale;
    ForBothRows min_scale;
  };

  static void Unfold(const Packed& packed, Block* first, Block* second) {
    VectorNeon::Ints next = VectorNeon::ZeroInts();
    for (int pair = kGroups / 2 - 1; pair >= 0; --pair) {
      UnfoldGroup<1>(packed, pair, &next, first, second);
      UnfoldGroup<0>(packed, pair, &next, first, second);
    }
    StoreForBothRows(Format::BlockScale(packed), first->scale, second->scale);
    if constexpr (kMins) {
      StoreForBothRows(Format::MinScale(packed), first->min_scale, second->min_scale);
      for (int i = 0; i < kGroups / 8; ++i) StoreMins(packed, i, first->mins[i], second->mins[i]);
    }
  }

  template <int kPairs>
  static void Add(const Block* blocks, size_t count, const Pair* pairs, size_t stride,
                  Tile4 (&sums)[kPairs]) {
    for (size_t i = 0; i < count; ++i) {
      Ints4 totals[kPairs];
      SetZero<kPairs>(totals);
      AddGroups<kPairs>(blocks[i], pairs + i, stride, totals);
      for (int m = 0; m < kPairs; ++m) {
        Finish(blocks[i], pairs[i + m * stride], totals[m], sums[m]);
      }
    }
  }

 private:
  template <int h>
  [[gnu::always_inline]] static void UnfoldGroup(const Packed& packed, int pair,
                                                 VectorNeon::Ints* next, Block* first,
                                                 Block* second) {
    const auto group = Format::template LoadGroup<h>(packed, pair);
    const int index = 2 * pair + h;
    Unroll<kOctets>([&](auto octet) __attribute__((always_inline)) {
      constexpr int t = decltype(octet)::value;
      VectorNeon::Bytes even = WithoutBias<Format::kOffset>(group.template Quad<2 * t>());
      VectorNeon::Bytes odd = WithoutBias<Format::kOffset>(group.template Quad<2 * t + 1>());
      if constexpr (kFolds) {
        even = Folded(even, group.scale);
        odd = Folded(odd, group.scale);
      }
      StoreOctets(even, odd, first->weights[kOctets * index + t],
                  second->weights[kOctets * index + t]);
    });
    if constexpr (!kFolds) {
      const auto steps = VectorNeon::Quarters<VectorNeon::Ints>(
          [&](int i) { return vsubq_s32(group.scale.at[i], next->at[i]); });
      StoreForBothRows(steps, first->scale_steps[index], second->scale_steps[index]);
      *next = group.scale;
    }
  }

  [[gnu::always_inline]] static VectorNeon::Bytes Folded(const VectorNeon::Bytes& weights,
                                                         const VectorNeon::Ints& scale) {
    return VectorNeon::Quarters<VectorNeon::Bytes>([&](int i) {
      const int32x4_t four_times = vmulq_n_s32(scale.at[i], 0x01010101);
      return vmulq_s8(weights.at[i], vreinterpretq_s8_s32(four_times));
    });
  }

  // Minima of eight groups, which are stored side by side for each output.
  static void StoreMins(const Packed& packed, int eight, Octet& first, Octet& second) {
    VectorNeon::Pairs pairs[4];
    for (int i = 0; i < 4; ++i) pairs[i] = Format::SumFactors(packed, 4 * eight + i);
    for (int i = 0; i < 4; ++i) {
      uint16x4x4_t of_outputs;
      for (int k = 0; k < 4; ++k) {
        of_outputs.val[k] = vreinterpret_u16_s8(vmovn_s16(pairs[k].at[i]));
      }
      Octet& to = i < 2 ? first : second;
      vst4_u16(reinterpret_cast<uint16_t*>(to[2 * (i % 2)]), of_outputs);
    }
  }

  template <int kPairs>
  [[gnu::always_inline]] static void AddGroups(const Block& block, const Pair* pairs, size_t stride,
                                               Ints4 (&totals)[kPairs]) {
    Ints4 dots[kPairs];
    SetZero<kPairs>(dots);
    for (int group = 0; group < kGroups; ++group) {
      Unroll<kOctets>([&](auto octet) __attribute__((always_inline)) {
        const int t = kOctets * group + decltype(octet)::value;
        AddOctet<kPairs>(block.weights[t], pairs, stride, &pairs->octets[t],
                         kFolds ? totals : dots);
      });
      if constexpr (!kFolds) {
        for (int j = 0; j < 4; ++j) {
          const int32x4_t step = vld1q_s32(block.scale_steps[group][j][0]);
          for (int m = 0; m < kPairs; ++m) totals[m][j] = vmlaq_s32(totals[m][j], dots[m][j], step);
        }
      }
    }
  }

  [[gnu::always_inline]] static void Finish(const Block& block, const Pair& pair,
                                            const Ints4& totals, Tile4& sums) {
    const float32x4_t of_rows = vld1q_f32(pair.scale[0]);
    const auto scales = Format::Scale(VectorNeon::Quarters<VectorNeon::Floats>(
        [&](int j) { return vmulq_f32(vld1q_f32(block.scale[j][0]), of_rows); }));
    for (int j = 0; j < 4; ++j) {
      sums[j] = vfmaq_f32(sums[j], vcvtq_f32_s32(totals[j]), scales.at[j]);
      if constexpr (kMins) {
        const float32x4_t min_scale = vmulq_f32(vld1q_f32(block.min_scale[j][0]), of_rows);
        sums[j] = vfmsq_f32(sums[j], vcvtq_f32_s32(SumOfMins(block, pair, j)), min_scale);
      }
    }
  }
  [[gnu::always_inline]] static int32x4_t SumOfMins(const Block& block, const Pair& pair, int j) {
    int32x4_t sum = vdupq_n_s32(0);
    for (int i = 0; i < kGroups / 8; ++i) {
      sum = vmmlaq_s32(sum, vld1q_s8(pair.high[i][0]), vld1q_s8(block.mins[i][j][0]));
    }
    sum = vshlq_n_s32(sum, 7);
    for (int i = 0; i < kGroups / 8; ++i) {
      sum = vmmlaq_s32(sum, vld1q_s8(pair.low[i][0]), vld1q_s8(block.mins[i][j][0]));
    }
    return sum;
  }
};

}  // namespace
}  // namespace aster::kernels
