// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "stage/export_kv_chunk.h"

#include <gtest/gtest.h>

#include "kv/transfer.h"
#include "kv/world_for_test.h"

namespace aster::stage {
namespace {

TEST(ExportKvChunk, AreTheKvChunkInThePlaceOfWhatWasThere) {
  for (const kv::Layout& layout : {kv::PlainLayout(), kv::WindowLayout(), kv::CompressedLayout()}) {
    kv::Pool pool(uint64_t{16} << 20);
    kv::CheckedTable checked(layout, pool, layout.all_layers());
    std::vector<int32_t> tokens(100);
    for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>(i * 31 % 97);
    ASSERT_TRUE(checked.Compute(layout.all_layers(), tokens));
    wire::Payload chunk = {1, 2, 3};
    for (const uint32_t begin : {0u, 16u, 99u, 100u}) {
      std::vector<uint8_t> expected;
      ASSERT_TRUE(kv::Export(checked.table(), layout.all_layers(), begin, 100, [&](Bytes bytes) {
                    expected.insert(expected.end(), bytes.begin(), bytes.end());
                    return Ok();
                  }).ok());
      ASSERT_TRUE(ExportKvChunk(checked.table(), layout.all_layers(), begin, 100, chunk).ok());
      EXPECT_EQ(std::vector<uint8_t>(chunk.begin(), chunk.end()), expected) << begin;
    }
    // Missing rows are an error, and take no memory.
    EXPECT_FALSE(ExportKvChunk(checked.table(), layout.all_layers(), 0, 101, chunk).ok());
    EXPECT_FALSE(ExportKvChunk(checked.table(), layout.all_layers(), 9, 8, chunk).ok());
    EXPECT_FALSE(ExportKvChunk(checked.table(), {0, 77}, 0, 9, chunk).ok());
  }
}

}  // namespace
}  // namespace aster::stage
