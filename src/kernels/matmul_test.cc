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

// The value of a prepared number.
double PreparedValue(const PreparedRows& rows, size_t row, size_t column) {
  switch (rows.format) {
    case ActivationFormat::kF32:
      return rows.value<float>(row, column);
    case ActivationFormat::kBF16:
      return quant::Bfloat16ToFloat(rows.value<uint16_t>(row, column));
    case ActivationFormat::kInt8Per32: {
      const size_t word = column / 64 * kPer32Words + kPer32Scale + column / 32 % 2;
      return static_cast<double>(rows.word<float>(row, word)) * rows.value<int8_t>(row, column);
    }
    case ActivationFormat::kInt8Per256: {
      const size_t word = column / 256 * kPer256Words + kPer256Scale;
      return static_cast<double>(rows.word<float>(row, word)) * rows.value<int8_t>(row, column);
    }
  }
  return 0;
}

class MatmulTest : public ::testing::TestWithParam<TensorType> {
 protected:
  // Includes odd numbers of blocks.
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
    const PreparedRows rows(Isa::kRef, ActivationFormatFor(matrix.type), values, columns);
    const std::vector<float> out = Product(Isa::kRef, matrix, matrix.Packed(), rows);
    const std::vector<float> weights = matrix.Dequantised();
    for (size_t i = 0; i < 3; ++i) {
      for (size_t row = 0; row < matrix.rows; ++row) {
        double expected = 0;
        double magnitude = 0;
        for (size_t k = 0; k < columns; ++k) {
          const double term = weights[row * columns + k] * PreparedValue(rows, i, k);
          expected += term;
          magnitude += std::abs(term);
        }
        EXPECT_NEAR(out[i * matrix.rows + row], expected, 1e-6 * magnitude)
            << columns << " columns, row " << row << ", activations " << i;
      }
    }
  }
}

// --- Every instruction set against the reference.

void ExpectSameAsReference(TensorType type, size_t rows, size_t columns, size_t batch,
                           TestValues weight_values, TestValues row_values, uint64_t seed) {
  const FileMatrix matrix(type, rows, columns, weight_values, seed);
  const AlignedBytes packed = matrix.Packed();
  const std::vector<float> values = TestRows(batch, columns, row_values, seed + 1);
  const PreparedRows prepared(Isa::kRef, ActivationFormatFor(type), values, columns);
  const std::vector<uint32_t> expected =
      ComparableBits(Product(Isa::kRef, matrix, packed, prepared));
  for (const Isa isa : AvailableIsas()) {
    const std::vector<uint32_t> bits = ComparableBits(Product(isa, matrix, packed, prepared));
    ASSERT_EQ(bits, expected) << IsaName(isa) << ": " << rows << " x " << columns << ", batch "
                              << batch << ", seed " << seed;
  }
}

TEST_P(MatmulTest, EveryBatchSizeOnEveryInstructionSet) {
  const size_t columns = ColumnMultiple(GetParam()) == 1 ? 67 : 3 * ColumnMultiple(GetParam());
  for (const size_t batch : NumbersUpTo(40)) {
    ExpectSameAsReference(GetParam(), 33, columns, batch, TestValues::kPlain, TestValues::kPlain,
                          batch);
  }
}

TEST_P(MatmulTest, EveryNumberOfRowsOnEveryInstructionSet) {
  const size_t columns = ColumnMultiple(GetParam()) == 1 ? 35 : ColumnMultiple(GetParam());
  for (const size_t rows : NumbersUpTo(66)) {
    for (const size_t batch : {1, 2, 5}) {
      ExpectSameAsReference(GetParam(), rows, columns, batch, TestValues::kPlain,
                            TestValues::kPlain, rows);
    }
  }
}

TEST_P(MatmulTest, EveryNumberOfColumnsOnEveryInstructionSet) {
  const size_t multiple = ColumnMultiple(GetParam());
  const size_t last = multiple == 1 ? 140 : 9;
  for (const size_t count : NumbersUpTo(last)) {
    for (const size_t batch : {1, 3, 13}) {
      ExpectSameAsReference(GetParam(), 17, count * multiple, batch, TestValues::kPlain,
                            TestValues::kPlain, count);
    }
  }
}

