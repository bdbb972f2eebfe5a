// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Matrix products with AVX-512: a 512-bit register is one quad of each of sixteen rows, and one
// instruction multiplies it with four activations.
#include <immintrin.h>

#include "kernels/matmul_table_of.h"
#include "kernels/matmul_unfolded.h"
#include "kernels/x86/iq2_xxs_avx512.h"
#include "kernels/x86/vector_avx512.h"

namespace aster::kernels {
namespace {

// Weights that were unpacked to memory.
struct PlainWeights {
  using Weights = __m512i;
  static constexpr int kLanes = 1;
  static __m512i LoadWeights(const Lanes* lanes) { return _mm512_load_si512(lanes); }
  static void StoreWeights(__m512i bytes, Lanes* lanes) { _mm512_store_si512(lanes, bytes); }
};

struct DotSum : PlainWeights {
  void Start(__m512i start) { total = start; }
  template <int t>
  void Add(__m512i weights, __m512i activation) {
    total = _mm512_dpbusd_epi32(total, weights, activation);
  }
  __m512i Total() const { return total; }

  __m512i total;
};

template <int kFold>
struct ScaledDotSum : PlainWeights {
  void Start() { total = _mm512_setzero_si512(); }
  // If dot products fit 16 bits, the scale is not negative.
  template <int t, int kQuads>
  void Add(__m512i weights, __m512i activation, __m512i scale) {
    constexpr bool kWords = kQuadsOfWord<kFold, kQuads> != 0;
    constexpr int kAtOnce = kWords ? kQuadsOfWord<kFold, kQuads> : kQuads;
    dot = _mm512_dpbusd_epi32(t % kAtOnce == 0 ? _mm512_setzero_si512() : dot, weights, activation);
    if constexpr (t % kAtOnce != kAtOnce - 1) return;
    if constexpr (kWords) {
      total = _mm512_dpwssd_epi32(total, dot, scale);
    } else {
      total = _mm512_add_epi32(total, _mm512_mullo_epi32(dot, scale));
    }
  }
  __m512i Total() const { return total; }

  __m512i total;
  __m512i dot;
};

struct Avx512 {
  using V = VectorAvx512;
  static constexpr bool kSigned = false;

  template <int>
  using Sum = DotSum;
  template <int>
  using SignedSum = DotSum;
  template <int kFold>
  using ScaledSum = ScaledDotSum<kFold>;
  template <int>
  using SignedScaledSum = ScaledDotSum<1>;

  using Scale = __m512i;  // 32 bits
  template <int h>
  static Scale ScaleOf(__m512i pairs) {
    return _mm512_srai_epi32(h == 0 ? _mm512_slli_epi32(pairs, 16) : pairs, 16);
  }
};

// Tiles of unpacked weights.
struct Unfolded : Avx512 {
  struct V : VectorAvx512 {
    static constexpr int kRows = 8;
  };
};

// More than eight rows come panel by panel, too: faster where unpacking takes long.
struct Streamed : Avx512 {
  struct V : VectorAvx512 {
    static constexpr size_t kStreamedRows = kGroupRows - 1;
  };
};

// Many rows: weights are unpacked once for all of them.
template <template <typename> typename Q, typename Fewer = Avx512>
constexpr MatmulFunction kSuper =
    ByRows<Products<SuperTile<Q<Fewer>>>, 24, UnfoldedProducts<UnfoldedSuper<Q<Unfolded>>>>::Run;

constexpr MatmulTable kTable = [] {
  MatmulTable table = kTableOf<Avx512, Iq2XxsInRegisters<Avx512>>;
  const auto set = [&](WeightType type, MatmulFunction product) {
    table.products[static_cast<size_t>(type)] = product;
  };
  set(WeightType::kBF16, Products<Bfloat16Tile<Streamed::V, BF16<Streamed::V>>>::Run);
  set(WeightType::kQ2_K, kSuper<Q2_K, Streamed>);
  set(WeightType::kQ4_K, Products<SuperTile<Q4_K<Streamed>>>::Run);
  set(WeightType::kQ5_K, kSuper<Q5_K, Streamed>);
  set(WeightType::kQ6_K, kSuper<Q6_K, Streamed>);
  set(WeightType::kIQ2_XXS, kSuper<Iq2XxsInRegisters>);
  set(WeightType::kLevels, kSuper<Levels>);
  return table;
}();

}  // namespace

const MatmulTable kMatmulAvx512 = kTable;

}  // namespace aster::kernels
