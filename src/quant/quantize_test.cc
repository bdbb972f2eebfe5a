// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "quant/quantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "base/float_mode.h"
#include "base/hash.h"
#include "quant/blocks.h"
#include "quant/dequantize.h"
#include "quant/lattice.h"
#include "quant/random_for_test.h"

namespace aster::quant {
namespace {

using gguf::TensorType;
using ::testing::HasSubstr;

std::vector<uint8_t> Quantized(TensorType type, const std::vector<float>& row,
                               const float* importance = nullptr) {
  std::vector<uint8_t> bytes(*gguf::RowBytes(type, row.size()));
  const Status status = Quantize(type, row, bytes, importance);
  EXPECT_TRUE(status.ok()) << gguf::TensorTypeName(type);
  return bytes;
}

std::vector<float> Dequantized(TensorType type, const std::vector<uint8_t>& bytes, size_t count) {
  std::vector<float> row(count);
  EXPECT_TRUE(Dequantize(type, bytes, row).ok());
  return row;
}

std::vector<float> RoundTrip(TensorType type, const std::vector<float>& row,
                             const float* importance = nullptr) {
  return Dequantized(type, Quantized(type, row, importance), row.size());
}

// Root of the sum of squared differences, relative to that of the weights.
double RelativeError(const std::vector<float>& row, const std::vector<float>& back) {
  double difference = 0;
  double norm = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    difference += std::pow(static_cast<double>(row[i]) - back[i], 2);
    norm += std::pow(static_cast<double>(row[i]), 2);
  }
  return std::sqrt(difference / norm);
}

// The error for normally distributed weights, and the hash of the result: quantising the same
// weights gives the same file on every machine.
struct Expectation {
  TensorType type;
  double error;
  uint64_t hash;
};
constexpr Expectation kExpectations[] = {
    {TensorType::kF32, 0, 0xebfb6cec5f24e0e2},
    {TensorType::kF16, 2.1e-4, 0x98bf411749d3d57c},
    {TensorType::kBF16, 1.7e-3, 0x9f804dbb8d2abe51},
    {TensorType::kQ8_0, 5.4e-3, 0x2c412ab48ff38256},
    {TensorType::kQ6_K, 1.72e-2, 0xb46fd64eb6841d76},
    {TensorType::kQ5_K, 3.5e-2, 0x7ba9855d3fe0ffe3},
    {TensorType::kQ5_1, 3.42e-2, 0x4a3a0d4425ece7bc},
    {TensorType::kQ5_0, 4.06e-2, 0x48d88cdff3ac6cf0},
    {TensorType::kQ4_K, 7.1e-2, 0x745da8f330437266},
    {TensorType::kQ4_1, 7.07e-2, 0x30c4277b138589db},
    {TensorType::kQ4_0, 8.15e-2, 0x40b9610a087dfba5},
    {TensorType::kIQ4_NL, 7.45e-2, 0x6921831f639c3906},
    {TensorType::kIQ4_XS, 7.5e-2, 0xf420726a94ea2b1d},
    {TensorType::kMXFP4, 0.112, 0x64d2a87299c70f14},
    {TensorType::kQ3_K, 0.145, 0xf111f23658122e3b},
    {TensorType::kQ2_K, 0.268, 0x42e959e023dacb9c},
    {TensorType::kIQ2_XXS, 0.334, 0x35aa06f879f17991},
};

std::string TypeName(const ::testing::TestParamInfo<Expectation>& info) {
  return gguf::TensorTypeName(info.param.type);
}

class QuantizeEachType : public ::testing::TestWithParam<Expectation> {
 protected:
  TensorType type() const { return GetParam().type; }
  bool is_block_type() const { return gguf::FindTensorType(type())->block_elements > 1; }
};
INSTANTIATE_TEST_SUITE_P(Types, QuantizeEachType, ::testing::ValuesIn(kExpectations), TypeName);

TEST_P(QuantizeEachType, NormalWeightsKeepTheirShape) {
  const std::vector<float> row = NormalRow(1, 8192, 0.02f);
  EXPECT_LE(RelativeError(row, RoundTrip(type(), row)), GetParam().error);
}

TEST_P(QuantizeEachType, TheSameBitsOnEveryMachine) {
  const std::vector<float> row = NormalRow(2, 4096);
  const std::vector<float> importance = UniformRow(2, row.size());
  std::vector<uint8_t> bytes = Quantized(type(), row);
  const std::vector<uint8_t> weighted = Quantized(type(), row, importance.data());
  bytes.insert(bytes.end(), weighted.begin(), weighted.end());
  EXPECT_EQ(Hash64Of(bytes), GetParam().hash);
}

TEST_P(QuantizeEachType, TheCallersFloatModeDoesNotMatter) {
  std::vector<float> row = NormalRow(3, 1024);
  for (size_t i = 0; i < 256; ++i) row[i] *= 1e-38f;  // many of them denormal
  const std::vector<uint8_t> expected = Quantized(type(), row);
  const ComputeFloatMode mode;
  EXPECT_EQ(Quantized(type(), row), expected);
}

TEST_P(QuantizeEachType, AConstantRowComesBack) {
  for (const float value : {0.0f, 1.0f, -1.0f, 0.37f, -0.37f}) {
    const std::vector<float> row(512, value);
    const std::vector<float> back = RoundTrip(type(), row);
    // Types with levels around zero and no minimum need not have exactly this level.
    const float tolerance = type() == TensorType::kMXFP4 ? 0.17f : 0.05f;
    for (const float actual : back) EXPECT_NEAR(actual, value, tolerance * std::fabs(value));
  }
}

TEST_P(QuantizeEachType, OneLargeWeightAmongZeros) {
  for (const float spike : {3.0f, -3.0f}) {
    std::vector<float> row(512, 0.0f);
    row[100] = spike;
    const std::vector<float> back = RoundTrip(type(), row);
    // IQ2_XXS has no zero and one scale for 32 weights: it has to compromise.
    if (type() != TensorType::kIQ2_XXS) {
      EXPECT_NEAR(back[100], spike, 0.02);
    }
    for (const float actual : back) EXPECT_LE(std::fabs(actual), 3.1f);
  }
}

TEST_P(QuantizeEachType, WhateverIsFiniteStaysFinite) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  for (const float size : {kLargest, 1e30f, 1e9f, 1e-9f, 1e-30f, 1e-44f}) {
    const bool has_size = is_block_type() || type() == TensorType::kF32;
    if (!has_size && size > 1) continue;
    std::vector<float> row = NormalRow(4, 512);
    for (float& value : row) value = std::clamp(value, -1.0f, 1.0f) * size;
    for (const float actual : RoundTrip(type(), row)) EXPECT_TRUE(std::isfinite(actual)) << size;
  }
}

