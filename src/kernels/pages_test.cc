// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/pages.h"

#include <gmock/gmock.h>

#include <cstring>
#include <vector>

#include "base/random.h"
#include "kernels/attention.h"
#include "kernels/attention_test_support.h"
#include "kernels/ops_test_support.h"
#include "quant/half.h"

namespace aster::kernels {
namespace {

constexpr KvType kKvTypes[] = {KvType::kF16, KvType::kBf16, KvType::kQ8, KvType::kQ8Int};

TEST(PagesTest, PagesAreNoLargerThanTheirRows) {
  const PageLayout f16 = MakePageLayout(KvType::kF16, 64, 128);
  EXPECT_EQ(f16.bytes, size_t{kPagePositions} * 192 * 2);
  EXPECT_EQ(f16.key_row_bytes, 128u);
  EXPECT_EQ(f16.value_row_bytes, 256u);
  EXPECT_EQ(MakePageLayout(KvType::kBf16, 64, 128).bytes, f16.bytes);
  const PageLayout q8 = MakePageLayout(KvType::kQ8, 64, 128);
  EXPECT_EQ(q8.bytes, size_t{kPagePositions} * (192 + 192 / 32 * 2));
  EXPECT_EQ(q8.key_row_bytes, 64u + 4);
  const PageLayout odd = MakePageLayout(KvType::kBf16, 3, 5);
  EXPECT_EQ(odd.bytes, size_t{kPagePositions} * (4 + 16) * 2);
  EXPECT_EQ(odd.key_row_bytes, 6u);
  EXPECT_EQ(odd.value_stride, 16);
}

TEST(PagesTest, ExportIsTheInverseOfImportAndTouchesNothingElse) {
  Random random(1);
  for (const KvType type : kKvTypes) {
    for (const int dim : {1, 2, 15, 16, 17, 33, 64, 80, 128}) {
      const PageLayout layout = MakePageLayout(type, dim, dim + 3);
      const size_t row = layout.key_row_bytes + layout.value_row_bytes;
      std::vector<uint8_t> rows(row * kPagePositions);
      for (uint8_t& byte : rows) byte = static_cast<uint8_t>(random.NextU32());
      PageStore store(layout, 1, 0xee);
      uint8_t* page = store.pages()[0];
      ImportRows(layout, rows.data(), 0, kPagePositions, page);
      std::vector<uint8_t> back(rows.size());
      ExportRows(layout, page, 0, kPagePositions, back.data());
      ASSERT_EQ(back, rows);

      // Transfers rows in pieces, and only those.
      PageStore pieces(layout, 1, 0xee);
      for (int first = 0; first < kPagePositions; first += 7) {
        const int count = std::min(7, kPagePositions - first);
        ImportRows(layout, rows.data() + static_cast<size_t>(first) * row, first, count,
                   pieces.pages()[0]);
      }
      ASSERT_EQ(std::memcmp(pieces.pages()[0], page, layout.bytes), 0);
      ExportRows(layout, page, 19, 5, back.data());
      ASSERT_EQ(std::memcmp(back.data(), rows.data() + 19 * row, 5 * row), 0);
      std::vector<uint8_t> before(page, page + layout.bytes);
      const std::vector<uint8_t> zeros(row);
      ImportRows(layout, zeros.data(), 19, 1, page);
      ImportRows(layout, rows.data() + 19 * row, 19, 1, page);
      ASSERT_EQ(std::memcmp(before.data(), page, layout.bytes), 0);
    }
  }
}

// The order of an exported row is that of its elements.
TEST(PagesTest, ExportedRowsAreTheRowsWritten) {
  const ComputeFloatMode mode;
  for (const Isa isa : AvailableIsas()) {
    const PageLayout layout = MakePageLayout(KvType::kF16, 5, 3);
    PageStore store(layout, 1, 0);
    const std::vector<float> keys = {1, 2, 3, 4, 5};
    const std::vector<float> values = {-1, -2, -3};
    Attention(isa).write_rows(layout, 77, 1, keys.data(), 5, values.data(), 3, store.pages()[0]);
    std::vector<uint16_t> row(8);
    ExportRows(layout, store.pages()[0], 77, 1, reinterpret_cast<uint8_t*>(row.data()));
    std::vector<float> floats;
    for (const uint16_t half : row) floats.push_back(quant::HalfToFloat(half));
    EXPECT_THAT(floats, testing::ElementsAre(1, 2, 3, 4, 5, -1, -2, -3));
  }
}

}  // namespace
}  // namespace aster::kernels
