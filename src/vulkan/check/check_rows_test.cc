// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/check/check_rows.h"

#include "vulkan/check/check_test_support.h"

namespace aster::vulkan {
namespace {

class RowsTest : public KernelTest {};

TEST_F(RowsTest, ElementsHaveTheReferencesBits) {
  for (int operation = 0; operation <= static_cast<int>(ElementOperation::kSoftcap); ++operation) {
    for (const uint32_t count : {1u, 255u, 256u, 257u, 40000u}) {
      for (const CheckValues values : kBothValues) {
        EXPECT_OK(
            CheckElements(bench(), static_cast<ElementOperation>(operation), count, values, count));
        EXPECT_OK(CheckElements(bench(), static_cast<ElementOperation>(operation), count, values,
                                count + 1));
      }
    }
  }
}

TEST_F(RowsTest, ConversionsHaveTheReferencesBits) {
  for (int conversion = 0; conversion <= static_cast<int>(Conversion::kFromBf16); ++conversion) {
    for (const uint32_t count : {1u, 2u, 511u, 100000u})
      EXPECT_OK(CheckConversion(bench(), static_cast<Conversion>(conversion), count, count));
  }
}

TEST_F(RowsTest, FixedPointHasTheReferencesBits) {
  for (const CheckValues values : kBothValues) {
    EXPECT_OK(CheckFixedSums(bench(), 1, 1, values, 1));
    EXPECT_OK(CheckFixedSums(bench(), 9, 20000, values, 2));
  }
  for (const bool has_places : {true, false}) {
    EXPECT_OK(CheckWeightedSum(bench(), 1, 1, 1, has_places, 3));
    EXPECT_OK(CheckWeightedSum(bench(), 7, 9, 1000, has_places, 4));
    EXPECT_OK(CheckOwnSums(bench(), 1, 1, 1, has_places, 5));
    EXPECT_OK(CheckOwnSums(bench(), 7, 9, 1000, has_places, 6));
  }
}

TEST_F(RowsTest, ExpertsAreChosenAsTheReferenceDoes) {
  for (const CheckValues values : kBothValues) {
    for (const uint32_t experts : {1u, 7u, 64u, 65u, 300u}) {
      for (const uint32_t used : {1u, std::min(experts, 8u), std::min(experts, 70u)}) {
        EXPECT_OK(CheckChooseExperts(bench(), 3, {experts, used}, values, experts));
        EXPECT_OK(
            CheckChooseExperts(bench(), 3, {experts, used, 1, /*is_given=*/true}, values, experts));
      }
    }
    for (const uint32_t groups : {2u, 8u, 64u}) {
      for (const uint32_t used : {1u, 2u, groups})
        EXPECT_OK(CheckChooseExperts(bench(), 9, {3 * groups, used, groups}, values, groups));
    }
  }
}

TEST_F(RowsTest, BiasesAreThoseOfTheRowsExperts) {
  for (const CheckValues values : kBothValues) {
    for (const uint32_t width : {1u, 255u, 2880u})
      EXPECT_OK(CheckAddByExpert(bench(), 7, 3, width, values, width));
  }
}

TEST_F(RowsTest, NormsHaveTheReferencesBits) {
  for (const uint32_t count : {1u, 15u, 16u, 17u, 128u, 4096u}) {
    for (const CheckValues values : kBothValues) {
      EXPECT_OK(CheckRmsNorm(bench(), 1, count, true, values, count));
      EXPECT_OK(CheckRmsNorm(bench(), 9, count, false, values, count));
    }
  }
}

TEST_F(RowsTest, SoftmaxAndArgmaxHaveTheReferencesBits) {
  for (const uint32_t count : {1u, 15u, 17u, 300u, 2000u}) {
    for (const CheckValues values : kBothValues) {
      EXPECT_OK(CheckSoftmax(bench(), 4, count, values, count));
      EXPECT_OK(CheckArgmax(bench(), 4, count, values, count));
    }
  }
}

TEST_F(RowsTest, RopeHasTheReferencesBits) {
  for (const auto layout : {kernels::RopeLayout::kAdjacent, kernels::RopeLayout::kHalves}) {
    for (const bool inverse : {false, true}) {
      for (const uint32_t pairs : {1u, 32u, 65u})
        EXPECT_OK(CheckRope(bench(), layout, inverse, 5, 3, pairs, pairs));
    }
  }
}

TEST_F(RowsTest, HadamardHasTheReferencesBits) {
  for (const uint32_t count : {1u, 2u, 8u, 64u, 128u, kMostHadamard})
    EXPECT_OK(CheckHadamard(bench(), 3, count, count));
}

// More rows than one dimension of workgroups allows.
TEST_F(RowsTest, ManyRows) { EXPECT_OK(CheckHadamard(bench(), kRowGroups + 3, 2, 1)); }

TEST_F(RowsTest, RowsOfTables) {
  for (const TableType type : {TableType::kF32, TableType::kF16, TableType::kBf16}) {
    for (const uint32_t width : {2u, 64u, 1000u})
      EXPECT_OK(CheckGatherRows(bench(), type, 11, width, width));
  }
}

}  // namespace
}  // namespace aster::vulkan