TEST_P(QuantizeEachType, SmallAndLargeWeightsLoseNoMoreThanOthers) {
  for (const float size : {1e-2f, 1e3f}) {
    std::vector<float> row = NormalRow(5, 4096);
    const double expected = RelativeError(row, RoundTrip(type(), row));
    for (float& value : row) value *= size;
    EXPECT_LE(RelativeError(row, RoundTrip(type(), row)), 1.02 * expected) << size;
  }
}

TEST_P(QuantizeEachType, AgainIsNoWorse) {
  const std::vector<float> row = NormalRow(6, 4096);
  const std::vector<float> once = RoundTrip(type(), row);
  const std::vector<float> twice = RoundTrip(type(), once);
  EXPECT_LE(RelativeError(once, twice), 0.5 * GetParam().error);
}

TEST_P(QuantizeEachType, ImportantWeightsAreServedBetter) {
  if (!is_block_type() || type() == TensorType::kQ8_0) GTEST_SKIP() << "nothing to choose";
  const std::vector<float> row = NormalRow(7, 8192);
  std::vector<float> importance = UniformRow(7, row.size());
  for (float& value : importance) value = value < 0.25f ? 20.0f : 0.1f;
  const auto error_of_important = [&](const std::vector<float>& back) {
    double sum = 0;
    for (size_t i = 0; i < row.size(); ++i) {
      if (importance[i] > 1) sum += std::pow(row[i] - back[i], 2);
    }
    return sum;
  };
  EXPECT_LT(error_of_important(RoundTrip(type(), row, importance.data())),
            0.95 * error_of_important(RoundTrip(type(), row)));
}

TEST_P(QuantizeEachType, UnusableImportanceIsNone) {
  const std::vector<float> row = NormalRow(8, 512);
  const std::vector<uint8_t> expected = Quantized(type(), row);
  for (const float value : {0.0f, -1.0f, std::numeric_limits<float>::quiet_NaN()}) {
    const std::vector<float> importance(row.size(), value);
    EXPECT_EQ(Quantized(type(), row, importance.data()), expected) << value;
  }
}

TEST_P(QuantizeEachType, RefusesWhatItCannotHold) {
  for (const float bad : {INFINITY, -INFINITY, std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> row(512, 1.0f);
    row[300] = bad;
    std::vector<uint8_t> bytes(*gguf::RowBytes(type(), row.size()));
    const Status status = Quantize(type(), row, bytes);
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.error().message(), HasSubstr("300"));
  }
}

