// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A list of work for a device: recorded once, run as often as wanted. Must not know what the
// shaders compute.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/result.h"
#include "vulkan/driver/buffer.h"
#include "vulkan/driver/device.h"
#include "vulkan/driver/pipelines.h"

namespace aster::vulkan {

struct GroupCount {
  uint32_t x = 1;
  uint32_t y = 1;
  uint32_t z = 1;
};

// Not for concurrent use. Work that is recorded after a Barrier sees everything written before it;
// between two barriers everything may run at the same time. Outlived by its device.
class Commands {
 public:
  static Result<Commands> Create(Device& device);
  Commands(Commands&& other) noexcept { *this = std::move(other); }
  Commands& operator=(Commands&& other) noexcept;
  ~Commands();

  // Drops the recorded work, which must have finished.
  Status Begin();
  // `kernel`: its name in measured times.
  void Dispatch(const Pipeline& pipeline, std::span<const uint8_t> push, GroupCount groups,
                std::string_view kernel = "");
  void Copy(const Buffer& from, uint64_t from_offset, const Buffer& to, uint64_t to_offset,
            uint64_t bytes);
  // Writes zeros; offset and bytes are multiples of four.
  void Clear(const Buffer& buffer, uint64_t offset, uint64_t bytes);
  void Barrier();
  // The same for copies only.
  void CopyBarrier();
  // Makes everything visible to the host.
  Status End();

  // Runs the recorded work, and waits for it.
  Status Run(int64_t timeout_ns);

  uint32_t dispatches() const { return dispatches_; }
  VkCommandBuffer handle() const { return commands_; }
  Device& device() { return *device_; }

 private:
  Commands() = default;

  Device* device_ = nullptr;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  void BarrierBehind(VkPipelineStageFlags stages, VkAccessFlags writes);
  bool TimesKernels() const;

  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  uint32_t dispatches_ = 0;
  std::unique_ptr<TimeMarks> marks_;  // null: work is not timed
};

}  // namespace aster::vulkan
