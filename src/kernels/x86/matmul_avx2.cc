// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Matrix products with AVX2. There is no instruction that adds up products of bytes in 32 bits, so
// two are added up in 16 bits, as many of these as surely fit, and those in 32 bits.
#include <immintrin.h>

#include "kernels/matmul_table_of.h"
#include "kernels/x86/vector_avx2.h"

namespace aster::kernels {
namespace {

using Vector = VectorAvx2;
using Bytes = Vector::Bytes;

// Pairs of products of unsigned weights: the largest magnitude is 2 * weight * 127.
[[gnu::always_inline]] inline Bytes UnsignedProducts(const Bytes& weights, __m256i activation) {
  return {_mm256_maddubs_epi16(weights.low, activation),
          _mm256_maddubs_epi16(weights.high, activation)};
}

// Pairs of products of signed weights, whose signs move to the activations: these are never -128,
// and 2 * 128 * 127 fits.
[[gnu::always_inline]] inline Bytes SignedProducts(const Bytes& weights, __m256i activation) {
  const auto products = [&](__m256i part) {
    return _mm256_maddubs_epi16(_mm256_abs_epi8(part), _mm256_sign_epi8(activation, part));
  };
  return {products(weights.low), products(weights.high)};
}

using Products16 = Bytes (*)(const Bytes& weights, __m256i activation);

// Adds up products in 16 bits, kFold quads at a time.
template <Products16 kProducts, int kFold>
struct Words {
  template <int t>
  [[gnu::always_inline]] void Add(const Bytes& weights, __m256i activation) {
    const Bytes products = kProducts(weights, activation);
    if constexpr (t % kFold == 0) {
      words = products;
    } else {
      words = {_mm256_add_epi16(words.low, products.low),
               _mm256_add_epi16(words.high, products.high)};
    }
  }
  Bytes words;
};

template <Products16 kProducts, int kFold>
struct DotSum {
  void Start(const Vector::Ints& start) { total = start; }
  template <int t>
  [[gnu::always_inline]] void Add(const Bytes& weights, __m256i activation) {
    dot.template Add<t>(weights, activation);
    if constexpr (t % kFold == kFold - 1) {
      const Vector::Pairs ones = Vector::Both(_mm256_set1_epi16(1));
      total = Vector::AddInts(total, Vector::PairProducts(dot.words, ones));
    }
  }
  Vector::Ints Total() const { return total; }

  Vector::Ints total;
  Words<kProducts, kFold> dot;
};

// The step from 16 to 32 bits multiplies with the scale.
template <Products16 kProducts, int kFold>
struct ScaledDotSum {
  void Start() { total = Vector::ZeroInts(); }
  template <int t, int kQuads>
  [[gnu::always_inline]] void Add(const Bytes& weights, __m256i activation,
                                  const Vector::Pairs& scale) {
    dot.template Add<t>(weights, activation);
    if constexpr (t % kFold == kFold - 1) {
      total = Vector::AddInts(total, Vector::PairProducts(dot.words, scale));
    }
  }
  Vector::Ints Total() const { return total; }

  Vector::Ints total;
  Words<kProducts, kFold> dot;
};

struct Avx2 {
  struct V : VectorAvx2 {
    // Eight of the sixteen registers hold sums.
    static constexpr int kPanels = 1;
    static constexpr int kRows = 4;
    static constexpr int kFewRows = 4;
  };
  static constexpr bool kSigned = true;

  template <int kFold>
  using Sum = DotSum<UnsignedProducts, kFold>;
  template <int kFold>
  using SignedSum = DotSum<SignedProducts, kFold>;
  template <int kFold>
  using ScaledSum = ScaledDotSum<UnsignedProducts, kFold>;
  template <int kFold>
  using SignedScaledSum = ScaledDotSum<SignedProducts, kFold>;

  using Scale = Vector::Pairs;  // twice in each lane
  template <int h>
  static Scale ScaleOf(const Vector::Pairs& pairs) {
    return Vector::OfEach(
        [](__m256i pair) {
          return h == 0 ? _mm256_blend_epi16(pair, _mm256_slli_epi32(pair, 16), 0xaa)
                        : _mm256_blend_epi16(_mm256_srli_epi32(pair, 16), pair, 0xaa);
        },
        pairs);
  }
};

}  // namespace

const MatmulTable kMatmulAvx2 = kTableOf<Avx2>;

}  // namespace aster::kernels
