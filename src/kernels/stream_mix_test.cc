// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/stream_mix.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/ops_test_support.h"

namespace aster::kernels {
namespace {

constexpr size_t kStreams = 4;
constexpr size_t kSize = StreamMixSize(kStreams);

class StreamMixIsa : public IsaTest {
 protected:
  std::vector<float> Mixed(const std::vector<float>& products, size_t iterations) {
    std::vector<float> values = products;
    MixStreams(Ops(GetParam()), Spec(iterations), values.data());
    return values;
  }
  StreamMix Spec(size_t iterations) {
    return {.streams = kStreams,
            .iterations = iterations,
            .epsilon = 1e-6f,
            .scale = scale_.data(),
            .base = base_.data()};
  }

  const std::vector<float> scale_ = {0.8f, 0.9f, 1.1f};
  const std::vector<float> base_ = NormalValues(kSize, 3, 0.5f);
};

TEST_P(StreamMixIsa, WeightsAreThoseOfTheFormulas) {
  const auto products = NormalValues(kSize, 4);
  const auto values = Mixed(products, 20);
  const auto at = [&](size_t i, size_t part) {
    return double{products[i]} * double{scale_[part]} + double{base_[i]};
  };
  for (size_t i = 0; i < kStreams; ++i) {
    EXPECT_NEAR(values[i], 1 / (1 + std::exp(-at(i, 0))) + 1e-6, 1e-6);
    EXPECT_NEAR(values[kStreams + i], 2 / (1 + std::exp(-at(kStreams + i, 1))), 1e-6);
  }
  // Only one round, in double precision: a softmax of rows, then columns.
  const auto once = Mixed(products, 1);
  double square[kStreams][kStreams];
  for (size_t a = 0; a < kStreams; ++a) {
    double sum = 0;
    for (size_t b = 0; b < kStreams; ++b)
      sum += square[a][b] = std::exp(at(2 * kStreams + a * kStreams + b, 2));
    for (size_t b = 0; b < kStreams; ++b) square[a][b] = square[a][b] / sum + 1e-6;
  }
  for (size_t b = 0; b < kStreams; ++b) {
    double sum = 1e-6;
    for (size_t a = 0; a < kStreams; ++a) sum += square[a][b];
    for (size_t a = 0; a < kStreams; ++a)
      EXPECT_NEAR(once[2 * kStreams + a * kStreams + b], square[a][b] / sum, 1e-6);
  }
}

TEST_P(StreamMixIsa, RowsAndColumnsComeNearOne) {
  const auto values = Mixed(NormalValues(kSize, 5, 3.0f), 20);
  for (size_t a = 0; a < kStreams; ++a) {
    double row = 0, column = 0;
    for (size_t b = 0; b < kStreams; ++b) {
      row += values[2 * kStreams + a * kStreams + b];
      column += values[2 * kStreams + b * kStreams + a];
    }
    EXPECT_NEAR(row, 1, 1e-2);
    EXPECT_NEAR(column, 1, 1e-4);
  }
}

TEST_P(StreamMixIsa, EveryInstructionSetFindsTheSameBits) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto products = NormalValues(kSize, seed, 4.0f);
    std::vector<float> expected = products, merged = products, also_merged = products;
    MixStreams(kOpsRef, Spec(20), expected.data());
    EXPECT_TRUE(SameBits(expected, Mixed(products, 20)));
    MergeStreams(kOpsRef, Spec(20), merged.data());
    MergeStreams(Ops(GetParam()), Spec(20), also_merged.data());
    EXPECT_TRUE(SameBits(merged, also_merged));
  }
}

INSTANTIATE_FOR_EVERY_ISA(StreamMixIsa);

}  // namespace
}  // namespace aster::kernels
