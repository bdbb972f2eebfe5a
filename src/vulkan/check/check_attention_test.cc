// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/check/check_attention.h"

#include <map>
#include <vector>

#include "vulkan/check/check_test_support.h"

namespace aster::vulkan {
namespace {

using kernels::KvType;

class PagesTest : public KernelTest, public testing::WithParamInterface<KvType> {
 protected:
  // One of the two ways to merge pages, by the seed: each is compiled.
  void Check(AttentionSize size, uint64_t seed) {
    for (const bool split : {false, true}) {
      if (!IsThorough() && split != (seed % 2 == 1)) continue;
      size.split = split;
      EXPECT_OK(CheckAttention(bench(), GetParam(), size, CheckValues::kOrdinary, seed));
    }
  }
};

TEST_P(PagesTest, OneTokenSeesAllBeforeIt) {
  for (const uint32_t position : {0u, 1u, 127u, 128u, 129u, 511u, 700u}) {
    Check({.key_dim = 64,
           .value_dim = 64,
           .heads = 4,
           .kv_heads = 2,
           .tokens = 1,
           .position = position},
          position);
  }
}

// More rows than a block has, and pages that some of them see and others do not.
TEST_P(PagesTest, ManyTokens) {
  Check({.key_dim = 32, .value_dim = 32, .heads = 3, .kv_heads = 2, .tokens = 150, .position = 60},
        1);
}

TEST_P(PagesTest, TheLargestBlocks) {
  EXPECT_OK(CheckAttention(bench(), GetParam(),
                           {.key_dim = 32,
                            .value_dim = 32,
                            .heads = 3,
                            .kv_heads = 2,
                            .tokens = 5,
                            .position = 250,
                            .largest_blocks = true},
                           CheckValues::kOrdinary, 6));
}

// Blocks of 32 rows of F16 have a kernel of their own.
TEST_P(PagesTest, TheLargestBlocksOfEveryDimension) {
  if (GetParam() != KvType::kF16) GTEST_SKIP() << "other types have one kernel for all blocks";
  if (!IsThorough()) GTEST_SKIP() << "compiled for long; run with ASTER_THOROUGH=1";
  struct Dimensions {
    int key;
    int value;
  };
  uint64_t seed = 40;
  for (const auto [key, value] : {Dimensions{72, 96}, {192, 256}}) {
    AttentionSize size = {.key_dim = key,
                          .value_dim = value,
                          .heads = 3,
                          .kv_heads = 2,
                          .tokens = 23,
                          .position = 370,
                          .largest_blocks = true};
    // A software driver compiles each of these for a minute.
    size.split = key > 128;
    size.sinks = size.split;
    size.window = size.split ? 100 : 0;
    for (const float scale : {1.0f, 40.0f}) {
      size.query_scale = scale;
      for (const CheckValues values : {CheckValues::kOrdinary, CheckValues::kHostile})
        EXPECT_OK(CheckAttention(bench(), GetParam(), size, values, ++seed));
    }
  }
}

TEST_P(PagesTest, WindowsAndSinks) {
  AttentionSize size = {.key_dim = 32,
                        .value_dim = 32,
                        .heads = 2,
                        .kv_heads = 1,
                        .tokens = 5,
                        .position = 900,
                        .window = 100};
  Check(size, 2);
  size.window_sinks = 4;
  Check(size, 3);
  size.window_sinks = 130;
  size.sinks = true;
  Check(size, 4);
}

// Odd dimensions, ones that fill no group of 32, and ones that leave room for fewer rows: each with
// one type or two, because a driver compiles the kernel for every dimension of every type.
TEST_P(PagesTest, EveryDimension) {
  struct Dimensions {
    int key;
    int value;
  };
  const std::map<KvType, std::vector<Dimensions>> of_types = {
      {KvType::kF16, {{1, 1}, {192, 128}}},
      {KvType::kBf16, {{33, 33}}},
      {KvType::kQ8, {{33, 33}, {192, 192}}},
      {KvType::kQ8Int, {{33, 33}, {192, 256}}}};
  for (const auto [key, value] : of_types.at(GetParam())) {
    Check({.key_dim = key,
           .value_dim = value,
           .heads = 5,
           .kv_heads = 1,
           .tokens = 2,
           .position = 130},
          static_cast<uint64_t>(key));
  }
}

// F16 has shaders for few rows, for whole vectors. Without a native fma there are none for more
// than two rows. Each is compiled for one of the two ways to merge.
class FewRowsTest : public KernelTest {
 protected:
  void Check(AttentionSize size, uint64_t seed) {
    for (const uint32_t rows : {1u, 2u, 4u, 8u}) {
      if (rows > 2 && !kernels().arithmetic().native_fma) continue;
      size.block_rows = rows;
      size.split = rows == 1 || rows == 8;
      EXPECT_OK(CheckAttention(bench(), KvType::kF16, size, CheckValues::kOrdinary, seed))
          << rows << " rows, " << size.key_dim << " and " << size.value_dim << " elements";
    }
  }
};

// The dimensions take two or four stages of keys, two or four of values, and one or two elements
// per invocation.
TEST_F(FewRowsTest, EveryDimension) {
  struct Dimensions {
    int key;
    int value;
  };
  for (const auto [key, value] : {Dimensions{96, 112}, {256, 192}}) {
    if (key < 256 && !kernels().arithmetic().native_fma) continue;  // compiled for seconds
    Check({.key_dim = key,
           .value_dim = value,
           .heads = 3,
           .kv_heads = 2,
           .tokens = 3,
           .position = 255},
          static_cast<uint64_t>(key));
  }
}

TEST_F(FewRowsTest, WindowsAndSinks) {
  AttentionSize size = {.key_dim = 64,
                        .value_dim = 64,
                        .heads = 2,
                        .kv_heads = 1,
                        .tokens = 5,
                        .position = 900,
                        .window = 100};
  Check(size, 2);
  size.window_sinks = 4;
  size.sinks = true;
  Check(size, 3);
}

TEST_F(FewRowsTest, InfinitiesAndProductsThatVanish) {
  AttentionSize size = {.key_dim = 64,
                        .value_dim = 64,
                        .heads = 3,
                        .kv_heads = 2,
                        .tokens = 4,
                        .position = 300,
                        .infinities = true};
  Check(size, 4);
  size.vanishing = true;
  Check(size, 5);
}

TEST_P(PagesTest, KeysAndValuesOfAnySize) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    EXPECT_OK(CheckAttention(
        bench(), GetParam(),
        {.key_dim = 16, .value_dim = 16, .heads = 1, .kv_heads = 2, .tokens = 4, .position = 200},
        CheckValues::kHostile, seed));
  }
}

