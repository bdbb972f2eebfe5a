// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Memory that a device reads and writes by its address. Must not know what it holds.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "vulkan/driver/device.h"

namespace aster::vulkan {

enum class MemoryKind : uint8_t {
  kDevice,    // the fastest for the device; visible to the host if memory is shared
  kUpload,    // the host writes, the device reads
  kDownload,  // the device writes, the host reads
};

// Owns its memory, a single allocation of the driver's; movable. Outlived by its device. Waits in
// its destructor until work in flight with it has finished.
class Buffer {
 public:
  // Addresses are multiples of this.
  static constexpr uint64_t kAlignment = 64;

  // ResourceExhausted if there is not enough memory, or not in one block.
  static Result<Buffer> Allocate(Device& device, uint64_t bytes, MemoryKind kind);

  Buffer() = default;
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  uint64_t bytes() const { return bytes_; }
  // The address in shaders.
  uint64_t address() const { return address_; }
  // The address for the host; null if it is not visible to the host.
  uint8_t* data() const { return data_; }
  VkBuffer handle() const { return buffer_; }

 private:
  Status AllocateMemory(MemoryKind kind);

  Device* device_ = nullptr;
  VkBuffer buffer_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  uint64_t bytes_ = 0;
  uint64_t address_ = 0;
  uint8_t* data_ = nullptr;  // [bytes_], mapped for the buffer's life
};

}  // namespace aster::vulkan
