// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/latent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/ops_test_support.h"

namespace aster::kernels {
namespace {

std::vector<float> RoundTrip(const LatentTable& table, const LatentFormat& format,
                             const std::vector<float>& values) {
  std::vector<uint8_t> row(LatentRowBytes(format));
  EncodeLatentRow(format, values.data(), row.data());
  const uint8_t* const rows[] = {row.data()};
  std::vector<float> out(values.size());
  table.decode(format, rows, 1, out.data(), values.size());
  return out;
}

TEST(LatentRows, SizesAreThoseOfThePublishedShape) {
  EXPECT_EQ(LatentRowBytes({LatentRows::kF16, 512, 448}), 1024u);
  EXPECT_EQ(LatentRowBytes({LatentRows::kF8, 512, 448}), 448u + 7 + 128);
  EXPECT_EQ(LatentRowBytes({LatentRows::kF4, 128, 0}), 64u + 4);
  EXPECT_EQ(LatentRowBytes({LatentRows::kF8Fine, 512, 448}), 512u + 16);
  EXPECT_EQ(LatentRowBytes({LatentRows::kF4Scaled, 512, 448}), 256u + 32);
}

// The nearest of all values of a small float, ties to the even code.
float Nearest(const std::vector<float>& levels, float value) {
  size_t best = 0;
  for (size_t i = 1; i < levels.size(); ++i) {
    const float gap = std::fabs(levels[i] - std::fabs(value));
    const float least = std::fabs(levels[best] - std::fabs(value));
    if (gap < least || (gap == least && i % 2 == 0)) best = i;
  }
  return std::copysign(levels[best], value);
}

std::vector<float> E4m3Levels() {
  std::vector<float> levels;
  for (int code = 0; code < 127; ++code) {
    const int exponent = code >> 3;
    const auto fraction = static_cast<float>(code & 7);
    levels.push_back(exponent == 0 ? std::ldexp(fraction, -9)
                                   : std::ldexp(8.0f + fraction, exponent - 10));
  }
  return levels;
}

TEST(LatentRows, EightBitsHoldTheNearestValue) {
  const LatentFormat format{LatentRows::kF8, 96, 80};  // a whole group and a short one
  const std::vector<float> levels = E4m3Levels();
  for (uint64_t seed = 0; seed < 40; ++seed) {
    std::vector<float> values =
        NormalValues(96, seed, std::ldexp(1.0f, static_cast<int>(seed) - 28));
    values[3] = 0.0f;
    const auto held = RoundTrip(kLatentRef, format, values);
    for (int begin = 0; begin < 80; begin += 64) {
      const int end = std::min(begin + 64, 80);
      float largest = 1e-4f;
      for (int i = begin; i < end; ++i) largest = std::max(largest, std::fabs(values[i]));
      const float scale = std::exp2(std::ceil(std::log2(largest / 448.0f)));
      for (int i = begin; i < end; ++i)
        EXPECT_EQ(held[i], Nearest(levels, values[i] / scale) * scale) << values[i];
    }
    for (int i = 80; i < 96; ++i)
      EXPECT_NEAR(held[i], values[i], std::fabs(values[i]) * 0x1p-11f + 0x1p-25f);
  }
}

TEST(LatentRows, FourBitsHoldTheNearestValue) {
  const LatentFormat format{LatentRows::kF4, 64, 0};
  const std::vector<float> levels = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};
  for (uint64_t seed = 0; seed < 40; ++seed) {
    std::vector<float> values =
        NormalValues(64, seed, std::ldexp(1.0f, static_cast<int>(seed) - 20));
    // Ties, and the largest of all.
    if (seed == 20) values = {6.0f, 0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f, -0.25f, -5.0f};
    values.resize(64, 0.0f);
    const auto held = RoundTrip(kLatentRef, format, values);
    for (int begin = 0; begin < 64; begin += 32) {
      float largest = 6 * 0x1p-126f;
      for (int i = begin; i < begin + 32; ++i) largest = std::max(largest, std::fabs(values[i]));
      const float scale = std::exp2(std::ceil(std::log2(largest / 6.0f)));
      for (int i = begin; i < begin + 32; ++i)
        EXPECT_EQ(held[i], Nearest(levels, values[i] / scale) * scale) << values[i];
    }
  }
}

TEST(LatentRows, FineBytesHoldTheNearestValue) {
  const LatentFormat format{LatentRows::kF8Fine, 80, 64};  // two whole groups and a short one
  const std::vector<float> levels = E4m3Levels();
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const std::vector<float> values =
        NormalValues(80, seed, std::ldexp(1.0f, static_cast<int>(seed) - 28));
    const auto held = RoundTrip(kLatentRef, format, values);
    for (int begin = 0; begin < 80; begin += 32) {
      const int end = std::min(begin + 32, 80);
      float largest = 1e-4f;
      for (int i = begin; i < end; ++i) largest = std::max(largest, std::fabs(values[i]));
      const float scale = std::exp2(std::ceil(std::log2(largest / 448.0f)));
      for (int i = begin; i < end; ++i)
        EXPECT_EQ(held[i], Nearest(levels, values[i] / scale) * scale) << values[i];
    }
  }
}

