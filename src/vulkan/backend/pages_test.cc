// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/backend/pages.h"

#include <gtest/gtest.h>

#include "vulkan/check/check_test_support.h"

namespace aster::vulkan {
namespace {

class DevicePagesTest : public DeviceTest {};

std::vector<uint8_t> SomeBytes(size_t count, uint64_t seed) {
  std::vector<uint8_t> bytes(count);
  Random random(seed, 0);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.NextU32());
  return bytes;
}

std::vector<uint8_t> ReadAll(const kv::MemoryBlock& block) {
  std::vector<uint8_t> bytes(block.bytes(), 1);
  EXPECT_OK(block.Read(0, bytes));
  return bytes;
}

TEST_F(DevicePagesTest, BlocksBeginAsZeros) {
  DevicePages pages(device());
  const auto block = pages.Map(3 << 20).value();
  EXPECT_EQ(block->host(), nullptr);
  EXPECT_EQ(ReadAll(*block), std::vector<uint8_t>(3 << 20, 0));
}

// Copies and writes happen in the order of the calls, even if several of them touch the same bytes.
TEST_F(DevicePagesTest, WorkHappensInItsOrder) {
  DevicePages pages(device());
  const auto a = pages.Map(1 << 16).value();
  const auto b = pages.Map(1 << 16).value();
  std::vector<uint8_t> want_a(1 << 16), want_b(1 << 16);
  const auto write = [](kv::MemoryBlock& block, std::vector<uint8_t>& want, size_t offset,
                        size_t count, uint64_t seed) {
    const std::vector<uint8_t> bytes = SomeBytes(count, seed);
    ASSERT_OK(block.Write(offset, bytes));
    std::copy(bytes.begin(), bytes.end(), want.begin() + static_cast<ptrdiff_t>(offset));
  };
  write(*a, want_a, 4096, 20000, 1);
  write(*a, want_a, 5000, 37, 2);
  ASSERT_OK(b->Copy(8192, *a, 4096, 16384));
  std::copy_n(want_a.begin() + 4096, 16384, want_b.begin() + 8192);
  write(*a, want_a, 4096, 4096, 3);
  ASSERT_OK(a->Zero(8192, 4096));
  std::fill_n(want_a.begin() + 8192, 4096, 0);
  ASSERT_OK(b->GiveBack(12288, 4096));
  std::fill_n(want_b.begin() + 12288, 4096, 0);
  EXPECT_EQ(ReadAll(*a), want_a);
  EXPECT_EQ(ReadAll(*b), want_b);
  write(*b, want_b, 100, 5000, 4);
  ASSERT_OK(a->Copy(0, *b, 0, 8192));
  std::copy_n(want_b.begin(), 8192, want_a.begin());
  EXPECT_EQ(ReadAll(*a), want_a);
}

// The bytes are more than may be staged at a time, and more than a block of uploads has.
TEST_F(DevicePagesTest, MuchIsWritten) {
  DevicePages pages(device());
  const auto block = pages.Map(40 << 20).value();
  const std::vector<uint8_t> bytes = SomeBytes((40 << 20) - 5, 1);
  ASSERT_OK(block->Write(5, bytes));
  const std::vector<uint8_t> got = ReadAll(*block);
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), got.begin() + 5));
}

TEST_F(DevicePagesTest, ABlockMayGoBeforeItsWorkWasSent) {
  DevicePages pages(device());
  const auto stays = pages.Map(1 << 16).value();
  {
    const auto goes = pages.Map(1 << 16).value();
    ASSERT_OK(goes->Write(0, SomeBytes(1 << 16, 1)));
    ASSERT_OK(stays->Copy(0, *goes, 0, 1 << 16));
  }
  EXPECT_EQ(ReadAll(*stays), SomeBytes(1 << 16, 1));
}

TEST_F(DevicePagesTest, ALostDeviceSaysSo) {
  DevicePages pages(device());
  const auto block = pages.Map(1 << 16).value();
  EXPECT_FALSE(device().Check(VK_ERROR_DEVICE_LOST, "waiting for work").ok());
  std::vector<uint8_t> bytes(16);
  const Status status = block->Read(0, bytes);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace aster::vulkan
