// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/check/check_latent.h"

#include "vulkan/check/check_shared.h"
#include "vulkan/check/check_test_support.h"

namespace aster::vulkan {
namespace {

using kernels::LatentFormat;
using kernels::LatentRows;

class LatentTest : public KernelTest {};

// The formats have whole groups and short ones, and rows of which only the first begins at a word.
TEST_F(LatentTest, RowsHaveTheReferencesBytes) {
  for (const LatentFormat& format :
       {LatentFormat{LatentRows::kF16, 48, 32}, LatentFormat{LatentRows::kF8, 64, 48},
        LatentFormat{LatentRows::kF8, 1024, 1024}, LatentFormat{LatentRows::kF8, 512, 448},
        LatentFormat{LatentRows::kF4, 32, 0}, LatentFormat{LatentRows::kF4, 1024, 0},
        LatentFormat{LatentRows::kF8Fine, 48, 0}, LatentFormat{LatentRows::kF8Fine, 1024, 0},
        LatentFormat{LatentRows::kF4Scaled, 32, 0}, LatentFormat{LatentRows::kF4Scaled, 1024, 0}}) {
    for (const CheckValues values : kBothValues) {
      EXPECT_OK(CheckLatentRows(bench(), {format, 40, 0, 32}, values, 1));
      EXPECT_OK(CheckLatentRows(bench(), {format, 1, 33, 32}, values, 2));
      EXPECT_OK(CheckLatentRows(bench(), {format, 3, 5, 1}, values, 3));
      EXPECT_OK(CheckLatentRows(bench(), {format, 9, 30, 16, 2}, values, 4));
    }
  }
}

TEST_F(LatentTest, CompressedRowsHaveTheReferencesBits) {
  for (const CheckValues values : kBothValues) {
    EXPECT_OK(CheckPool(bench(), {48, 4, true, 0, 9}, values, 1));
    EXPECT_OK(CheckPool(bench(), {48, 4, true, 126, 6}, values, 2));
    EXPECT_OK(CheckPool(bench(), {16, 128, false, 100, 160}, values, 3));
    EXPECT_OK(CheckPool(bench(), {48, 2, false, 125, 8, true}, values, 4));
  }
}

TEST_F(LatentTest, RanksHaveTheReferencesBits) {
  const LatentFormat four = {LatentRows::kF4, 32, 0};
  for (const auto& [rows, top] : {std::pair(3u, 1u), std::pair(300u, 40u), std::pair(300u, 298u)})
    EXPECT_OK(CheckRanks(bench(), {four, 19, rows, top}, rows + top));
  EXPECT_OK(CheckRanks(bench(), {{LatentRows::kF16, 1024, 0}, 2, 10, 4}, 5));
}

TEST_F(LatentTest, AttentionHasTheReferencesBits) {
  const LatentFormat eight = {LatentRows::kF8, 144, 128};
  for (const auto& [window, far] : {std::pair(2u, 0u), std::pair(128u, 40u), std::pair(250u, 9u)})
    EXPECT_OK(CheckLatentAttention(bench(), {eight, 3, 2, window, far, far / 2}, window));
  EXPECT_OK(CheckLatentAttention(bench(), {{LatentRows::kF16, 64, 48}, 17, 1, 30, 20, 7}, 4));
  const LatentFormat fine = {LatentRows::kF8Fine, 64, 0}, scaled = {LatentRows::kF4Scaled, 64, 0};
  for (const uint32_t window : {100u, 128u, 150u})
    EXPECT_OK(CheckLatentAttention(bench(), {fine, 3, 2, window, 90, 70, scaled}, window));
}

TEST_F(LatentTest, RanksOfBlocksHaveTheReferencesBits) {
  const LatentFormat four = {LatentRows::kF4, 32, 0};
  EXPECT_OK(CheckBlockRanks(bench(), {four, 19, 300, 20, 8, 9}, 1));
  EXPECT_OK(CheckBlockRanks(bench(), {four, 3, 37, 8, 4, 3}, 2));
  EXPECT_OK(CheckBlockRanks(bench(), {four, 3, 33, 1, 8, 2}, 3));
}

TEST_F(LatentTest, GatedValuesHaveTheReferencesBits) {
  for (const CheckValues values :
       {CheckValues::kOrdinary, CheckValues::kHostile, CheckValues::kVanishing}) {
    EXPECT_OK(CheckGateValues(bench(), 4, 5, 144, values, 1));
    EXPECT_OK(CheckGateValues(bench(), 1, 1, 16, values, 2));
    EXPECT_OK(CheckGateValues(bench(), 2, 3, 600, values, 3));
  }
}

TEST_F(LatentTest, RowsWithGapsAreCopied) {
  EXPECT_OK(CheckCopyRows(bench(), 70, 33, 1));
  EXPECT_OK(CheckCopyRows(bench(), 1, 1, 2));
}

TEST_F(LatentTest, StreamsHaveTheReferencesBits) {
  for (const CheckValues values : kBothValues) {
    for (const uint32_t streams : {1u, 4u, 7u})
      EXPECT_OK(CheckStreams(bench(), streams, 70, 33, values, streams));
  }
}

}  // namespace
}  // namespace aster::vulkan
