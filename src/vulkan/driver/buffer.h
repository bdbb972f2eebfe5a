// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Memory that a device reads and writes, reached by its address. Must not know what it holds.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "vulkan/driver/device.h"

namespace aster::vulkan {

enum class MemoryKind : uint8_t {
  kDevice,    // the fastest for the device; the host sees it where memory is shared
  kUpload,    // the host writes, the device reads
  kDownload,  // the device writes, the host reads
};

// Owns its memory, all of it one allocation of the driver's; movable. Outlived by its device; what
// is in flight with it has finished before it goes.
class Buffer {
 public:
  // Addresses are multiples of this.
  static constexpr uint64_t kAlignment = 64;

  // ResourceExhausted where there is no more memory, or not in one piece.
  static Result<Buffer> Allocate(Device& device, uint64_t bytes, MemoryKind kind);

  Buffer() = default;
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  uint64_t bytes() const { return bytes_; }
  // As shaders see it.
  uint64_t address() const { return address_; }
  // As the host sees it; null where it does not.
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
