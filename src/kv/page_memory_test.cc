// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kv/page_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/large_pages.h"

namespace aster::kv {
namespace {

constexpr size_t kBytes = 2 * kLargePageBytes;

TEST(HostPages, AreAlignedZeros) {
  const auto block = HostPages().Map(kBytes).value();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block->host()) % kLargePageBytes, 0u);
  EXPECT_EQ(std::count(block->host(), block->host() + kBytes, 0), static_cast<ptrdiff_t>(kBytes));
}

TEST(HostPages, MayBeSmall) {
  const auto block = HostPages().Map(12288).value();
  EXPECT_EQ(std::count(block->host(), block->host() + 12288, 0), 12288);
}

TEST(HostPages, GiveBackThatPartOnly) {
  const auto block = HostPages().Map(kBytes).value();
  std::fill(block->host(), block->host() + kBytes, 1);
  ASSERT_TRUE(block->GiveBack(8192, 4096).ok());
  EXPECT_EQ(block->host()[8191], 1);
  EXPECT_EQ(std::count(block->host() + 8192, block->host() + 12288, 0), 4096);
  EXPECT_EQ(block->host()[12288], 1);
}

TEST(HostPages, AreReadWrittenAndCopied) {
  const auto a = HostPages().Map(kBytes).value();
  const auto b = HostPages().Map(kBytes).value();
  const std::vector<uint8_t> bytes = {1, 2, 3};
  ASSERT_TRUE(a->Write(100, bytes).ok());
  ASSERT_TRUE(b->Copy(200, *a, 100, 3).ok());
  ASSERT_TRUE(b->Zero(201, 1).ok());
  std::vector<uint8_t> read(5);
  ASSERT_TRUE(b->Read(199, read).ok());
  EXPECT_EQ(read, (std::vector<uint8_t>{0, 1, 0, 3, 0}));
  std::vector<uint8_t> copy;
  EXPECT_EQ(ReadPage({b.get(), 200}, 3, copy).value(), b->host() + 200);
  EXPECT_TRUE(copy.empty());
}

TEST(HostPages, MoreThanThereIsIsAnError) {
  const auto block = HostPages().Map(size_t{1} << 62);
  ASSERT_FALSE(block.ok());
  EXPECT_EQ(block.error().code(), Code::kResourceExhausted);
}

}  // namespace
}  // namespace aster::kv
