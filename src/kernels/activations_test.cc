// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/activations.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/activation_layout.h"
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

std::vector<uint8_t> Prepare(Isa isa, ActivationFormat format, const float* values, size_t rows,
                             size_t columns) {
  const ComputeFloatMode mode;
  const size_t stride = ActivationStride(format, columns);
  AlignedBytes bytes(rows * stride, kActivationAlignment);
  PrepareActivations(isa, format, values, columns, rows, columns, bytes.data(), stride);
  return {bytes.data(), bytes.data() + bytes.size()};
}

const int8_t* Quants(const std::vector<uint8_t>& bytes) {
  return reinterpret_cast<const int8_t*>(bytes.data());
}

float Scale32(const std::vector<uint8_t>& bytes, size_t columns, size_t group) {
  return reinterpret_cast<const float*>(bytes.data() + Int8Per32LayoutOf(columns).scales)[group];
}

TEST(ActivationsTest, EveryInstructionSetWritesTheSameBytes) {
  uint64_t seed = 0;
  for (const ActivationFormat format : kFormats) {
    for (size_t count = 1; count <= 140; ++count) {
      const size_t columns = count * ColumnsMultiple(format);
      if (columns > 10 * 256) break;
      for (const TestValues kind : {TestValues::kPlain, TestValues::kAny}) {
        const std::vector<float> values = TestRows(3, columns, kind, ++seed);
        const std::vector<uint8_t> expected = Prepare(Isa::kRef, format, values.data(), 3, columns);
        for (const Isa isa : AvailableIsas()) {
          ASSERT_EQ(Prepare(isa, format, values.data(), 3, columns), expected)
              << IsaName(isa) << ", format " << static_cast<int>(format) << ", " << columns
              << " columns, seed " << seed;
        }
      }
    }
  }
}

TEST(ActivationsTest, RowsMayStandAtAnyAddress) {
  for (const ActivationFormat format : kFormats) {
    const size_t columns = 256;
    const std::vector<float> values = TestRows(1, columns, TestValues::kPlain, 5);
    const std::vector<uint8_t> expected = Prepare(Isa::kRef, format, values.data(), 1, columns);
    for (size_t offset = 4; offset < 64; offset += 4) {
      AlignedBytes copy(columns * sizeof(float), 64, offset);
      std::memcpy(copy.data(), values.data(), copy.size());
      for (const Isa isa : AvailableIsas()) {
        EXPECT_EQ(Prepare(isa, format, reinterpret_cast<float*>(copy.data()), 1, columns), expected)
            << IsaName(isa) << ", offset " << offset;
      }
    }
  }
}

TEST(ActivationsTest, QuantsAreTheNearestAndTheLargestIs127) {
  const std::vector<float> values = TestRows(1, 320, TestValues::kPlain, 6);
  const std::vector<uint8_t> bytes =
      Prepare(Isa::kRef, ActivationFormat::kInt8Per32, values.data(), 1, 320);
  for (size_t group = 0; group < 10; ++group) {
    const float scale = Scale32(bytes, 320, group);
    int largest = 0;
    for (size_t i = 32 * group; i < 32 * group + 32; ++i) {
      EXPECT_NEAR(values[i], scale * static_cast<float>(Quants(bytes)[i]), 0.50001f * scale);
      largest = std::max(largest, std::abs(int{Quants(bytes)[i]}));
    }
    EXPECT_EQ(largest, 127);
  }
}

TEST(ActivationsTest, TiesGoToTheEvenQuant) {
  // 127 sets the scale to 1.
  std::vector<float> values(32, 0.0f);
  values[0] = 127.0f;
  values[1] = 0.5f;
  values[2] = 1.5f;
  values[3] = -2.5f;
  values[4] = -3.5f;
  const std::vector<uint8_t> bytes =
      Prepare(Isa::kRef, ActivationFormat::kInt8Per32, values.data(), 1, 32);
  EXPECT_EQ(std::vector<int>(Quants(bytes), Quants(bytes) + 5),
            (std::vector<int>{127, 0, 2, -2, -4}));
}

TEST(ActivationsTest, WhatAGroupCannotHold) {
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
      {infinity, nan, 0},
      {-infinity, nan, 0},
      {nan, nan, 0},
      {-nan, nan, 0},
      {-3.4e38f, 3.4e38f / 127.0f, -127},
  };
  for (const Case& expected : cases) {
    std::vector<float> values(64, 0x1p-140f);
    values[37] = expected.value;
    const std::vector<uint8_t> bytes =
        Prepare(Isa::kRef, ActivationFormat::kInt8Per32, values.data(), 1, 64);
    const float scale = Scale32(bytes, 64, 1);
    if (std::isnan(expected.scale)) {
      EXPECT_TRUE(std::isnan(scale)) << expected.value;
    } else {
      EXPECT_EQ(scale, expected.scale) << expected.value;
    }
    EXPECT_EQ(Quants(bytes)[37], expected.quant) << expected.value;
    EXPECT_EQ(Quants(bytes)[38], 0) << expected.value;
    EXPECT_EQ(Scale32(bytes, 64, 0), 0.0f) << "the other group is its own";
  }
}

TEST(ActivationsTest, SumsBelongToTheQuants) {
  const std::vector<float> values = TestRows(1, 512, TestValues::kPlain, 8);
  const std::vector<uint8_t> per_32 =
      Prepare(Isa::kRef, ActivationFormat::kInt8Per32, values.data(), 1, 512);
  const std::vector<uint8_t> per_256 =
      Prepare(Isa::kRef, ActivationFormat::kInt8Per256, values.data(), 1, 512);
  const Int8Per32Layout small = Int8Per32LayoutOf(512);
  const Int8Per256Layout large = Int8Per256LayoutOf(512);
  const auto sum = [](const std::vector<uint8_t>& bytes, size_t begin, size_t count) {
    int total = 0;
    for (size_t i = begin; i < begin + count; ++i) total += Quants(bytes)[i];
    return total;
  };
  for (size_t i = 0; i < 16; ++i) {
    const int expected = sum(per_32, 32 * i, 32);
    EXPECT_EQ(reinterpret_cast<const int32_t*>(&per_32[small.starts_8])[i], -8 * expected);
    EXPECT_EQ(reinterpret_cast<const int32_t*>(&per_32[small.starts_128])[i], -128 * expected);
    EXPECT_EQ(reinterpret_cast<const int16_t*>(&per_256[large.sums_32])[i],
              sum(per_256, 32 * i, 32));
  }
  for (size_t i = 0; i < 32; ++i) {
    EXPECT_EQ(reinterpret_cast<const int16_t*>(&per_256[large.sums_16])[i],
              sum(per_256, 16 * i, 16));
  }
}

TEST(ActivationsTest, Bfloat16RoundsAsItsDefinitionDoes) {
  const std::vector<float> values = TestRows(1, 4096, TestValues::kAny, 9);
  const std::vector<uint8_t> bytes =
      Prepare(Isa::kRef, ActivationFormat::kBF16, values.data(), 1, 4096);
  for (size_t i = 0; i < 4096; ++i) {
    EXPECT_EQ(reinterpret_cast<const uint16_t*>(bytes.data())[i],
              quant::FloatToBfloat16(values[i]));
  }
}

TEST(ActivationsTest, StridesAreOddNumbersOfCacheLines) {
  for (const ActivationFormat format : kFormats) {
    for (const size_t columns : {256, 2048, 4096, 8192, 11008 / 256 * 256}) {
      EXPECT_EQ(ActivationStride(format, columns) % 128, 64u);
    }
  }
}

}  // namespace
}  // namespace aster::kernels
