// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Matrix products with AVX2 and AVX-VNNI, whose instructions for dot products of bytes want the
// weights unsigned.
#include <immintrin.h>

#include "kernels/matmul_table_of.h"
#include "kernels/x86/vector_avx2.h"

namespace aster::kernels {
namespace {

using Vector = VectorAvx2;
using Bytes = Vector::Bytes;

Vector::Ints AddDot(const Vector::Ints& sum, const Bytes& weights, __m256i activation) {
  return {_mm256_dpbusd_avx_epi32(sum.low, weights.low, activation),
          _mm256_dpbusd_avx_epi32(sum.high, weights.high, activation)};
}

struct DotSum {
  void Start(const Vector::Ints& start) { total = start; }
  template <int t>
  void Add(const Bytes& weights, __m256i activation) {
    total = AddDot(total, weights, activation);
  }
  Vector::Ints Total() const { return total; }

  Vector::Ints total;
};

struct ScaledDotSum {
  void Start() { total = Vector::ZeroInts(); }
  template <int t, int kQuads>
  void Add(const Bytes& weights, __m256i activation, const Vector::Ints& scale) {
    dot = AddDot(t == 0 ? Vector::ZeroInts() : dot, weights, activation);
    if constexpr (t == kQuads - 1) {
      total = Vector::AddInts(total, {_mm256_mullo_epi32(dot.low, scale.low),
                                      _mm256_mullo_epi32(dot.high, scale.high)});
    }
  }
  Vector::Ints Total() const { return total; }

  Vector::Ints total;
  Vector::Ints dot;
};

struct AvxVnni {
  struct V : VectorAvx2 {
    // Twelve of the sixteen registers hold sums.
    static constexpr int kPanels = 1;
    static constexpr int kRows = 6;
    static constexpr int kFewRows = 6;
    static constexpr int kFloatRows = 6;
  };
  static constexpr bool kSigned = false;

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
    return Vector::OfEach(
        [](__m256i pair) {
          return _mm256_srai_epi32(h == 0 ? _mm256_slli_epi32(pair, 16) : pair, 16);
        },
        pairs);
  }
};

}  // namespace

const MatmulTable kMatmulAvxVnni = kTableOf<AvxVnni>;

}  // namespace aster::kernels
