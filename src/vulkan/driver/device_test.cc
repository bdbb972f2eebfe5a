// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/driver/device.h"

#include "vulkan/driver/device_test_support.h"
#include "vulkan/driver/pipelines.h"
#include "vulkan/driver/shaders.h"

namespace aster::vulkan {
namespace {

struct ArithmeticPush {
  uint64_t a;
  uint64_t b;
  uint64_t c;
  uint64_t result;
  uint32_t count;
  uint32_t operation;
};

TEST_F(DeviceTest, AddsTwoLists) {
  Pipelines pipelines(device(), BuiltInShader, {.flush_in_shader = true});
  const std::vector<float> a = {1.0f, 2.0f, 0x1p-140f};
  const std::vector<float> b = {0.5f, -2.0f, 0x1p-140f};
  const Buffer a_buffer = BufferOf(a);
  const Buffer b_buffer = BufferOf(b);
  const Buffer result = Buffer::Allocate(device(), 12, MemoryKind::kDownload).value();
  const ArithmeticPush push{
      a_buffer.address(), b_buffer.address(), a_buffer.address(), result.address(), 3, 0};
  Commands commands = Commands::Create(device()).value();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(commands.Begin().ok());
    commands.Dispatch(pipelines.Get("arithmetic").value(), BytesOf(push), {.x = 1});
    ASSERT_TRUE(commands.End().ok());
    ASSERT_TRUE(commands.Run(kTestTimeoutNs).ok());
    EXPECT_EQ(ValuesOf<float>(result, 3), (std::vector<float>{1.5f, 0.0f, 0.0f}));
  }
}

}  // namespace
}  // namespace aster::vulkan