TEST_P(PagesTest, RowsAreWrittenAnywhere) {
  for (const uint32_t position : {0u, 1u, 2u, 3u, 100u, 126u, 127u, 1000u}) {
    for (const uint32_t rows : {1u, 2u, 3u, 5u, 140u}) {
      for (const CheckValues values : {CheckValues::kOrdinary, CheckValues::kHostile})
        ASSERT_OK(CheckWriteRows(bench(), GetParam(), {40, 40, 2, position, rows}, values,
                                 position + rows));
    }
  }
}

TEST_P(PagesTest, RowsOfEveryDimensionAreWritten) {
  for (const int dim : {1, 2, 5, 31, 33, 64, 80, 192, 1024})
    ASSERT_OK(CheckWriteRows(bench(), GetParam(), {dim, dim, 1, 125, 6}, CheckValues::kHostile,
                             static_cast<uint64_t>(dim)));
  ASSERT_OK(CheckWriteRows(bench(), GetParam(), {192, 128, 2, 0, 3}, CheckValues::kOrdinary, 1));
}

std::string NameOfType(const testing::TestParamInfo<KvType>& info) {
  constexpr const char* kNames[] = {"F16", "BF16", "Q8", "Q8Int"};
  return kNames[static_cast<size_t>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(Every, PagesTest,
                         testing::Values(KvType::kF16, KvType::kBf16, KvType::kQ8, KvType::kQ8Int),
                         NameOfType);

}  // namespace
}  // namespace aster::vulkan