TEST(LatentRows, ScaledFourBitsHoldTheNearestValue) {
  const LatentFormat format{LatentRows::kF4Scaled, 64, 0};
  const std::vector<float> levels = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};
  const std::vector<float> scales = E4m3Levels();
  for (uint64_t seed = 0; seed < 40; ++seed) {
    // From values that are too small for any scale to values that are too large.
    const std::vector<float> values =
        NormalValues(64, seed, std::ldexp(1.0f, static_cast<int>(seed) - 20));
    const auto held = RoundTrip(kLatentRef, format, values);
    for (int begin = 0; begin < 64; begin += 16) {
      float largest = 6 * 0x1p-9f;
      for (int i = begin; i < begin + 16; ++i) largest = std::max(largest, std::fabs(values[i]));
      const float scale = Nearest(scales, std::min(largest / 6.0f, 448.0f));
      for (int i = begin; i < begin + 16; ++i) {
        const float bounded = std::clamp(values[i] / scale, -6.0f, 6.0f);
        EXPECT_EQ(held[i], Nearest(levels, bounded) * scale) << values[i];
      }
    }
  }
}

TEST(LatentRows, WhatIsHeldStaysTheSame) {
  for (const LatentFormat format :
       {LatentFormat{LatentRows::kF16, 96, 64}, LatentFormat{LatentRows::kF8, 96, 64},
        LatentFormat{LatentRows::kF4, 96, 0}, LatentFormat{LatentRows::kF8Fine, 96, 64},
        LatentFormat{LatentRows::kF4Scaled, 96, 0}}) {
    const auto once = RoundTrip(kLatentRef, format, NormalValues(96, 5));
    EXPECT_TRUE(SameBits(RoundTrip(kLatentRef, format, once), once));
  }
}

TEST(LatentRows, AGroupThatIsNotFiniteIsNan) {
  for (const LatentRows type :
       {LatentRows::kF8, LatentRows::kF4, LatentRows::kF8Fine, LatentRows::kF4Scaled}) {
    for (const float odd : {HUGE_VALF, -HUGE_VALF, std::nanf("")}) {
      std::vector<float> values(128, 1.0f);
      values[70] = odd;
      const auto held = RoundTrip(kLatentRef, {type, 128, 128}, values);
      EXPECT_NEAR(held[0], 1.0f, 0.04f);  // no scale is exactly a sixth
      EXPECT_TRUE(std::isnan(held[70]));
      EXPECT_TRUE(std::isnan(held[65]));
    }
  }
}

TEST(SelectLargest, TakesTheLargestAndOfEqualOnesTheFirst) {
  const float scores[] = {1, 5, 2, 5, std::nanf(""), 5, 0, 2};
  std::vector<uint32_t> order(8), chosen(8);
  const auto select = [&](size_t wanted) {
    SelectLargest(scores, 8, wanted, order.data(), chosen.data());
    return std::vector(chosen.begin(), chosen.begin() + static_cast<ptrdiff_t>(wanted));
  };
  EXPECT_EQ(select(2), (std::vector<uint32_t>{1, 3}));
  EXPECT_EQ(select(4), (std::vector<uint32_t>{1, 2, 3, 5}));
  EXPECT_EQ(select(7), (std::vector<uint32_t>{0, 1, 2, 3, 5, 6, 7}));
  EXPECT_EQ(select(0), (std::vector<uint32_t>{}));
}

class LatentIsa : public IsaTest {
 protected:
  const LatentTable& table_ = Latent(GetParam());
};

