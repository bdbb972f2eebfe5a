// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The operations that matmul_formats.h needs, with NEON and its dot products of signed bytes. Only
// for sources compiled for these: everything is in an unnamed namespace.
#pragma once

#include "kernels/arm/vector_neon.h"

namespace aster::kernels {
namespace {

using Vector = VectorNeon;

template <int t>
Vector::Ints AddDot(const Vector::Ints& sum, const Vector::Bytes& weights,
                    const Vector::Activations::Lane<t>& activation) {
  return Vector::Quarters<Vector::Ints>(
      [&](int i) { return vdotq_laneq_s32(sum.at[i], weights.at[i], activation.all, t); });
}

struct DotSum {
  void Start(const Vector::Ints& start) { total = start; }
  template <int t, int lane>
  void Add(const Vector::Bytes& weights, const Vector::Activations::Lane<lane>& activation) {
    total = AddDot(total, weights, activation);
  }
  Vector::Ints Total() const { return total; }

  Vector::Ints total;
};

struct ScaledDotSum {
  void Start() { total = Vector::ZeroInts(); }
  template <int t, int kQuads, int lane>
  void Add(const Vector::Bytes& weights, const Vector::Activations::Lane<lane>& activation,
           const Vector::Ints& scale) {
    if constexpr (t == 0) dot = Vector::ZeroInts();
    dot = AddDot(dot, weights, activation);
    if constexpr (t == kQuads - 1) {
      total = Vector::Quarters<Vector::Ints>(
          [&](int i) { return vmlaq_s32(total.at[i], dot.at[i], scale.at[i]); });
    }
  }
  Vector::Ints Total() const { return total; }

  Vector::Ints total;
  Vector::Ints dot;
};

struct Neon {
  struct V : VectorNeon {
    // Sixteen of the 32 registers hold sums.
    static constexpr int kPanels = 1;
    static constexpr int kRows = 4;
    static constexpr int kFewRows = 4;
    static constexpr int kFloatRows = 4;
    static constexpr int kMostSums = 8;  // in registers
  };
  static constexpr bool kSigned = true;

  template <int>
  using Sum = DotSum;
  template <int>
  using SignedSum = DotSum;
  template <int>
  using ScaledSum = ScaledDotSum;
  template <int>
  using SignedScaledSum = ScaledDotSum;

  using Scale = Vector::Ints;  // 32 bits
  template <int h>
  static Scale ScaleOf(const Vector::Pairs& pairs) {
    return Vector::Quarters<Scale>([&](int i) {
      const int32x4_t pair = vreinterpretq_s32_s16(pairs.at[i]);
      return vshrq_n_s32(h == 0 ? vshlq_n_s32(pair, 16) : pair, 16);
    });
  }
};

}  // namespace

}  // namespace aster::kernels
