// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/backend/batch.h"

#include <gtest/gtest.h>

#include "vulkan/check/check_test_support.h"

namespace aster::vulkan {
namespace {

constexpr uint64_t kBatchesToTrim = 16;

class BatchTest : public DeviceTest {};

// A batch that uses this much scratch memory, and uploads as much.
void RunBatch(Batch& batch, uint64_t bytes) {
  ASSERT_OK(batch.Begin());
  ASSERT_TRUE(batch.ScratchMemory(Scratch::kGate, bytes).ok());
  ASSERT_TRUE(batch.TakeUpload(bytes).ok());
  ASSERT_OK(batch.Submit());
  ASSERT_OK(batch.Wait());
}

TEST_F(BatchTest, MemoryOfALargeBatchIsFreedWhenSmallOnesFollow) {
  DevicePages pages(device());
  Batch batch(device(), pages, true, kBatchesToTrim);
  RunBatch(batch, 4096);
  const uint64_t small_bytes = batch.memory_bytes();
  RunBatch(batch, 64 << 20);
  EXPECT_GE(batch.memory_bytes(), 128u << 20);
  for (uint64_t i = 0; i < 2 * kBatchesToTrim; ++i) RunBatch(batch, 4096);
  EXPECT_EQ(batch.memory_bytes(), small_bytes);
}

TEST_F(BatchTest, MemoryThatIsUsedNowAndThenIsKept) {
  DevicePages pages(device());
  Batch batch(device(), pages, true, kBatchesToTrim);
  for (uint64_t i = 0; i < 2 * kBatchesToTrim; ++i) {
    RunBatch(batch, i % (kBatchesToTrim / 2) == 0 ? 1 << 20 : 64);
    EXPECT_GE(batch.memory_bytes(), 1u << 20);
  }
}

}  // namespace
}  // namespace aster::vulkan