TEST(Quantize, HalvesHaveALargestNumber) {
  std::vector<float> row = {65519.0f, -65519.0f};
  EXPECT_THAT(RoundTrip(TensorType::kF16, row), ::testing::ElementsAre(65504.0f, -65504.0f));
  row[1] = 65520.0f;
  std::vector<uint8_t> bytes(4);
  EXPECT_FALSE(Quantize(TensorType::kF16, row, bytes).ok());
}

TEST(Quantize, Bfloat16HasALargestNumber) {
  const float largest = std::bit_cast<float>(0x7f7f0000u);
  std::vector<float> row = {std::bit_cast<float>(0x7f7f7fffu)};
  EXPECT_THAT(RoundTrip(TensorType::kBF16, row), ::testing::ElementsAre(largest));
  row[0] = std::bit_cast<float>(0x7f7f8000u);
  std::vector<uint8_t> bytes(2);
  EXPECT_FALSE(Quantize(TensorType::kBF16, row, bytes).ok());
}

TEST(Quantize, RefusesWhatIsNotARow) {
  const std::vector<float> row(33);
  std::vector<uint8_t> bytes(34);
  EXPECT_EQ(Quantize(TensorType::kQ8_0, row, bytes).error().code(), Code::kInvalidArgument);
  EXPECT_EQ(Quantize(TensorType::kIQ2_S, row, bytes).error().code(), Code::kUnimplemented);
  EXPECT_TRUE(Quantize(TensorType::kQ8_0, {}, {}).ok());
  EXPECT_FALSE(CanQuantize(TensorType::kIQ2_S));
}

// The plain rule that all tools share, so that all Q8_0 files agree: the largest magnitude is 127,
// halves are rounded away from zero.
TEST(Quantize, Q8_0RoundsAsEverybodyDoes) {
  std::vector<float> row(32, 0.0f);
  row[0] = -127.0f;
  row[1] = 2.5f;
  row[2] = -2.5f;
  row[3] = 0.49999997f;
  const std::vector<uint8_t> bytes = Quantized(TensorType::kQ8_0, row);
  const auto* block = reinterpret_cast<const BlockQ8_0*>(bytes.data());
  EXPECT_EQ(block->scale, 0x3c00);
  EXPECT_EQ(block->quants[0], -127);
  EXPECT_EQ(block->quants[1], 3);
  EXPECT_EQ(block->quants[2], -3);
  EXPECT_EQ(block->quants[3], 0);
}

// Eight weights and their importance.
struct Octet {
  const float* x;
  const double* importance;
};

double PointError(const Octet& octet, const Point8& point, uint32_t signs, float scale) {
  double error = 0;
  for (size_t i = 0; i < 8; ++i) {
    const float magnitude = scale * static_cast<float>(point[i]);
    const float value = (signs >> i & 1) != 0 ? -magnitude : magnitude;
    error += octet.importance[i] * std::pow(octet.x[i] - value, 2);
  }
  return error;
}

double BestPointError(const Octet& octet, float scale) {
  double best = INFINITY;
  for (const Point8& point : kIq2XxsGrid) {
    for (uint32_t seven = 0; seven < 128; ++seven) {
      best = std::min(best, PointError(octet, point, EvenSigns(seven), scale));
    }
  }
  return best;
}

// Under the chosen scale, no other point with any other even signs is better.
TEST(Quantize, Iq2XxsPicksTheBestOfAllPoints) {
  const std::vector<float> row = NormalRow(9, 256);
  double mean_square = 0;
  for (const float x : row) mean_square += x * x / 256;
  std::vector<double> importance;  // large weights count more
  for (const float x : row) importance.push_back(std::sqrt(1 + x * x / mean_square));
  const std::vector<uint8_t> bytes = Quantized(TensorType::kIQ2_XXS, row);
  const std::vector<float> back = Dequantized(TensorType::kIQ2_XXS, bytes, row.size());
  const auto* block = reinterpret_cast<const BlockIQ2_XXS*>(bytes.data());
  for (size_t first = 0; first < 256; first += 8) {
    const uint8_t point = block->groups[first / 32].points[first / 8 % 4];
    const float scale = std::fabs(back[first]) / static_cast<float>(kIq2XxsGrid[point][0]);
    double chosen = 0;
    for (size_t i = first; i < first + 8; ++i) {
      chosen += importance[i] * std::pow(row[i] - back[i], 2);
    }
    EXPECT_LE(chosen, 1.00001 * BestPointError({&row[first], &importance[first]}, scale)) << first;
  }
}

}  // namespace
}  // namespace aster::quant