TEST_P(LatentIsa, EveryCodeIsReadAlike) {
  for (const LatentRows type : {LatentRows::kF16, LatentRows::kF8, LatentRows::kF4,
                                LatentRows::kF8Fine, LatentRows::kF4Scaled}) {
    const LatentFormat format{type, 160, type == LatentRows::kF8 ? 112 : 0};
    Random random(3);
    std::vector<uint8_t> bytes(20 * LatentRowBytes(format));
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.NextBelow(256));
    std::vector<const uint8_t*> rows;
    for (size_t i = 0; i < 20; ++i) rows.push_back(bytes.data() + i * LatentRowBytes(format));
    std::vector<float> expected(20 * 176), actual(20 * 176);
    kLatentRef.decode(format, rows.data(), 20, expected.data(), 176);
    table_.decode(format, rows.data(), 20, actual.data(), 176);
    EXPECT_TRUE(SameBits(expected, actual));
  }
}

TEST_P(LatentIsa, ProductsAreTheReferences) {
  const auto a = NormalValues(40 * 70, 1);
  const auto b = NormalValues(70 * 112, 2);
  for (const size_t rows : {1, 2, 6, 7, 25}) {
    for (const size_t columns : {16, 32, 64, 96, 112}) {
      for (const bool by_columns : {false, true}) {
        std::vector<float> expected(rows * 112, 7.0f), actual(rows * 112, 7.0f);
        LatentProduct product{.a = a.data(),
                              .a_row = by_columns ? 1u : 70u,
                              .a_step = by_columns ? 40u : 1u,
                              .b = b.data(),
                              .b_row = 112,
                              .c = expected.data(),
                              .c_row = 112,
                              .rows = rows,
                              .depth = 69,
                              .columns = columns};
        kLatentRef.multiply(product);
        product.c = actual.data();
        table_.multiply(product);
        EXPECT_TRUE(SameBits(expected, actual)) << rows << " x " << columns;
      }
    }
  }
}

TEST_P(LatentIsa, SoftmaxInBlocksIsTheReferences) {
  constexpr size_t kHeads = 32, kDim = 48;
  struct Run {
    std::vector<float> scores, max, sum, out;
  };
  const auto run = [&](const LatentTable& table) {
    Run state{.scores = {},
              .max = std::vector<float>(kHeads, -HUGE_VALF),
              .sum = std::vector<float>(kHeads),
              .out = std::vector<float>(kHeads * kDim)};
    std::vector<float> values(kHeads * kDim);
    for (uint64_t block = 0; block < 3; ++block) {
      state.scores = NormalValues(50 * kHeads, block, 9.0f);
      std::vector<float> max(kHeads), sum(kHeads);
      table.weigh(state.scores.data(), 50, kHeads, max.data(), sum.data());
      const auto more = NormalValues(kHeads * kDim, 9 + block);
      table.merge({max.data(), sum.data(), more.data(), kHeads - 3, kDim},
                  {state.max.data(), state.sum.data(), values.data()});
    }
    const auto sinks = NormalValues(kHeads, 77, 3.0f);
    table.finish({state.max.data(), state.sum.data(), values.data()}, sinks.data(), kHeads - 3,
                 kDim, state.out.data());
    return state;
  };
  const Run expected = run(kLatentRef), actual = run(table_);
  EXPECT_TRUE(SameBits(expected.scores, actual.scores));
  EXPECT_TRUE(SameBits(expected.sum, actual.sum));
  EXPECT_TRUE(SameBits(expected.out, actual.out));
}

TEST_P(LatentIsa, PoolingAndRankingAreTheReferences) {
  const auto values = NormalValues(130 * 64, 1), scores = NormalValues(130 * 64, 2, 5.0f);
  for (const size_t count : {1, 4, 8, 128}) {
    std::vector<const float*> value_rows, score_rows;
    for (size_t i = 0; i < count; ++i) {
      value_rows.push_back(values.data() + i * 64);
      score_rows.push_back(scores.data() + i * 64);
    }
    std::vector<float> expected(48), actual(48);
    kLatentRef.pool(value_rows.data(), score_rows.data(), count, 48, expected.data());
    table_.pool(value_rows.data(), score_rows.data(), count, 48, actual.data());
    EXPECT_TRUE(SameBits(expected, actual));
  }
  std::vector<float> expected(130), actual(130);
  kLatentRef.rank(values.data(), 130, 64, scores.data(), expected.data());
  table_.rank(values.data(), 130, 64, scores.data(), actual.data());
  EXPECT_TRUE(SameBits(expected, actual));
}

INSTANTIATE_FOR_EVERY_ISA(LatentIsa);

}  // namespace
}  // namespace aster::kernels
