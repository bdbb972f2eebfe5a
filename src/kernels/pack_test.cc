// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/pack.h"

#include <gtest/gtest.h>

#include <cstring>

#include "kernels/matmul_test_support.h"

namespace aster::kernels {
namespace {

class PackTest : public ::testing::TestWithParam<TensorType> {};

// Bits of a weight that is packed in another type's layout; 0 if the type has its own.
double BitsInCommonLayout(TensorType type) {
  if (type == TensorType::kQ4_1) return 6;
  if (type == TensorType::kQ5_0) return 8.5;
  return WeightTypeOf(type) == WeightType::kLevels ? 4.625 : 0;
}

TEST_P(PackTest, ThePackedCopyIsHardlyLargerThanTheFile) {
  for (const size_t columns : {256, 512, 4096}) {
    const double file = static_cast<double>(gguf::RowBytes(GetParam(), columns).value());
    const double packed = static_cast<double>(PanelBytes(GetParam(), columns)) / kPanelRows;
    EXPECT_GE(packed, file);
    const double bits = BitsInCommonLayout(GetParam());
    EXPECT_LE(packed, bits == 0 ? 1.03 * file : bits / 8 * static_cast<double>(columns));
  }
}

TEST_P(PackTest, PanelsArePackedOneByOneOrTogether) {
  const FileMatrix matrix(GetParam(), 53, 512, TestValues::kAny, 11);
  const AlignedBytes whole = matrix.Packed();
  AlignedBytes parts(whole.size());
  for (size_t panel : {2, 0, 3, 1}) {
    PackPanels(matrix.type, matrix.source(), panel, panel + 1, parts.data());
  }
  EXPECT_EQ(std::memcmp(whole.data(), parts.data(), whole.size()), 0);
}

TEST_P(PackTest, SourcesMayBeMisalignedAndTheirRowsApart) {
  const FileMatrix matrix(GetParam(), 20, 256, TestValues::kAny, 12);
  const AlignedBytes expected = matrix.Packed();
  for (const size_t offset : {1, 2, 3, 7, 33}) {
    const size_t stride = matrix.row_bytes + offset;
    AlignedBytes moved(matrix.rows * stride, 64, offset);
    for (size_t row = 0; row < matrix.rows; ++row) {
      std::memcpy(moved.data() + row * stride, &matrix.bytes[row * matrix.row_bytes],
                  matrix.row_bytes);
    }
    AlignedBytes packed(expected.size());
    PackPanels(matrix.type, {moved.data(), stride, matrix.rows, matrix.columns}, 0, 2,
               packed.data());
    EXPECT_EQ(std::memcmp(packed.data(), expected.data(), expected.size()), 0) << offset;
  }
}

// Every bit of the file counts: change one and the packed copy changes.
TEST_P(PackTest, NothingIsLost) {
  FileMatrix matrix(GetParam(), 3, ColumnMultiple(GetParam()), TestValues::kPlain, 13);
  const AlignedBytes before = matrix.Packed();
  for (uint8_t& byte : matrix.bytes) {
    for (int bit = 0; bit < 8; ++bit) {
      byte = static_cast<uint8_t>(byte ^ 1 << bit);
      const AlignedBytes after = matrix.Packed();
      EXPECT_NE(std::memcmp(before.data(), after.data(), before.size()), 0);
      byte = static_cast<uint8_t>(byte ^ 1 << bit);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, PackTest, ::testing::ValuesIn(kAllTypes),
                         [](const auto& param) { return TypeName(param.param); });

TEST(PackTypesTest, OtherTypesHaveNoKernels) {
  EXPECT_EQ(WeightTypeOf(gguf::TensorType::kTQ1_0), std::nullopt);
  EXPECT_EQ(WeightTypeOf(gguf::TensorType::kI32), std::nullopt);
  EXPECT_EQ(WeightTypeOf(static_cast<gguf::TensorType>(9999)), std::nullopt);
}

}  // namespace
}  // namespace aster::kernels
