// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/ops.h"

#include <gmock/gmock.h>

#include "kernels/ops_test_support.h"

namespace aster::kernels {
namespace {

using testing::ElementsAreArray;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Every length up to three vectors, and some long ones.
std::vector<size_t> Lengths() {
  std::vector<size_t> lengths;
  for (size_t i = 0; i <= 49; ++i) lengths.push_back(i);
  lengths.insert(lengths.end(), {63, 64, 65, 127, 128, 1000, 2048, 2051});
  return lengths;
}

// Arrays have one more element than they say, so that a write beyond the end is found; and they
// begin one element after their allocation, so that nothing is aligned.
struct Rows {
  explicit Rows(std::vector<float> values) : all(std::move(values)) {}
  float* data() { return all.data() + 1; }
  std::vector<float> all;
};

Rows WildRow(size_t count, uint64_t seed) { return Rows(WildValues(count + 2, seed)); }

class OpsTest : public IsaTest {
 protected:
  const OpsTable& ops_ = Ops(GetParam());
  const OpsTable& ref_ = Ops(Isa::kRef);
};

TEST_P(OpsTest, MapsEqualTheReference) {
  constexpr MapFunction OpsTable::* kMaps[] = {&OpsTable::exp,           &OpsTable::sigmoid,
                                               &OpsTable::silu,          &OpsTable::softplus,
                                               &OpsTable::sqrt_softplus, &OpsTable::softmax};
  for (const size_t n : Lengths()) {
    for (const auto map : kMaps) {
      for (const bool wild : {false, true}) {
        Rows x(wild ? WildValues(n + 2, n) : NormalValues(n + 2, n, 30.0f));
        Rows expected = WildRow(n, 1);
        Rows actual = expected;
        (ref_.*map)(x.data(), n, expected.data());
        (ops_.*map)(x.data(), n, actual.data());
        ASSERT_TRUE(SameBits(expected.all, actual.all)) << n;
        (ops_.*map)(x.data(), n, x.data());  // in place
        for (size_t i = 1; i <= n; ++i) ASSERT_EQ(PlainBits(x.all[i]), PlainBits(actual.all[i]));
      }
    }
  }
}

// Computes one in 4099 of all floats (the step is odd, so low bits vary), with both signs.
TEST_P(OpsTest, FunctionsEqualTheReferenceOverTheWholeRange) {
  constexpr size_t kBatch = 4096;
  std::vector<float> x(kBatch);
  std::vector<float> expected(kBatch);
  std::vector<float> actual(kBatch);
  uint64_t next = 0;
  while (next < (uint64_t{1} << 32)) {
    for (float& value : x) {
      value = std::bit_cast<float>(static_cast<uint32_t>(next));
      next += 4099;
    }
    for (const auto map : {&OpsTable::exp, &OpsTable::silu, &OpsTable::sqrt_softplus}) {
      (ref_.*map)(x.data(), kBatch, expected.data());
      (ops_.*map)(x.data(), kBatch, actual.data());
      ASSERT_TRUE(SameBits(expected, actual)) << "from " << x[0];
    }
  }
}

TEST_P(OpsTest, PairwiseOperationsEqualTheReference) {
  for (const size_t n : Lengths()) {
    Rows a = WildRow(n, n);
    Rows b = WildRow(n, n + 1000);
    Rows expected = WildRow(n, 2);
    Rows actual = expected;
    const auto check = [&](const char* what) {
      ASSERT_TRUE(SameBits(expected.all, actual.all)) << what << " " << n;
    };
    ref_.add(a.data(), b.data(), n, expected.data());
    ops_.add(a.data(), b.data(), n, actual.data());
    check("add");
    ref_.multiply(a.data(), b.data(), n, expected.data());
    ops_.multiply(a.data(), b.data(), n, actual.data());
    check("multiply");
    ref_.scale(a.data(), n, 0.37f, expected.data());
    ops_.scale(a.data(), n, 0.37f, actual.data());
    check("scale");
    ref_.add_scaled(b.data(), n, -1.7f, expected.data());
    ops_.add_scaled(b.data(), n, -1.7f, actual.data());
    check("add_scaled");
    for (const float cap : {30.0f, 0.5f}) {
      ref_.softcap(a.data(), n, cap, expected.data());
      ops_.softcap(a.data(), n, cap, actual.data());
      check("softcap");
    }
    for (const float limit : {kInfinity, 10.0f, 2.0f, 0.0f}) {
      ref_.geglu(a.data(), b.data(), n, limit, expected.data());
      ops_.geglu(a.data(), b.data(), n, limit, actual.data());
      check("geglu");
      ref_.swiglu(a.data(), b.data(), n, limit, expected.data());
      ops_.swiglu(a.data(), b.data(), n, limit, actual.data());
      check("swiglu");
      ref_.swiglu_oai(a.data(), b.data(), n, limit, expected.data());
      ops_.swiglu_oai(a.data(), b.data(), n, limit, actual.data());
      check("swiglu_oai");
    }
  }
}

TEST_P(OpsTest, RmsNormEqualsTheReference) {
  for (const size_t n : Lengths()) {
    if (n == 0) continue;
    constexpr size_t kRows = 3;
    const size_t stride = n + 5;
    for (const bool wild : {false, true}) {
      Rows x(wild ? WildValues(kRows * stride + 2, n) : NormalValues(kRows * stride + 2, n));
      Rows weight = WildRow(n, n + 7);
      for (const float* w :
           {static_cast<const float*>(nullptr), static_cast<const float*>(weight.data())}) {
        Rows expected = WildRow(kRows * stride, 3);
        Rows actual = expected;
        ref_.rms_norm(x.data(), stride, kRows, n, w, 1e-5f, expected.data(), stride);
        ops_.rms_norm(x.data(), stride, kRows, n, w, 1e-5f, actual.data(), stride);
        ASSERT_TRUE(SameBits(expected.all, actual.all)) << n;
      }
    }
  }
}

TEST_P(OpsTest, ArgmaxTakesTheLowestOfTheLargest) {
  const auto argmax = [&](std::vector<float> x) { return ops_.argmax(x.data(), x.size()); };
  EXPECT_EQ(argmax({}), 0u);
  EXPECT_EQ(argmax({kNan, kNan}), 0u);
  EXPECT_EQ(argmax({-kInfinity, -kInfinity}), 0u);
  EXPECT_EQ(argmax({kNan, -3.0f, kNan, -3.0f}), 1u);
  EXPECT_EQ(argmax({0.0f, -0.0f, kInfinity, kInfinity}), 2u);
  EXPECT_EQ(argmax({-0.0f, 0.0f}), 0u);
  for (const size_t n : Lengths()) {
    if (n == 0) continue;
    std::vector<float> x(n, 1.0f);
    for (size_t winner = 0; winner < n; winner += 1 + n / 20) {
      x[winner] = 2.0f;
      x[n - 1] = 2.0f;
      EXPECT_EQ(ops_.argmax(x.data(), n), winner);
      x[winner] = x[n - 1] = 1.0f;
    }
    const std::vector<float> wild = WildValues(n, n);
    EXPECT_EQ(ops_.argmax(wild.data(), n), ref_.argmax(wild.data(), n));
  }
}

TEST_P(OpsTest, RopeEqualsTheReferenceAndTurnsBack) {
  for (size_t pairs = 1; pairs <= 70; ++pairs) {
    const size_t stride = 2 * pairs + 3;
    constexpr size_t kRows = 2;
    std::vector<float> cosines(pairs);
    std::vector<float> sines(pairs);
    for (size_t i = 0; i < pairs; ++i) {
      cosines[i] = std::cos(static_cast<float>(i) + 0.3f);
      sines[i] = std::sin(static_cast<float>(i) + 0.3f);
    }
    for (const RopeLayout layout : {RopeLayout::kAdjacent, RopeLayout::kHalves}) {
      for (const bool inverse : {false, true}) {
        Rows expected = WildRow(kRows * stride, pairs);
        Rows actual = expected;
        ref_.rope(expected.data(), stride, kRows, pairs, cosines.data(), sines.data(), layout,
                  inverse);
        ops_.rope(actual.data(), stride, kRows, pairs, cosines.data(), sines.data(), layout,
                  inverse);
        ASSERT_TRUE(SameBits(expected.all, actual.all)) << pairs;
      }
      const std::vector<float> before = NormalValues(stride, pairs);
      std::vector<float> x = before;
      ops_.rope(x.data(), stride, 1, pairs, cosines.data(), sines.data(), layout, false);
      const size_t partner = layout == RopeLayout::kAdjacent ? 1 : pairs;
      EXPECT_NEAR(x[0], before[0] * cosines[0] - before[partner] * sines[0], 1e-6);
      EXPECT_NEAR(x[partner], before[0] * sines[0] + before[partner] * cosines[0], 1e-6);
      ops_.rope(x.data(), stride, 1, pairs, cosines.data(), sines.data(), layout, true);
      for (size_t i = 0; i < stride; ++i) EXPECT_NEAR(x[i], before[i], 2e-6);
    }
  }
}

TEST_P(OpsTest, HadamardEqualsTheReferenceAndIsItsOwnInverse) {
  for (size_t n = 1; n <= 2048; n *= 2) {
    const size_t stride = n + 1;
    Rows expected = WildRow(2 * stride, n);
    Rows actual = expected;
    ref_.hadamard(expected.data(), stride, 2, n);
    ops_.hadamard(actual.data(), stride, 2, n);
    ASSERT_TRUE(SameBits(expected.all, actual.all)) << n;

    std::vector<float> unit(n);
    unit[n / 3] = 1.0f;
    ops_.hadamard(unit.data(), n, 1, n);
    for (size_t i = 0; i < n; ++i) {
      const double sign = std::popcount(i & (n / 3)) % 2 == 0 ? 1.0 : -1.0;
      EXPECT_NEAR(unit[i], sign / std::sqrt(static_cast<double>(n)), 1e-7);
    }
    ops_.hadamard(unit.data(), n, 1, n);
    for (size_t i = 0; i < n; ++i) EXPECT_NEAR(unit[i], i == n / 3 ? 1.0 : 0.0, 1e-6);
  }
}

TEST_P(OpsTest, EveryHalfConvertsAsInTheReference) {
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  std::vector<float> expected(all.size());
  std::vector<float> actual(all.size());
  ref_.from_f16(all.data(), all.size(), expected.data());
  ops_.from_f16(all.data(), all.size(), actual.data());
  EXPECT_TRUE(SameBits(expected, actual));
  std::vector<uint16_t> back(all.size());
  ops_.to_f16(actual.data(), all.size(), back.data());
  for (size_t i = 0; i < all.size(); ++i) {
    const bool nan = (i & 0x7fff) > 0x7c00;
    EXPECT_EQ(back[i], nan ? (i & 0x8000) | 0x7e00 : i);
  }
  ref_.from_bf16(all.data(), all.size(), expected.data());
  ops_.from_bf16(all.data(), all.size(), actual.data());
  EXPECT_TRUE(SameBits(expected, actual));
}

TEST_P(OpsTest, NarrowingEqualsTheReferenceToTheBit) {
  for (const size_t n : Lengths()) {
    std::vector<float> x = WildValues(n, n);
    std::vector<uint16_t> expected(n + 1, 7);
    std::vector<uint16_t> actual(n + 1, 7);
    ref_.to_f16(x.data(), n, expected.data());
    ops_.to_f16(x.data(), n, actual.data());
    ASSERT_THAT(actual, ElementsAreArray(expected));
    ref_.to_bf16(x.data(), n, expected.data());
    ops_.to_bf16(x.data(), n, actual.data());
    ASSERT_THAT(actual, ElementsAreArray(expected));
    std::vector<float> wide(n + 1, 7.0f);
    std::vector<float> expected_wide = wide;
    ref_.from_f16(expected.data(), n, expected_wide.data());
    ops_.from_f16(expected.data(), n, wide.data());
    ASSERT_TRUE(SameBits(expected_wide, wide));
    ref_.from_bf16(expected.data(), n, expected_wide.data());
    ops_.from_bf16(expected.data(), n, wide.data());
    ASSERT_TRUE(SameBits(expected_wide, wide));
  }
}

// Neighbourhoods of every boundary between two halves, and of every bf16.
TEST_P(OpsTest, NarrowingRoundsToNearestEvenEverywhere) {
  std::vector<float> x;
  for (uint32_t i = 0; i < 65536; ++i) {
    for (const uint32_t low : {0x0fffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      x.push_back(std::bit_cast<float>(i << 16 | low));
    }
  }
  std::vector<uint16_t> expected(x.size());
  std::vector<uint16_t> actual(x.size());
  ref_.to_f16(x.data(), x.size(), expected.data());
  ops_.to_f16(x.data(), x.size(), actual.data());
  EXPECT_TRUE(expected == actual);
  ref_.to_bf16(x.data(), x.size(), expected.data());
  ops_.to_bf16(x.data(), x.size(), actual.data());
  EXPECT_TRUE(expected == actual);
}

TEST_P(OpsTest, BytesWithScalesEqualTheReference) {
  for (const size_t n : Lengths()) {
    for (const int kind : {0, 1, 2}) {
      std::vector<float> x = kind == 0 ? NormalValues(n, n) : WildValues(n, n);
      if (kind == 2) {
        for (float& value : x) value *= 1e-7f;  // scales among f16's smallest
      }
      const size_t groups = (n + 31) / 32;
      std::vector<int8_t> expected(n + 1, 7);
      std::vector<int8_t> actual(n + 1, 7);
      std::vector<uint16_t> expected_scales(groups + 1, 7);
      std::vector<uint16_t> actual_scales(groups + 1, 7);
      ref_.to_q8(x.data(), n, expected.data(), expected_scales.data());
      ops_.to_q8(x.data(), n, actual.data(), actual_scales.data());
      ASSERT_THAT(actual, ElementsAreArray(expected)) << n;
      ASSERT_THAT(actual_scales, ElementsAreArray(expected_scales)) << n;
      std::vector<float> expected_wide(n + 1, 7.0f);
      std::vector<float> wide(n + 1, 7.0f);
      ref_.from_q8(expected.data(), expected_scales.data(), n, expected_wide.data());
      ops_.from_q8(expected.data(), expected_scales.data(), n, wide.data());
      ASSERT_TRUE(SameBits(expected_wide, wide)) << n;
      if (kind != 0) continue;
      for (size_t i = 0; i < n; ++i) EXPECT_NEAR(wide[i], x[i], 0.03);
    }
  }
}

TEST_P(OpsTest, FixedPointSumsEqualTheReference) {
  for (const size_t n : Lengths()) {
    std::vector<int64_t> expected(n + 1, 12345);
    std::vector<int64_t> actual = expected;
    for (const float weight : {1.0f, -0.3f, 0x1p-30f, 0x1p40f, kInfinity}) {
      const std::vector<float> y = WildValues(n, n + 5);
      ref_.fixed_accumulate(expected.data(), y.data(), n, weight);
      ops_.fixed_accumulate(actual.data(), y.data(), n, weight);
      ASSERT_EQ(actual, expected) << n;
    }
    std::vector<float> expected_floats(n + 1, 7.0f);
    std::vector<float> floats = expected_floats;
    ref_.fixed_finish(expected.data(), n, expected_floats.data());
    ops_.fixed_finish(actual.data(), n, floats.data());
    ASSERT_TRUE(SameBits(expected_floats, floats)) << n;
  }
}

TEST_P(OpsTest, FixedPointFinishRoundsLargeSumsAsTheReference) {
  std::vector<int64_t> sums;
  Random random(5);
  for (int shift = 0; shift < 64; ++shift) {
    for (int i = 0; i < 40; ++i) sums.push_back(static_cast<int64_t>(random.NextU64()) >> shift);
  }
  for (const int64_t edge : {kFixedSumLimit, kFixedNotFinite, INT64_MAX - 1, int64_t{0}}) {
    for (const int64_t off : {-1, 0, 1}) {
      sums.push_back(edge + off);
      sums.push_back(-(edge + off));
    }
  }
  sums.push_back(INT64_MIN);
  std::vector<float> expected(sums.size());
  std::vector<float> actual(sums.size());
  ref_.fixed_finish(sums.data(), sums.size(), expected.data());
  ops_.fixed_finish(sums.data(), sums.size(), actual.data());
  EXPECT_TRUE(SameBits(expected, actual));
}

TEST_P(OpsTest, FixedPointSumsDoNotDependOnTheOrder) {
  constexpr size_t kCount = 40;
  constexpr int kTerms = 63;
  std::vector<std::vector<float>> terms;
  for (int i = 0; i < kTerms; ++i) terms.push_back(NormalValues(kCount, i, 100.0f));
  std::vector<int64_t> up(kCount);
  std::vector<int64_t> down(kCount);
  std::vector<int64_t> half(kCount);
  for (int i = 0; i < kTerms; ++i) {
    ops_.fixed_accumulate(up.data(), terms[i].data(), kCount, 0.01f * static_cast<float>(i));
    auto& target = i % 2 == 0 ? down : half;
    ops_.fixed_accumulate(target.data(), terms[i].data(), kCount, 0.01f * static_cast<float>(i));
  }
  ops_.fixed_add(down.data(), half.data(), kCount);
  EXPECT_EQ(up, down);
  std::vector<float> y(kCount);
  ops_.fixed_finish(up.data(), kCount, y.data());
  for (size_t k = 0; k < kCount; ++k) {
    double exact = 0;
    for (int i = 0; i < kTerms; ++i) {
      exact +=
          static_cast<double>(terms[i][k]) * static_cast<double>(0.01f * static_cast<float>(i));
    }
    EXPECT_NEAR(y[k], exact, 1e-7 + std::fabs(exact) * 1e-7);
  }
}

TEST_P(OpsTest, FixedPointSumsSaturateTermsAndKeepNan) {
  const std::vector<float> y = {1e30f, -1e30f, kNan, kInfinity, 1.0f};
  std::vector<int64_t> sums(y.size());
  std::vector<float> out(y.size());
  for (int i = 0; i < 63; ++i) {
    ops_.fixed_accumulate(sums.data(), y.data(), y.size(), 1.0f);
    ops_.fixed_finish(sums.data(), y.size(), out.data());
    EXPECT_EQ(out[0], 262144.0f * static_cast<float>(i + 1));
    EXPECT_EQ(out[1], -262144.0f * static_cast<float>(i + 1));
    EXPECT_TRUE(std::isnan(out[2]));
    EXPECT_TRUE(std::isnan(out[3]));
    EXPECT_EQ(out[4], static_cast<float>(i + 1));
  }
}

TEST_P(OpsTest, SoftmaxOfWhatCannotBeSummedIsDefined) {
  std::vector<float> y(2);
  const std::vector<float> none = {-kInfinity, -kInfinity};
  ops_.softmax(none.data(), 2, y.data());
  EXPECT_THAT(y, ElementsAreArray({0.0f, 0.0f}));
  const std::vector<float> one = {-kInfinity, 3.0f};
  ops_.softmax(one.data(), 2, y.data());
  EXPECT_THAT(y, ElementsAreArray({0.0f, 1.0f}));
}

INSTANTIATE_FOR_EVERY_ISA(OpsTest);

}  // namespace
}  // namespace aster::kernels
