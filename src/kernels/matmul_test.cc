// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/matmul.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "kernels/activation_layout.h"
#include "kernels/isa_choice.h"
#include "kernels/matmul_test_support.h"

namespace aster::kernels {
namespace {

// --- The reference against the definition of the formats, in double precision.

// The values that a prepared row stands for.
std::vector<double> PreparedValues(const PreparedRows& rows, size_t row, size_t columns) {
  const uint8_t* bytes = rows.bytes.data() + row * rows.stride;
  std::vector<double> values(columns);
  for (size_t i = 0; i < columns; ++i) {
    switch (rows.format) {
      case ActivationFormat::kF32:
        values[i] = reinterpret_cast<const float*>(bytes)[i];
        break;
      case ActivationFormat::kBF16:
        values[i] = quant::Bfloat16ToFloat(reinterpret_cast<const uint16_t*>(bytes)[i]);
        break;
      case ActivationFormat::kInt8Per32: {
        const size_t offset = Int8Per32LayoutOf(columns).scales;
        values[i] = static_cast<double>(reinterpret_cast<const float*>(bytes + offset)[i / 32]) *
                    reinterpret_cast<const int8_t*>(bytes)[i];
        break;
      }
      case ActivationFormat::kInt8Per256: {
        const size_t offset = Int8Per256LayoutOf(columns).scales;
        values[i] = static_cast<double>(reinterpret_cast<const float*>(bytes + offset)[i / 256]) *
                    reinterpret_cast<const int8_t*>(bytes)[i];
        break;
      }
    }
  }
  return values;
}

class MatmulTest : public ::testing::TestWithParam<WeightType> {
 protected:
  // Odd numbers of blocks among them.
  std::vector<size_t> SomeColumns() const {
    const size_t multiple = ColumnMultiple(GetParam());
    if (multiple == 1) return {1, 2, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 200};
    return {multiple, 2 * multiple, 3 * multiple, 5 * multiple};
  }
};

TEST_P(MatmulTest, TheReferenceIsTheProductOfWhatTheFormatsDefine) {
  uint64_t seed = 1;
  for (const size_t columns : SomeColumns()) {
    const FileMatrix matrix(GetParam(), 21, columns, TestValues::kPlain, ++seed);
    const std::vector<float> values = TestRows(3, columns, TestValues::kPlain, ++seed);
    const PreparedRows rows(Isa::kRef, matrix.type, values, columns);
    const std::vector<float> out = Product(Isa::kRef, matrix, matrix.Packed(), rows, 3);
    const std::vector<float> weights = matrix.Dequantised();
    for (size_t i = 0; i < 3; ++i) {
      const std::vector<double> x = PreparedValues(rows, i, columns);
      for (size_t row = 0; row < matrix.rows; ++row) {
        double expected = 0;
        double magnitude = 0;
        for (size_t k = 0; k < columns; ++k) {
          expected += weights[row * columns + k] * x[k];
          magnitude += std::abs(weights[row * columns + k] * x[k]);
        }
        EXPECT_NEAR(out[i * matrix.rows + row], expected, 1e-6 * magnitude)
            << columns << " columns, row " << row << ", activations " << i;
      }
    }
  }
}

// --- Every instruction set against the reference.

void ExpectSameAsReference(WeightType type, size_t rows, size_t columns, size_t batch,
                           TestValues weight_values, TestValues row_values, uint64_t seed) {
  const FileMatrix matrix(type, rows, columns, weight_values, seed);
  const AlignedBytes packed = matrix.Packed();
  const std::vector<float> values = TestRows(batch, columns, row_values, seed + 1);
  const PreparedRows prepared(Isa::kRef, type, values, columns);
  const std::vector<uint32_t> expected =
      ComparableBits(Product(Isa::kRef, matrix, packed, prepared, batch));
  for (const Isa isa : AvailableIsas()) {
    const std::vector<uint32_t> bits =
        ComparableBits(Product(isa, matrix, packed, prepared, batch));
    ASSERT_EQ(bits, expected) << IsaName(isa) << ": " << rows << " x " << columns << ", batch "
                              << batch << ", seed " << seed;
  }
}

TEST_P(MatmulTest, EveryBatchSizeOnEveryInstructionSet) {
  const size_t columns = ColumnMultiple(GetParam()) == 1 ? 67 : 3 * ColumnMultiple(GetParam());
  for (size_t batch = 1; batch <= 40; ++batch) {
    ExpectSameAsReference(GetParam(), 33, columns, batch, TestValues::kPlain, TestValues::kPlain,
                          batch);
  }
}

TEST_P(MatmulTest, EveryNumberOfRowsOnEveryInstructionSet) {
  const size_t columns = ColumnMultiple(GetParam()) == 1 ? 35 : ColumnMultiple(GetParam());
  for (size_t rows = 1; rows <= 66; ++rows) {
    for (const size_t batch : {1, 2, 5}) {
      ExpectSameAsReference(GetParam(), rows, columns, batch, TestValues::kPlain,
                            TestValues::kPlain, rows);
    }
  }
}

TEST_P(MatmulTest, EveryNumberOfColumnsOnEveryInstructionSet) {
  const size_t multiple = ColumnMultiple(GetParam());
  const size_t last = multiple == 1 ? 140 : 9;
  for (size_t count = 1; count <= last; ++count) {
    for (const size_t batch : {1, 3, 13}) {
      ExpectSameAsReference(GetParam(), 17, count * multiple, batch, TestValues::kPlain,
                            TestValues::kPlain, count);
    }
  }
}

TEST_P(MatmulTest, ExtremeValuesOnEveryInstructionSet) {
  const size_t columns = ColumnMultiple(GetParam()) == 1 ? 45 : 2 * ColumnMultiple(GetParam());
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const size_t batch = 1 + seed % 14;
    ExpectSameAsReference(GetParam(), 32, columns, batch, TestValues::kAny, TestValues::kPlain,
                          seed);
    ExpectSameAsReference(GetParam(), 32, columns, batch, TestValues::kPlain, TestValues::kAny,
                          seed);
    ExpectSameAsReference(GetParam(), 32, columns, batch, TestValues::kAny, TestValues::kAny, seed);
  }
}

// The integers inside a block are largest when all activations and all weights are.
TEST_P(MatmulTest, NoIntegerOverflowsOnAnyInstructionSet) {
  const size_t columns = ColumnMultiple(GetParam()) == 1 ? 64 : 2 * ColumnMultiple(GetParam());
  FileMatrix matrix(GetParam(), 32, columns, TestValues::kPlain, 1);
  if (ColumnMultiple(GetParam()) == 1) GTEST_SKIP() << "no integers in this type";
  for (const uint8_t fill : {0x00, 0x80, 0x7f, 0xff, 0x0f, 0xf0, 0x3f, 0x77, 0x88}) {
    for (const float value : {1.0f, -1.0f}) {
      std::fill(matrix.bytes.begin(), matrix.bytes.end(), fill);
      const AlignedBytes packed = matrix.Packed();
      const std::vector<float> values(13 * columns, value);
      const PreparedRows prepared(Isa::kRef, matrix.type, values, columns);
      const std::vector<uint32_t> expected =
          ComparableBits(Product(Isa::kRef, matrix, packed, prepared, 13));
      for (const Isa isa : AvailableIsas()) {
        EXPECT_EQ(ComparableBits(Product(isa, matrix, packed, prepared, 13)), expected)
            << IsaName(isa) << ", bytes " << int{fill} << ", activations " << value;
      }
    }
  }
}

// --- One call and many calls.

TEST_P(MatmulTest, AnyDivisionOfTheWorkGivesTheSameBits) {
  const size_t columns = ColumnMultiple(GetParam()) == 1 ? 50 : 2 * ColumnMultiple(GetParam());
  constexpr size_t kBatch = 29;
  const FileMatrix matrix(GetParam(), 75, columns, TestValues::kPlain, 7);
  const AlignedBytes packed = matrix.Packed();
  const std::vector<float> values = TestRows(kBatch, columns, TestValues::kPlain, 8);
  TestNumbers numbers(9);
  for (const Isa isa : AvailableIsas()) {
    const ComputeFloatMode mode;
    const PreparedRows prepared(isa, matrix.type, values, columns);
    const std::vector<float> whole = Product(isa, matrix, packed, prepared, kBatch);
    std::vector<float> parts(whole.size());
    for (size_t panel = 0; panel < PanelCount(matrix.rows); ++panel) {
      for (size_t begin = 0; begin < kBatch;) {
        const size_t count = std::min(kBatch - begin, 1 + numbers.Below(9));
        const MatmulJob job = {.weights = packed.data(),
                               .rows = matrix.rows,
                               .columns = columns,
                               .activations = prepared.bytes.data() + begin * prepared.stride,
                               .activation_stride = prepared.stride,
                               .from_rows = nullptr,
                               .batch = count,
                               .out = parts.data() + begin * matrix.rows,
                               .out_stride = matrix.rows,
                               .to_rows = nullptr};
        Matmul(isa, matrix.type, job, panel, panel + 1);
        begin += count;
      }
    }
    EXPECT_EQ(ComparableBits(parts), ComparableBits(whole)) << IsaName(isa);
  }
}

TEST_P(MatmulTest, RowsArePickedAndPlacedByIndexAndNothingElseIsWritten) {
  const size_t columns = ColumnMultiple(GetParam()) == 1 ? 50 : ColumnMultiple(GetParam());
  constexpr size_t kRows = 37;
  constexpr size_t kStride = 41;
  const std::vector<uint32_t> from = {4, 0, 4, 9, 2, 2, 11, 7, 5, 3, 1, 10, 6, 8, 0};
  const std::vector<uint32_t> to = {3, 16, 0, 7, 9, 2, 5, 12, 14, 1, 20, 18, 10, 4, 6};
  const FileMatrix matrix(GetParam(), kRows, columns, TestValues::kPlain, 3);
  const AlignedBytes packed = matrix.Packed();
  const std::vector<float> values = TestRows(12, columns, TestValues::kPlain, 4);
  const PreparedRows prepared(Isa::kRef, matrix.type, values, columns);
  const std::vector<float> plain = Product(Isa::kRef, matrix, packed, prepared, 12);
  std::vector<float> expected(21 * kStride, -77.0f);
  for (size_t i = 0; i < from.size(); ++i) {
    std::copy_n(&plain[from[i] * kRows], kRows, &expected[to[i] * kStride]);
  }
  for (const Isa isa : AvailableIsas()) {
    const ComputeFloatMode mode;
    std::vector<float> out(21 * kStride, -77.0f);
    const MatmulJob job = {.weights = packed.data(),
                           .rows = kRows,
                           .columns = columns,
                           .activations = prepared.bytes.data(),
                           .activation_stride = prepared.stride,
                           .from_rows = from.data(),
                           .batch = from.size(),
                           .out = out.data(),
                           .out_stride = kStride,
                           .to_rows = to.data()};
    Matmul(isa, matrix.type, job, 0, PanelCount(kRows));
    EXPECT_EQ(out, expected) << IsaName(isa);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, MatmulTest, ::testing::ValuesIn(kAllWeightTypes),
                         [](const auto& param) { return TypeName(param.param); });

}  // namespace
}  // namespace aster::kernels
