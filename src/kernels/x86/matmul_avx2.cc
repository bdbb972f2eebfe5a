// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Matrix products with AVX2. No instruction sums up products of bytes in 32 bits, so two are summed
// up in 16 bits, as many of these sums as surely fit, and those in 32 bits.
#include <immintrin.h>

#include <type_traits>

#include "kernels/matmul_table_of.h"
#include "kernels/matmul_unfolded.h"
#include "kernels/x86/half_panels_avx2.h"
#include "kernels/x86/iq2_xxs_rows_avx2.h"
#include "kernels/x86/vector_avx2.h"

namespace aster::kernels {
namespace {

using Vector = VectorAvx2;
using Bytes = Vector::Bytes;

// Pairs of products of unsigned weights: the largest magnitude is 2 * weight * 127.
struct UnsignedProducts {
  using Weights = Bytes;
  static constexpr int kLanes = 1;
  static Weights LoadWeights(const Lanes* lanes) { return Vector::LoadInts(lanes); }
  static void StoreWeights(const Bytes& bytes, Lanes* lanes) { Vector::StoreInts(bytes, lanes); }
  [[gnu::always_inline]] static Bytes Of(const Weights& weights, __m256i activation) {
    return {_mm256_maddubs_epi16(weights.low, activation),
            _mm256_maddubs_epi16(weights.high, activation)};
  }
};

// Pairs of products of signed weights, whose signs move to the activations: these are never -128,
// and 2 * 128 * 127 fits.
struct SignedProducts {
  struct Weights {
    Bytes bytes;  // only their signs are used
    Bytes magnitudes;
  };
  static constexpr int kLanes = 2;
  [[gnu::always_inline]] static Weights WeightsOf(const Bytes& bytes) {
    return {bytes, Vector::OfEach([](__m256i part) { return _mm256_abs_epi8(part); }, bytes)};
  }
  static Weights LoadWeights(const Lanes* lanes) {
    return {Vector::LoadInts(&lanes[0]), Vector::LoadInts(&lanes[1])};
  }
  static void StoreWeights(const Bytes& bytes, Lanes* lanes) {
    const Weights weights = WeightsOf(bytes);
    Vector::StoreInts(weights.bytes, &lanes[0]);
    Vector::StoreInts(weights.magnitudes, &lanes[1]);
  }
  [[gnu::always_inline]] static Bytes Of(const Weights& weights, __m256i activation) {
    return {_mm256_maddubs_epi16(weights.magnitudes.low,
                                 _mm256_sign_epi8(activation, weights.bytes.low)),
            _mm256_maddubs_epi16(weights.magnitudes.high,
                                 _mm256_sign_epi8(activation, weights.bytes.high))};
  }
  [[gnu::always_inline]] static Bytes Of(const Bytes& bytes, __m256i activation) {
    return Of(WeightsOf(bytes), activation);
  }
};

// Sums up products in 16 bits, kFold quads at a time.
template <typename Products16, int kFold>
struct Words {
  template <int t, typename Quad>
  [[gnu::always_inline]] void Add(const Quad& weights, __m256i activation) {
    const Bytes products = Products16::Of(weights, activation);
    if constexpr (t % kFold == 0) {
      words = products;
    } else {
      words = {_mm256_add_epi16(words.low, products.low),
               _mm256_add_epi16(words.high, products.high)};
    }
  }
  Bytes words;
};

template <typename Products16, int kFold>
struct DotSum : Products16 {
  void Start(const Vector::Ints& start) { total = start; }
  template <int t, typename Quad>
  [[gnu::always_inline]] void Add(const Quad& weights, __m256i activation) {
    dot.template Add<t>(weights, activation);
    if constexpr (t % kFold == kFold - 1) {
      const Vector::Pairs ones = Vector::Both(_mm256_set1_epi16(1));
      total = Vector::AddInts(total, Vector::PairProducts(dot.words, ones));
    }
  }
  Vector::Ints Total() const { return total; }

  Vector::Ints total;
  Words<Products16, kFold> dot;
};

// The step from 16 to 32 bits multiplies with the scale.
template <typename Products16, int kFold>
struct ScaledDotSum : Products16 {
  void Start() { total = Vector::ZeroInts(); }
  template <int t, int kQuads, typename Quad>
  [[gnu::always_inline]] void Add(const Quad& weights, __m256i activation,
                                  const Vector::Pairs& scale) {
    dot.template Add<t>(weights, activation);
    if constexpr (t % kFold == kFold - 1 || t == kQuads - 1) {
      total = Vector::AddInts(total, Vector::PairProducts(dot.words, scale));
    }
  }
  Vector::Ints Total() const { return total; }

  Vector::Ints total;
  Words<Products16, kFold> dot;
};

// From which number of rows on weights are unpacked once for all of them.
constexpr size_t kManyRows = 12;

// `kSignsMove`: signs move from weights to activations.
template <bool kSignsMove>
struct Avx2Of {
  struct V : VectorAvx2 {
    static constexpr int kPanels = 1;
    static constexpr int kRows = 4;  // eight of the sixteen registers are sums
    static constexpr int kFewRows = kRows;
    static constexpr size_t kStreamedRows = kManyRows - 1;
    static constexpr int kFloatRows = 6;  // twelve are
  };
  static constexpr bool kSigned = kSignsMove;

