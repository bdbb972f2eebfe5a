// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A device for tests: the first that meets the requirements, including drivers on the processor,
// under the validation layer if that is installed. Every message of the layer is a failure. Only
// for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "vulkan/driver/buffer.h"
#include "vulkan/driver/commands.h"
#include "vulkan/driver/device.h"

namespace aster::vulkan {

// Far more than any test takes, also under a sanitizer.
inline constexpr int64_t kTestTimeoutNs = 120 * kNsPerSecond;

inline Result<std::shared_ptr<Instance>> ValidatedInstance(const Library& library) {
  return Instance::Create(library, {.on_validation = [](std::string_view message) {
                            ADD_FAILURE() << "validation layer: " << message;
                          }});
}

// The device; an error if there is none.
inline Result<std::unique_ptr<Device>> OpenTestDevice() {
  const auto instance = TRY(ValidatedInstance(TRY(Library::Open())));
  Error why = NotFound("no driver lists a device");
  for (const VkPhysicalDevice physical : TRY(instance->PhysicalDevices())) {
    auto device = Device::Open(instance, physical);
    if (device.ok()) return device;
    why = std::move(device).error();
  }
  return why;
}

// Base of tests that need a device: they are skipped if there is none.
class DeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    auto device = OpenTestDevice();
    if (!device.ok()) GTEST_SKIP() << "no device to test with: " << device.error().message();
    device_ = std::move(device).value();
  }

  Device& device() { return *device_; }

  template <typename T>
  Buffer BufferOf(std::span<const T> values) {
    Buffer buffer =
        Buffer::Allocate(device(), std::max<size_t>(values.size_bytes(), 4), MemoryKind::kUpload)
            .value();
    std::memcpy(buffer.data(), values.data(), values.size_bytes());
    return buffer;
  }
  template <typename T>
  Buffer BufferOf(const std::vector<T>& values) {
    return BufferOf(std::span<const T>(values));
  }

 private:
  std::unique_ptr<Device> device_;
};

template <typename T>
std::vector<T> ValuesOf(const Buffer& buffer, size_t count) {
  std::vector<T> values(count);
  std::memcpy(values.data(), buffer.data(), count * sizeof(T));
  return values;
}

template <typename T>
std::span<const uint8_t> BytesOf(const T& value) {
  return {reinterpret_cast<const uint8_t*>(&value), sizeof(value)};
}

}  // namespace aster::vulkan
