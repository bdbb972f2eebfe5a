// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/activations.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/isa_choice.h"
#include "kernels/matmul_test_support.h"

namespace aster::kernels {
namespace {

constexpr ActivationFormat kFormats[] = {ActivationFormat::kF32, ActivationFormat::kBF16,
                                         ActivationFormat::kInt8Per32,
                                         ActivationFormat::kInt8Per256};

size_t ColumnsMultiple(ActivationFormat format) {
  return format == ActivationFormat::kInt8Per256 ? 256 : 1;
}

std::vector<uint8_t> BytesOf(const PreparedRows& rows) {
  return {rows.bytes.data(), rows.bytes.data() + rows.bytes.size()};
}

PreparedRows Per32(std::span<const float> values) {
  return {Isa::kRef, ActivationFormat::kInt8Per32, values, values.size()};
}

float ScaleOf32(const PreparedRows& rows, size_t block) {
  return rows.word<float>(0, block / 2 * kPer32Words + kPer32Scale + block % 2);
}

TEST(ActivationsTest, EveryInstructionSetWritesTheSameBytes) {
  uint64_t seed = 0;
  for (const ActivationFormat format : kFormats) {
    for (size_t count = 1; count <= 140; ++count) {
      const size_t columns = count * ColumnsMultiple(format);
      if (columns > 10 * 256) break;
      for (const TestValues kind : {TestValues::kPlain, TestValues::kAny}) {
        const std::vector<float> values = TestRows(3, columns, kind, ++seed);
        const PreparedRows expected(Isa::kRef, format, values, columns);
        for (const Isa isa : AvailableIsas()) {
          ASSERT_EQ(BytesOf({isa, format, values, columns}), BytesOf(expected))
              << IsaName(isa) << ", format " << static_cast<int>(format) << ", " << columns
              << " columns, seed " << seed;
        }
      }
    }
  }
}

TEST(ActivationsTest, RowsMayStandAtAnyAddress) {
  for (const ActivationFormat format : kFormats) {
    const std::vector<float> values = TestRows(1, 256, TestValues::kPlain, 5);
    const PreparedRows expected(Isa::kRef, format, values, 256);
    for (size_t offset = 4; offset < 64; offset += 4) {
      AlignedBytes copy(256 * sizeof(float), 64, offset);
      std::memcpy(copy.data(), values.data(), copy.size());
      const std::span<const float> moved(reinterpret_cast<const float*>(copy.data()), 256);
      for (const Isa isa : AvailableIsas()) {
        EXPECT_EQ(BytesOf({isa, format, moved, 256}), BytesOf(expected))
            << IsaName(isa) << ", offset " << offset;
      }
    }
  }
}

// Groups of sixteen rows and the rest: each row is the same as alone.
TEST(ActivationsTest, ARowDoesNotDependOnItsCompanions) {
  for (const ActivationFormat format : kFormats) {
    for (const size_t rows : {1, 2, 15, 16, 17, 31, 33}) {
      const std::vector<float> values = TestRows(rows, 256, TestValues::kPlain, rows);
      const PreparedRows together(Isa::kRef, format, values, 256);
      for (uint32_t row = 0; row < rows; ++row) {
        const PreparedRows alone(Isa::kRef, format, std::span(values).subspan(row * 256, 256), 256);
        std::vector<uint8_t> picked(alone.bytes.size());
        GatherActivations(format, {together.bytes.data(), rows, 256}, {&row, 1}, picked.data());
        EXPECT_EQ(picked, BytesOf(alone)) << "row " << row << " of " << rows;
      }
    }
  }
}

TEST(ActivationsTest, QuantsAreTheNearestAndTheLargestIs127) {
  const std::vector<float> values = TestRows(1, 320, TestValues::kPlain, 6);
  const PreparedRows rows = Per32(values);
  for (size_t block = 0; block < 10; ++block) {
    const float scale = ScaleOf32(rows, block);
    int largest = 0;
    for (size_t i = 32 * block; i < 32 * block + 32; ++i) {
      const int quant = rows.value<int8_t>(0, i);
      EXPECT_NEAR(values[i], scale * static_cast<float>(quant), 0.50001f * scale);
      largest = std::max(largest, std::abs(quant));
    }
    EXPECT_EQ(largest, 127);
  }
}

TEST(ActivationsTest, TiesGoToTheEvenQuant) {
  std::vector<float> values(32, 0.0f);
  values[0] = 127.0f;  // makes the scale 1
  values[1] = 0.5f;
  values[2] = 1.5f;
  values[3] = -2.5f;
  values[4] = -3.5f;
  const PreparedRows rows = Per32(values);
  const int expected[] = {127, 0, 2, -2, -4};
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(rows.value<int8_t>(0, i), expected[i]) << i;
}

TEST(ActivationsTest, WhatABlockCannotHold) {
  struct Case {
    float value;
    float scale;
    int quant;
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const Case cases[] = {
      {0.0f, 0.0f, 0},
      {-0.0f, 0.0f, 0},
      {0x1p-149f, 0.0f, 0},
      {0x1.fp-111f, 0.0f, 0},
      {0x1p-110f, 0x1p-110f / 127.0f, 127},
      {-3.4e38f, 3.4e38f / 127.0f, -127},
      {infinity, nan, 0},
      {-infinity, nan, 0},
      {nan, nan, 0},
      {-nan, nan, 0},
  };
  for (const Case& expected : cases) {
    std::vector<float> values(64, 0x1p-140f);
    values[37] = expected.value;
    const PreparedRows rows = Per32(values);
    if (std::isnan(expected.scale)) {
      EXPECT_TRUE(std::isnan(ScaleOf32(rows, 1))) << expected.value;
    } else {
      EXPECT_EQ(ScaleOf32(rows, 1), expected.scale) << expected.value;
    }
    EXPECT_EQ(rows.value<int8_t>(0, 37), expected.quant) << expected.value;
    EXPECT_EQ(rows.value<int8_t>(0, 38), 0) << expected.value;
    EXPECT_EQ(ScaleOf32(rows, 0), 0.0f) << "the other block has its own scale";
  }
}

TEST(ActivationsTest, SumsBelongToTheQuants) {
  const std::vector<float> values = TestRows(1, 512, TestValues::kPlain, 8);
  const PreparedRows per_32 = Per32(values);
  const PreparedRows per_256(Isa::kRef, ActivationFormat::kInt8Per256, values, 512);
  const auto sum = [](const PreparedRows& rows, size_t begin, size_t count) {
    int total = 0;
    for (size_t i = begin; i < begin + count; ++i) total += rows.value<int8_t>(0, i);
    return total;
  };
  for (size_t block = 0; block < 16; ++block) {
    const size_t word = block / 2 * kPer32Words + block % 2;
    const int expected = sum(per_32, 32 * block, 32);
    EXPECT_EQ(per_32.word<int32_t>(0, word + kPer32Start8), -8 * expected);
    EXPECT_EQ(per_32.word<int32_t>(0, word + kPer32Start128), -128 * expected);
  }
  using Pair = std::array<int16_t, 2>;
  for (size_t i = 0; i < 8; ++i) {
    const Pair pair = per_256.word<Pair>(0, i / 4 * kPer256Words + kPer256Sums32 + i % 4);
    EXPECT_EQ(pair[0], sum(per_256, 64 * i, 32));
    EXPECT_EQ(pair[1], sum(per_256, 64 * i + 32, 32));
  }
  for (size_t i = 0; i < 16; ++i) {
    const Pair pair = per_256.word<Pair>(0, i / 8 * kPer256Words + kPer256Sums16 + i % 8);
    EXPECT_EQ(pair[0], sum(per_256, 32 * i, 16));
    EXPECT_EQ(pair[1], sum(per_256, 32 * i + 16, 16));
  }
}

TEST(ActivationsTest, Bfloat16RoundsAsItsDefinitionDoes) {
  const std::vector<float> values = TestRows(1, 4096, TestValues::kAny, 9);
  const PreparedRows rows(Isa::kRef, ActivationFormat::kBF16, values, 4096);
  for (size_t i = 0; i < 4096; ++i) {
    EXPECT_EQ(rows.value<uint16_t>(0, i), quant::FloatToBfloat16(values[i]));
  }
}

}  // namespace
}  // namespace aster::kernels