  template <int kFold>
  using Sum = DotSum<UnsignedProducts, kFold>;
  template <int kFold>
  using SignedSum = DotSum<SignedProducts, kFold>;
  template <int kFold>
  using ScaledSum = ScaledDotSum<UnsignedProducts, kFold>;
  template <int kFold>
  using SignedScaledSum = std::conditional_t<kSignsMove, ScaledDotSum<SignedProducts, kFold>,
                                             ScaledDotSum<UnsignedProducts, 1>>;

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

using Avx2 = Avx2Of<true>;
// If weights are unpacked once for many rows, an offset costs less than signs.
using WithOffsets = Avx2Of<false>;

// Levels from -kBelow to kBelow, as unsigned weights.
template <int kBelow, int kFold>
struct LevelsNearZero : Levels<Avx2> {
  using Sum = Avx2::ScaledSum<kFold>;
  static constexpr int kOffset = kBelow;
  static_assert(2 * kFold * 2 * kBelow * 127 <= 32767);
  struct Group : Levels<Avx2>::Group {
    template <int t>
    Bytes Quad() const {
      const auto add = [](__m256i part) { return _mm256_add_epi8(part, _mm256_set1_epi8(kBelow)); };
      return Vector::OfEach(add, Levels<Avx2>::Group::Quad<t>());
    }
  };
  template <int h>
  static Group LoadGroup(const PackedLevels& block, int pair) {
    return {Levels<Avx2>::LoadGroup<h>(block, pair)};
  }
};

template <typename Q>
constexpr MatmulFunction kScaled =
    ByRows<Products<ScaledTile<Q>>, kManyRows, UnfoldedProducts<UnfoldedScaled<Q>>>::Run;

// Super-blocks with unsigned weights, of which kFold quads fit 16 bits.
template <typename Q, int kFold>
struct UnfoldedHalves : UnfoldedSuper<Q> {
  using Tile = HalfPanels<UnfoldedSuper<Q>, kFold>;
};
template <typename Q, int kFold, typename Unfolded, typename FewRows = SuperTile<Q>>
struct Halved {
  // The number of rows from which half panels are faster. Weights of eight quads do not stay in
  // registers.
  static constexpr size_t kHalves = kFold < 8 ? 4 : 5;
  using Many = UnfoldedProducts<Unfolded>;
  using Halves = ByRows<Products<HalfPanels<Q, kFold>>, kGroupRows + 1, Many>;
  static constexpr MatmulFunction kRun = ByRows<Products<FewRows>, kHalves, Halves>::Run;
};
template <typename Q, int kFold>
constexpr MatmulFunction kHalved = Halved<Q, kFold, UnfoldedHalves<Q, kFold>>::kRun;
template <int kBelow, int kFold, typename Q = LevelsNearZero<kBelow, kFold>>
constexpr MatmulFunction kNearZero =
    Halved<Q, kFold, UnfoldedSuper<Q>, SuperTile<Levels<Avx2>>>::kRun;

// All blocks of a matrix have the same levels.
void LevelProducts(const MatmulJob& job, size_t panel_begin, size_t panel_end) {
  int largest = 0;
  for (const uint8_t level : static_cast<const PackedLevels*>(job.weights)->levels) {
    const int value = static_cast<int8_t>(level);
    largest = largest < value ? value : largest < -value ? -value : largest;
  }
  const MatmulFunction product = largest <= 16 ? kNearZero<16, 4>
                                 : largest <= 64
                                     ? kNearZero<64, 1>
                                     : ByRows<Products<SuperTile<Levels<Avx2>>>, kManyRows,
                                              UnfoldedProducts<UnfoldedSuper<Levels<Avx2>>>>::Run;
  product(job, panel_begin, panel_end);
}

using V = Avx2::V;
using F16Products =
    ByRows<Products<FloatTile<V, F16<V>>>, kManyRows, UnfoldedProducts<UnfoldedF16<V>>>;
using BF16Products = ByRows<
    Products<Bfloat16Tile<V, BF16<V>>>, 9,
    ByRows<UnfoldedProducts<WideRowsBF16<V>>, kGroupRows + 1, UnfoldedProducts<UnfoldedBF16<V>>>>;
using Iq2XxsProducts =
    ByRows<Products<Iq2XxsRows<Avx2>>, 5, UnfoldedProducts<UnfoldedSuper<IQ2_XXS<WithOffsets>>>>;

constexpr MatmulTable kTable = {
    .products = {Products<FloatTile<V, F32<V>>>::Run, F16Products::Run, BF16Products::Run,
                 kScaled<Q8_0<Avx2>>, kScaled<Q4_0<Avx2>>, kScaled<MXFP4<Avx2>>,
                 kHalved<Q2_K<Avx2>, 4>, Halved<Q4_K<Avx2>, 8, UnfoldedSuper<Q4_K<Avx2>>>::kRun,
                 kHalved<Q5_K<Avx2>, 4>, kHalved<Q6_K<Avx2>, 2>, Iq2XxsProducts::Run,
                 kScaled<IQ4_NL<Avx2>>, kScaled<Q5_1<Avx2>>, LevelProducts},
    .prepare = {PrepareF32<V>, PrepareBF16<V>, PrepareInt8Per32<V>, PrepareInt8Per256<V>},
};

}  // namespace

const MatmulTable kMatmulAvx2 = kTable;

}  // namespace aster::kernels