// There are more rows and columns than any instruction set computes at a time.
TEST_P(MatmulTest, ManyRowsAndColumnsOnEveryInstructionSet) {
  const size_t columns = ColumnMultiple(GetParam()) == 1 ? 1100 : 1280;
  ExpectSameAsReference(GetParam(), 147, columns, 150, TestValues::kPlain, TestValues::kPlain, 1);
}

TEST_P(MatmulTest, ExtremeValuesOnEveryInstructionSet) {
  const size_t columns = ColumnMultiple(GetParam()) == 1 ? 45 : 2 * ColumnMultiple(GetParam());
  for (uint64_t seed = 0; seed < (kSanitized ? 14 : 60); ++seed) {
    const size_t batch = 1 + seed % 14;
    ExpectSameAsReference(GetParam(), 32, columns, batch, TestValues::kAny, TestValues::kPlain,
                          seed);
    ExpectSameAsReference(GetParam(), 32, columns, batch, TestValues::kPlain, TestValues::kAny,
                          seed);
    ExpectSameAsReference(GetParam(), 32, columns, batch, TestValues::kAny, TestValues::kAny, seed);
  }
}

// The integers inside a block are largest if all activations and all weights are.
TEST_P(MatmulTest, NoIntegerOverflowsOnAnyInstructionSet) {
  const size_t columns = ColumnMultiple(GetParam()) == 1 ? 64 : 2 * ColumnMultiple(GetParam());
  FileMatrix matrix(GetParam(), 32, columns, TestValues::kPlain, 1);
  if (ColumnMultiple(GetParam()) == 1) GTEST_SKIP() << "no integers in this type";
  for (const uint8_t fill : {0x00, 0x80, 0x7f, 0xff, 0x0f, 0xf0, 0x3f, 0x77, 0x88}) {
    for (const float value : {1.0f, -1.0f}) {
      matrix.FillWith(fill);
      const AlignedBytes packed = matrix.Packed();
      const std::vector<float> values(13 * columns, value);
      const PreparedRows prepared(Isa::kRef, ActivationFormatFor(matrix.type), values, columns);
      const std::vector<uint32_t> expected =
          ComparableBits(Product(Isa::kRef, matrix, packed, prepared));
      for (const Isa isa : AvailableIsas()) {
        EXPECT_EQ(ComparableBits(Product(isa, matrix, packed, prepared)), expected)
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
    const PreparedRows prepared(isa, ActivationFormatFor(matrix.type), values, columns);
    const std::vector<float> whole = Product(isa, matrix, packed, prepared);
    std::vector<float> parts(whole.size());
    for (size_t panel = 0; panel < PanelCount(matrix.rows); ++panel) {
      for (size_t begin = 0; begin < kBatch;) {
        MatmulJob job = JobOf(matrix, packed, prepared, parts.data() + begin * matrix.rows);
        job.first_row = begin;
        job.batch = std::min(kBatch - begin, 1 + numbers.Below(9));
        Matmul(isa, matrix.type, job, panel, panel + 1);
        begin += job.batch;
      }
    }
    EXPECT_EQ(ComparableBits(parts), ComparableBits(whole)) << IsaName(isa);
  }
}

TEST_P(MatmulTest, RowsAreGatheredAndPlacedByIndexAndNothingElseIsWritten) {
  const size_t columns = ColumnMultiple(GetParam()) == 1 ? 50 : ColumnMultiple(GetParam());
  constexpr size_t kRows = 37;
  constexpr size_t kStride = 41;
  const std::vector<uint32_t> from = {4, 0, 4, 19, 2, 2, 11, 7, 5, 3, 1, 10, 6, 18, 0, 16, 17, 5};
  const std::vector<uint32_t> to = {3, 16, 0, 7, 9, 2, 5, 12, 14, 1, 20, 18, 10, 4, 6, 8, 19, 11};
  const FileMatrix matrix(GetParam(), kRows, columns, TestValues::kPlain, 3);
  const AlignedBytes packed = matrix.Packed();
  const ActivationFormat format = ActivationFormatFor(GetParam());
  const PreparedRows prepared(Isa::kRef, format, TestRows(20, columns, TestValues::kPlain, 4),
                              columns);
  PreparedRows gathered(Isa::kRef, format, std::vector<float>(from.size() * columns), columns);
  GatherActivations(format, {prepared.bytes.data(), prepared.rows, columns}, from,
                    gathered.bytes.data());
  const std::vector<float> plain = Product(Isa::kRef, matrix, packed, prepared);
  std::vector<float> expected(21 * kStride, -77.0f);
  for (size_t i = 0; i < from.size(); ++i) {
    std::copy_n(&plain[from[i] * kRows], kRows, &expected[to[i] * kStride]);
  }
  for (const Isa isa : AvailableIsas()) {
    const ComputeFloatMode mode;
    std::vector<float> out(21 * kStride, -77.0f);
    MatmulJob job = JobOf(matrix, packed, gathered, out.data());
    job.out_stride = kStride;
    job.to_rows = to.data();
    Matmul(isa, matrix.type, job, 0, PanelCount(kRows));
    EXPECT_EQ(out, expected) << IsaName(isa);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, MatmulTest, ::testing::ValuesIn(kAllTypes),
                         [](const auto& param) { return TypeName(param.param); });

// Tests find what a kernel accesses beyond a matrix or its outputs by the page behind these, and
// everybody else with sanitizers what is too short for a call.
TEST(MatmulAccesses, WhatIsBehindTheEndIsFound) {
  const FileMatrix matrix(TensorType::kQ8_0, kPanelRows, 64, TestValues::kPlain, 1);
  const PreparedRows rows(Isa::kRef, ActivationFormatFor(matrix.type),
                          TestRows(3, matrix.columns, TestValues::kPlain, 2), matrix.columns);
  const AlignedBytes packed = matrix.Packed();
  const AlignedBytes shorter(packed.size() - kPackedAlignment);
  AlignedBytes out(3 * matrix.rows * sizeof(float), sizeof(float));
  AlignedBytes fewer(out.size() - sizeof(float), sizeof(float));
  for (const Isa isa : AvailableIsas()) {
    const auto multiply = [&](const AlignedBytes& weights, AlignedBytes& to) {
      Matmul(isa, matrix.type, JobOf(matrix, weights, rows, reinterpret_cast<float*>(to.data())), 0,
             1);
    };
    multiply(packed, out);
    EXPECT_DEATH(multiply(packed, fewer), "") << IsaName(isa);
    EXPECT_DEATH(multiply(shorter, out), "") << IsaName(isa);
  }
}

TEST(MatmulAccesses, WhatIsTooShortForACallIsFoundWithSanitizers) {
  if (!kSanitized) GTEST_SKIP() << "nothing checks accesses in this build";
  const FileMatrix matrix(TensorType::kQ8_0, kPanelRows, 64, TestValues::kPlain, 1);
  const ActivationFormat format = ActivationFormatFor(matrix.type);
  const std::vector<float> values = TestRows(3, matrix.columns, TestValues::kPlain, 2);
  const PreparedRows rows(Isa::kRef, format, values, matrix.columns);
  const AlignedBytes packed = matrix.Packed();
  struct alignas(kPackedAlignment) Line {
    uint8_t bytes[kPackedAlignment];
  };
  const std::vector<Line> shorter(packed.size() / sizeof(Line) - 1);
  std::vector<Line> less(rows.bytes.size() / sizeof(Line) - 1);
  std::vector<float> out(3 * matrix.rows), fewer(out.size() - 1);
  const MatmulJob job = JobOf(matrix, packed, rows, out.data());
  const auto multiply = [&](const MatmulJob& wrong) {
    Matmul(FastestIsa(), matrix.type, wrong, 0, 1);
  };
  constexpr const char* kFound = "AddressSanitizer: heap-buffer-overflow";
  MatmulJob wrong = job;
  wrong.weights = shorter.data();
  EXPECT_DEATH(multiply(wrong), kFound);
  wrong = job;
  wrong.activations = less.data();
  EXPECT_DEATH(multiply(wrong), kFound);
  wrong = job;
  wrong.out = fewer.data();
  EXPECT_DEATH(multiply(wrong), kFound);
  const std::vector<uint32_t> to_rows = {0, 1};
  wrong = job;
  wrong.to_rows = to_rows.data();
  EXPECT_DEATH(multiply(wrong), kFound);
  const auto prepare = [&](size_t count, void* to) {
    PrepareActivations(FastestIsa(), format, {values.data(), matrix.columns, count, matrix.columns},
                       0, count, to);
  };
  EXPECT_DEATH(prepare(3, less.data()), kFound);
  AlignedBytes more(ActivationBytes(format, 4, matrix.columns));
  EXPECT_DEATH(prepare(4, more.data()), kFound);
}

}  // namespace
}  // namespace aster::kernels
