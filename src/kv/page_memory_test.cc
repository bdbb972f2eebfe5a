// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kv/page_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "base/large_pages.h"

namespace aster::kv {
namespace {

constexpr size_t kBytes = 2 * kLargePageBytes;

TEST(MemoryBlock, IsAlignedZeros) {
  const MemoryBlock block = MemoryBlock::Map(kBytes).value();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block.data()) % kLargePageBytes, 0u);
  EXPECT_EQ(std::count(block.data(), block.data() + kBytes, 0), static_cast<ptrdiff_t>(kBytes));
}

TEST(MemoryBlock, MayBeSmall) {
  const MemoryBlock block = MemoryBlock::Map(12288).value();
  EXPECT_EQ(std::count(block.data(), block.data() + 12288, 0), 12288);
}

TEST(MemoryBlock, GivesBackThatPartOnly) {
  MemoryBlock block = MemoryBlock::Map(kBytes).value();
  std::fill(block.data(), block.data() + kBytes, 1);
  block.GiveBack(8192, 4096);
  EXPECT_EQ(block.data()[8191], 1);
  EXPECT_EQ(std::count(block.data() + 8192, block.data() + 12288, 0), 4096);
  EXPECT_EQ(block.data()[12288], 1);
}

TEST(MemoryBlock, Moves) {
  MemoryBlock a = MemoryBlock::Map(kBytes).value();
  a.data()[5] = 7;
  MemoryBlock b = std::move(a);
  EXPECT_EQ(b.data()[5], 7);
  b = MemoryBlock::Map(kBytes).value();
  EXPECT_EQ(b.data()[5], 0);
}

TEST(MemoryBlock, MoreThanThereIsIsAnError) {
  const Result<MemoryBlock> block = MemoryBlock::Map(size_t{1} << 62);
  ASSERT_FALSE(block.ok());
  EXPECT_EQ(block.error().code(), Code::kResourceExhausted);
}

}  // namespace
}  // namespace aster::kv
