// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/activation_blocks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "kernels/matmul_test_support.h"

namespace aster::kernels {
namespace {

constexpr ActivationFormat kBlockFormats[] = {ActivationFormat::kInt8Per32,
                                              ActivationFormat::kInt8Per256};

// Columns [begin, begin + count) of rows, without gaps.
std::vector<float> ColumnsOf(const std::vector<float>& values, size_t rows, size_t begin,
                             size_t count) {
  const size_t width = values.size() / rows;
  std::vector<float> columns;
  for (size_t row = 0; row < rows; ++row) {
    const float* const first = values.data() + row * width + begin;
    columns.insert(columns.end(), first, first + count);
  }
  return columns;
}

// Rows whose columns were prepared in three parts equal rows that were prepared at once.
TEST(ActivationBlocksTest, JoinedColumnsAreThoseOfAWholeRow) {
  uint64_t seed = 0;
  for (const ActivationFormat format : kBlockFormats) {
    const size_t step = BlockStep(format);
    for (const size_t rows : {1, 3, 16, 17, 33}) {
      for (const TestValues kind : {TestValues::kPlain, TestValues::kAny}) {
        const std::vector<float> values = TestRows(rows, 4 * step, kind, ++seed);
        const PreparedRows whole(Isa::kRef, format, values, 4 * step);
        std::vector<uint8_t> joined(whole.bytes.size());
        for (const auto& [begin, count] : {std::pair(size_t{3}, size_t{1}), {0, 1}, {1, 2}}) {
          const PreparedRows part(
              Isa::kRef, format, ColumnsOf(values, rows, begin * step, count * step), count * step);
          std::vector<uint8_t> blocks(BlockBytes(format, rows, count * step));
          WriteBlocks(format, part.bytes.data(), rows, count * step, 0, rows, blocks.data());
          const BlockPlace place{.rows = rows,
                                 .all_columns = 4 * step,
                                 .begin = begin * step,
                                 .columns = count * step};
          ReadBlocks(format, blocks.data(), place, 0, rows, joined.data());
        }
        EXPECT_EQ(std::memcmp(joined.data(), whole.bytes.data(), joined.size()), 0)
            << "format " << static_cast<int>(format) << ", " << rows << " rows";
      }
    }
  }
}

TEST(ActivationBlocksTest, TakeLittleMoreThanAByteForAValue) {
  EXPECT_EQ(BlockBytes(ActivationFormat::kInt8Per32, 3, 128), 3 * (128 + 4 * 4));
  EXPECT_EQ(BlockBytes(ActivationFormat::kInt8Per256, 2, 512), 2 * (512 + 2 * 4));
  EXPECT_EQ(BlockStep(ActivationFormat::kF32), 0u);
  EXPECT_EQ(BlockStep(ActivationFormat::kBF16), 0u);
}

}  // namespace
}  // namespace aster::kernels
