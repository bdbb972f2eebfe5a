// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/check/check_latent.h"

#include "vulkan/check/check_test_support.h"

namespace aster::vulkan {
namespace {

using kernels::LatentFormat;
using kernels::LatentRows;

class LatentTest : public KernelTest {};

// Whole groups and short ones, and rows of which none but the first begins at a word.
TEST_F(LatentTest, RowsHaveTheReferencesBytes) {
  for (const LatentFormat& format :
       {LatentFormat{LatentRows::kF16, 48, 32}, LatentFormat{LatentRows::kF8, 64, 48},
        LatentFormat{LatentRows::kF8, 1024, 1024}, LatentFormat{LatentRows::kF8, 512, 448},
        LatentFormat{LatentRows::kF4, 32, 0}, LatentFormat{LatentRows::kF4, 1024, 0}}) {
    for (const CheckValues values : kBothValues) {
      EXPECT_OK(CheckLatentRows(bench(), {format, 40, 0, 32}, values, 1));
      EXPECT_OK(CheckLatentRows(bench(), {format, 1, 33, 32}, values, 2));
      EXPECT_OK(CheckLatentRows(bench(), {format, 3, 5, 1}, values, 3));
    }
  }
}

TEST_F(LatentTest, CompressedRowsHaveTheReferencesBits) {
  for (const CheckValues values : kBothValues) {
    EXPECT_OK(CheckPool(bench(), {48, 4, true, 0, 9}, values, 1));
    EXPECT_OK(CheckPool(bench(), {48, 4, true, 126, 6}, values, 2));
    EXPECT_OK(CheckPool(bench(), {16, 128, false, 100, 160}, values, 3));
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
}

TEST_F(LatentTest, StreamsHaveTheReferencesBits) {
  for (const CheckValues values : kBothValues) {
    for (const uint32_t streams : {1u, 4u, 7u})
      EXPECT_OK(CheckStreams(bench(), streams, 70, 33, values, streams));
  }
}

}  // namespace
}  // namespace aster::vulkan
