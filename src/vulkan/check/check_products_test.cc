// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/check/check_products.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "kernels/pack.h"
#include "vulkan/check/check_test_support.h"
#include "vulkan/kernels/product_push.h"
#include "vulkan/kernels/products.h"
#include "vulkan/kernels/type_names.h"

namespace aster::vulkan {
namespace {

using kernels::ActivationFormat;
using kernels::WeightType;

class PrepareTest : public KernelTest, public testing::WithParamInterface<ActivationFormat> {};

// Groups of rows and pieces are whole or partial.
TEST_P(PrepareTest, RowsHaveTheReferencesBytes) {
  for (const uint32_t columns : {1u, 31u, 33u, 64u, 96u, 256u, 1000u, 1280u}) {
    if (GetParam() == ActivationFormat::kInt8Per256 && columns % 256 != 0) continue;
    for (const uint32_t rows : {1u, 15u, 16u, 17u, 35u}) {
      for (const CheckValues values : kBothValues)
        ASSERT_OK(CheckPrepare(bench(), GetParam(), rows, columns, values, columns + rows));
    }
  }
}

// The rows are longer than a workgroup's shared memory, of one piece, or of an incomplete piece.
TEST_P(PrepareTest, NormedAndGatedRowsHaveTheReferencesBytes) {
  if (!CanPrepareFrom(GetParam())) GTEST_SKIP() << "prepared as they are only";
  for (const uint32_t columns : {33u, 256u, 4608u}) {
    if (GetParam() == ActivationFormat::kInt8Per256 && columns % 256 != 0) continue;
    for (const uint32_t rows : {1u, 17u}) {
      for (const CheckValues values : kBothValues) {
        for (const bool weighted : {false, true})
          ASSERT_OK(CheckPrepareNormed(bench(), GetParam(), rows, columns, weighted, values, rows));
        ASSERT_OK(CheckPrepareGated(bench(), GetParam(), ElementOperation::kSwiglu, rows, columns,
                                    values, columns));
      }
    }
  }
}

TEST_P(PrepareTest, GatheredRowsHaveTheReferencesBytes) {
  for (const uint32_t rows : {1u, 17u, 40u}) {
    for (const uint32_t to_rows : {1u, 16u, 37u})
      ASSERT_OK(CheckGatherPrepared(bench(), GetParam(), rows, to_rows, 768, rows));
  }
}

INSTANTIATE_TEST_SUITE_P(Every, PrepareTest,
                         testing::Values(ActivationFormat::kF32, ActivationFormat::kBF16,
                                         ActivationFormat::kInt8Per32,
                                         ActivationFormat::kInt8Per256));

class GroupTest : public KernelTest {};

// None, one and many blocks of experts and of slots.
TEST_F(GroupTest, SlotsOfEachExpertStandTogether) {
  for (const uint32_t slots : {1u, 2u, 255u, 256u, 257u, 1000u}) {
    for (const uint32_t experts : {1u, 3u, 256u, 300u, 600u}) {
      for (const uint32_t together : {2u, 8u, 32u})
        ASSERT_OK(CheckGroupExperts(bench(), slots, experts, together, slots + experts));
    }
  }
}

class ProductTest : public KernelTest, public testing::WithParamInterface<WeightType> {
 protected:
  // Three and nine times the smallest number of columns of the type; small and odd numbers for
  // types without one.
  std::vector<uint32_t> Columns() const {
    const auto least = static_cast<uint32_t>(kernels::ColumnMultiple(GetParam()));
    if (least == 1) return {1, 2, 31, 33, 70};
    return {3 * least, 9 * least};
  }
  void CheckEverySize(const std::vector<uint32_t>& row_counts) {
    for (const uint32_t columns : Columns()) {
      for (const uint32_t outputs : {1u, 75u}) {
        for (const uint32_t rows : row_counts) {
          const ProductSize size{outputs, columns, rows + 2, 1, rows};
          for (const CheckValues values : kBothValues)
            ASSERT_OK(CheckProduct(bench(), GetParam(), size, values, columns + rows))
                << outputs << " outputs, " << columns << " columns";
        }
      }
    }
  }
};

TEST_P(ProductTest, FewRowsHaveTheReferencesBits) { CheckEverySize({1, 2, 3, 5, 8}); }

// There are as many steps as a workgroup loads in advance, and more; and sums become denormal.
TEST_P(ProductTest, FewLongRows) {
  for (const uint32_t rows : {1u, 2u, 8u}) {
    for (const CheckValues values : {CheckValues::kHostile, CheckValues::kVanishing})
      ASSERT_OK(CheckProduct(bench(), GetParam(), {20, 33 * 256, rows + 2, 1, rows}, values, rows));
  }
}

// Workgroups go from panel to panel, with an even and an odd number of steps of each.
TEST_F(KernelTest, MorePanelsThanWorkgroups) {
  for (const WeightType type : {WeightType::kQ8_0, WeightType::kQ4_K}) {
    for (const uint32_t columns : {256u, 1280u})
      ASSERT_OK(
          CheckProduct(bench(), type, {30005, columns, 1, 0, 1}, CheckValues::kOrdinary, columns));
  }
}

TEST_P(ProductTest, ManyRowsHaveTheReferencesBits) { CheckEverySize({9, 32, 45}); }

// A row's result does not depend on the other rows of the batch.
TEST_P(ProductTest, EveryPlaceInABatch) {
  const auto columns = static_cast<uint32_t>(2 * kernels::ColumnMultiple(GetParam()));
  for (uint32_t first = 0; first < 34; first += 3) {
    ASSERT_OK(
        CheckProduct(bench(), GetParam(), {17, columns, 34, first, 1}, CheckValues::kOrdinary, 7));
    ASSERT_OK(CheckProduct(bench(), GetParam(), {17, columns, 34, first, 34 - first},
                           CheckValues::kOrdinary, 7));
  }
}

TEST_P(ProductTest, ExpertsInGroupsHaveTheReferencesBits) {
  const auto columns = static_cast<uint32_t>(kernels::ColumnMultiple(GetParam()));
  const bool is_float = GetParam() <= WeightType::kBF16;
  for (const uint32_t together : {4u, is_float ? kFewRows : kManyRows}) {
    for (const uint32_t rows : {1u, 12u, 50u})
      ASSERT_OK(CheckExpertProduct(bench(), GetParam(), {75, columns, rows + 2, 1, rows}, together,
                                   rows));
  }
}

// The instruction for dot products, if the device has it, fast or not.
TEST_P(ProductTest, DotProductsByInstruction) {
  if (!device().traits().dot_products) GTEST_SKIP() << "the device has none";
  constexpr WeightType kOfEachKind[] = {WeightType::kQ8_0, WeightType::kQ4_K, WeightType::kLevels};
  if (!IsThorough() && std::ranges::find(kOfEachKind, GetParam()) == std::end(kOfEachKind))
    GTEST_SKIP() << "one type of each kind is tested; all with ASTER_THOROUGH=1";
  Arithmetic arithmetic = kernels().arithmetic();
  arithmetic.dot_products = true;
  Open(arithmetic);
  const auto columns = static_cast<uint32_t>(9 * kernels::ColumnMultiple(GetParam()));
  for (const uint32_t rows : {1u, 8u, 33u})
    ASSERT_OK(CheckProduct(bench(), GetParam(), {75, columns, rows, 0, rows},
                           CheckValues::kOrdinary, rows));
}

// All of the self-check, and rows that do not fill a workgroup, fill one, and fill several.
TEST_P(ProductTest, MatricesHaveTheReferencesBits) {
  const auto name = fmt::format("product_matrix_{}_64", vulkan::NameOfType(GetParam()));
  if (EmulatedShader(name).empty()) GTEST_SKIP() << "only one type of each kind is tested";
  OpenWithMatrices();
  const auto columns = static_cast<uint32_t>(3 * kernels::ColumnMultiple(GetParam()));
  for (const KernelCheck& check : MatrixChecks({.weights = {GetParam()}}))
    ASSERT_OK(check.run(bench()));
  for (const uint32_t rows : {32u, 65u})
    ASSERT_OK(CheckProduct(bench(), GetParam(), {129, columns, rows + 2, 1, rows},
                           CheckValues::kOrdinary, rows));
}

// The device's cooperative matrices, if it has any.
TEST_P(ProductTest, TheDevicesMatricesAreUsed) {
  if (GetParam() <= WeightType::kBF16 || !device().traits().matrix)
    GTEST_SKIP() << "the device has no matrices for this type";
  Open(kernels().arithmetic());
  ASSERT_OK(TryMatrices(kernels(), {.weights = {GetParam()}}));
  EXPECT_EQ(kernels().why_no_matrices(), "");
  EXPECT_TRUE(kernels().matrix());
}

std::string NameOfWeightType(const testing::TestParamInfo<WeightType>& info) {
  return kernels::WeightTypeName(info.param);
}

INSTANTIATE_TEST_SUITE_P(Every, ProductTest,
                         testing::Values(WeightType::kF32, WeightType::kF16, WeightType::kBF16,
                                         WeightType::kQ8_0, WeightType::kQ4_0, WeightType::kMXFP4,
                                         WeightType::kQ2_K, WeightType::kQ4_K, WeightType::kQ5_K,
                                         WeightType::kQ6_K, WeightType::kIQ2_XXS,
                                         WeightType::kIQ4_NL, WeightType::kQ5_1,
                                         WeightType::kLevels),
                         NameOfWeightType);

}  // namespace
}  // namespace aster::vulkan
