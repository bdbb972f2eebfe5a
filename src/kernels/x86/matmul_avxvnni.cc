// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Matrix products with AVX2 and AVX-VNNI, whose dot products of bytes need unsigned weights.
#include <immintrin.h>

#include "kernels/activation_rows.h"
#include "kernels/matmul_table.h"
#include "kernels/matmul_unfolded.h"
#include "kernels/x86/vector_avx2.h"

namespace aster::kernels {
namespace {

using Vector = VectorAvx2;
using Bytes = Vector::Bytes;

Vector::Ints AddDot(const Vector::Ints& sum, const Bytes& weights, __m256i activation) {
  return {_mm256_dpbusd_avx_epi32(sum.low, weights.low, activation),
          _mm256_dpbusd_avx_epi32(sum.high, weights.high, activation)};
}

// Weights that were unpacked to memory.
struct PlainWeights {
  using Weights = Bytes;
  static constexpr int kLanes = 1;
  static Weights LoadWeights(const Lanes* lanes) { return Vector::LoadInts(lanes); }
  static void StoreWeights(const Bytes& bytes, Lanes* lanes) { Vector::StoreInts(bytes, lanes); }
};

struct DotSum : PlainWeights {
  void Start(const Vector::Ints& start) { total = start; }
  template <int t>
  void Add(const Bytes& weights, __m256i activation) {
    total = AddDot(total, weights, activation);
  }
  Vector::Ints Total() const { return total; }

  Vector::Ints total;
};

template <int kFold>
struct ScaledDotSum : PlainWeights {
  void Start() { total = Vector::ZeroInts(); }
  // If dot products fit 16 bits, the scale is not negative.
  template <int t, int kQuads>
  void Add(const Bytes& weights, __m256i activation, const Vector::Ints& scale) {
    constexpr bool kWords = kQuadsOfWord<kFold, kQuads> != 0;
    constexpr int kAtOnce = kWords ? kQuadsOfWord<kFold, kQuads> : kQuads;
    dot = AddDot(t % kAtOnce == 0 ? Vector::ZeroInts() : dot, weights, activation);
    if constexpr (t % kAtOnce != kAtOnce - 1) return;
    if constexpr (kWords) {
      total = {_mm256_dpwssd_avx_epi32(total.low, dot.low, scale.low),
               _mm256_dpwssd_avx_epi32(total.high, dot.high, scale.high)};
    } else {
      total = Vector::AddInts(total, {_mm256_mullo_epi32(dot.low, scale.low),
                                      _mm256_mullo_epi32(dot.high, scale.high)});
    }
  }
  Vector::Ints Total() const { return total; }

  Vector::Ints total;
  Vector::Ints dot;
};

// From which number of rows on weights are unpacked once for all of them.
constexpr size_t kManyRows = 12;

// `kTileRows` rows of activations at a time.
template <int kTileRows>
struct AvxVnni {
  struct V : VectorAvx2 {
    static constexpr int kPanels = 1;
    static constexpr int kRows = kTileRows;
    static constexpr int kFewRows = 6;
    static constexpr size_t kStreamedRows = kManyRows - 1;
    static constexpr int kFloatRows = 6;
  };
  static constexpr bool kSigned = false;

  template <int>
  using Sum = DotSum;
  template <int>
  using SignedSum = DotSum;
  template <int kFold>
  using ScaledSum = ScaledDotSum<kFold>;
  template <int>
  using SignedScaledSum = ScaledDotSum<1>;

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

// Twelve of the sixteen registers are sums: one per output, or those of a group and of all groups.
using Scaled = AvxVnni<6>;
using Super = AvxVnni<3>;
using V = Scaled::V;

template <typename Tile, typename Unfolded>
constexpr MatmulFunction kProducts =
    ByRows<Products<Tile>, kManyRows, UnfoldedProducts<Unfolded>>::Run;
template <template <typename> typename Q>
constexpr MatmulFunction kScaled = kProducts<ScaledTile<Q<Scaled>>, UnfoldedScaled<Q<Scaled>>>;
template <template <typename> typename Q>
constexpr MatmulFunction kSuper = kProducts<SuperTile<Q<Super>>, UnfoldedSuper<Q<Super>>>;

constexpr MatmulTable kTable = {
    .products = {Products<FloatTile<V, F32<V>>>::Run,
                 kProducts<FloatTile<V, F16<V>>, UnfoldedF16<V>>,
                 kProducts<Bfloat16Tile<V, BF16<V>>, UnfoldedBF16<V>>, kScaled<Q8_0>, kScaled<Q4_0>,
                 kScaled<MXFP4>, kSuper<Q2_K>, kSuper<Q4_K>, kSuper<Q5_K>, kSuper<Q6_K>,
                 kSuper<IQ2_XXS>, kScaled<IQ4_NL>, kScaled<Q5_1>, kSuper<Levels>},
    .prepare = {PrepareF32<V>, PrepareBF16<V>, PrepareInt8Per32<V>, PrepareInt8Per256<V>},
};

}  // namespace

const MatmulTable kMatmulAvxVnni = kTable;

}  // namespace aster::kernels
