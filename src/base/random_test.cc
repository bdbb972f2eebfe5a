// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "base/float_mode.h"
#include "base/hash.h"

namespace aster {
namespace {

// The authors' published results for three counters and keys.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(Philox({0, 0, 0, 0}, {0, 0}),
            (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(Philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

Hash128 HashOf(const std::vector<float>& values) {
  return Hash128Of({reinterpret_cast<const uint8_t*>(values.data()), 4 * values.size()});
}

// Model files that were synthesised from a seed must always be the same: on any processor, with any
// compiler, in any floating-point mode that we compute in.
TEST(Random, FilledNumbersNeverChange) {
  std::vector<float> normal(100'003);
  std::vector<float> uniform(100'003);
  FillNormal(/*seed=*/12345, /*stream=*/678, /*first_index=*/9, normal);
  FillUniform(/*seed=*/12345, /*stream=*/678, /*first_index=*/9, uniform);
  EXPECT_EQ(HashOf(normal).ToHex(), "3765304e5241cda14666b06dc1d14a0a");
  EXPECT_EQ(HashOf(uniform).ToHex(), "3bf4b588da8f5ae6b795a9b84367304a");
  const ComputeFloatMode mode;
  std::vector<float> again(normal.size());
  FillNormal(12345, 678, 9, again);
  EXPECT_EQ(again, normal);
}

TEST(Random, PiecesMakeTheSameWhole) {
  std::vector<float> whole(1000);
  FillNormal(1, 2, 5, whole);
  for (size_t piece = 1; piece < 150; piece += 7) {
    std::vector<float> parts(whole.size());
    for (size_t begin = 0; begin < parts.size(); begin += piece) {
      const size_t size = std::min(piece, parts.size() - begin);
      FillNormal(1, 2, 5 + begin, std::span(parts).subspan(begin, size));
    }
    EXPECT_EQ(parts, whole) << "pieces of " << piece;
  }
}

TEST(Random, IndicesBeyondThirtyTwoBitsAreTheirOwn) {
  std::vector<float> low(8);
  std::vector<float> high(8);
  FillUniform(1, 2, 0, low);
  FillUniform(1, 2, uint64_t{4} << 32, high);
  EXPECT_NE(low, high);
  // A fill across that border agrees with two that meet there.
  std::vector<float> across(8);
  FillUniform(1, 2, (uint64_t{4} << 32) - 4, across);
  EXPECT_TRUE(std::equal(across.begin() + 4, across.end(), high.begin()));
}

TEST(Random, SeedsAndStreamsDiffer) {
  const auto first = [](uint64_t seed, uint64_t stream) { return Random(seed, stream).NextU64(); };
  const std::set<uint64_t> distinct = {first(0, 0),          first(1, 0),          first(0, 1),
                                       first(1ULL << 32, 0), first(0, 1ULL << 32), first(1, 1)};
  EXPECT_EQ(distinct.size(), 6U);
}

TEST(Random, TheSystemsSeedsDiffer) {
  std::set<uint64_t> seeds;
  for (int i = 0; i < 100; ++i) seeds.insert(SystemSeed());
  EXPECT_EQ(seeds.size(), 100U);
}

double NormalDistribution(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

TEST(Random, NormalsAreNormal) {
  constexpr size_t kCount = 2'000'000;
  std::vector<float> values(kCount);
  FillNormal(7, 0, 0, values);
  double moments[5] = {};
  double neighbours = 0;
  for (size_t i = 0; i < kCount; ++i) {
    double power = 1;
    for (double& moment : moments) {
      moment += power / kCount;
      power *= values[i];
    }
    if (i > 0) neighbours += static_cast<double>(values[i]) * values[i - 1] / kCount;
  }
  // Five standard errors of each at this count.
  EXPECT_NEAR(moments[1], 0, 0.0036);
  EXPECT_NEAR(moments[2], 1, 0.005);
  EXPECT_NEAR(moments[3], 0, 0.0137);
  EXPECT_NEAR(moments[4], 3, 0.0347);
  EXPECT_NEAR(neighbours, 0, 0.0036);

  // Kolmogorov-Smirnov test: the largest distance from the true distribution is below 1.95/√n in
  // 999 of 1000 draws, and this draw is fixed.
  std::sort(values.begin(), values.end());
  double distance = 0;
  for (size_t i = 0; i < kCount; ++i) {
    const double expected = NormalDistribution(values[i]);
    distance = std::max({distance, std::abs(expected - static_cast<double>(i) / kCount),
                         std::abs(expected - static_cast<double>(i + 1) / kCount)});
  }
  EXPECT_LT(distance, 1.95 / std::sqrt(kCount));
  EXPECT_GT(values.back(), 4.5F);
  EXPECT_LT(values.front(), -4.5F);
}

TEST(Random, NormalsStayWhereTheSmallestUniformNumberPutsThem) {
  // √(-2 ln 2^-32) = 6.66
  std::vector<float> values(1 << 20);
  for (uint64_t stream = 0; stream < 8; ++stream) {
    FillNormal(3, stream, 0, values);
    EXPECT_TRUE(std::all_of(values.begin(), values.end(),
                            [](float value) { return std::abs(value) < 6.7F; }));
  }
}

TEST(Random, UniformsFillTheirRange) {
  std::vector<float> values(100'000);
  FillUniform(7, 0, 0, values);
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  EXPECT_GE(*least, 0.0F);
  EXPECT_LT(*least, 0.0001F);
  EXPECT_LT(*most, 1.0F);
  EXPECT_GT(*most, 0.9999F);
}

TEST(Random, WalksAlongTheStream) {
  Random random(5, 6);
  std::vector<uint32_t> words(8);
  std::generate(words.begin(), words.end(), [&] { return random.NextU32(); });
  const PhiloxBlock second = Philox({1, 0, 6, 0}, {5, 0});
  EXPECT_TRUE(std::equal(words.begin() + 4, words.end(), second.begin()));
  Random copy = random;
  EXPECT_EQ(copy.NextU64(), random.NextU64());

  std::vector<float> filled(4);
  FillUniform(5, 6, 0, filled);
  EXPECT_EQ(Random(5, 6).NextFloat(), filled[0]);
  FillNormal(5, 6, 0, filled);
  EXPECT_EQ(Random(5, 6).NextNormal(), filled[0]);
}

TEST(Random, BelowABoundAllAreEquallyLikely) {
  Random random(1);
  std::vector<int> counts(6);
  for (int i = 0; i < 60'000; ++i) ++counts[random.NextBelow(6)];
  for (int count : counts) EXPECT_NEAR(count, 10'000, 500);
  EXPECT_EQ(random.NextBelow(1), 0U);
  // Three quarters of all words: without rejections, the lower half would be twice as frequent.
  const uint64_t bound = 3ULL << 62;
  int lower = 0;
  for (int i = 0; i < 30'000; ++i) lower += random.NextBelow(bound) < bound / 3 ? 1 : 0;
  EXPECT_NEAR(lower, 10'000, 450);
}

TEST(Random, DoublesUseTheirWholeWidth) {
  Random random(2);
  bool odd = false;
  for (int i = 0; i < 64; ++i) {
    const double value = random.NextDouble();
    EXPECT_GE(value, 0.0);
    EXPECT_LT(value, 1.0);
    odd |= std::fmod(value * 0x1p53, 2.0) == 1.0;
  }
  EXPECT_TRUE(odd);
}

}  // namespace
}  // namespace aster
