// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// An open device: its queue, its types of memory, and whether it was lost. Must not know shaders or
// what is computed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/result.h"
#include "vulkan/driver/functions.h"
#include "vulkan/driver/instance.h"
#include "vulkan/driver/kernel_times.h"
#include "vulkan/driver/traits.h"

namespace aster::vulkan {

// One thread at a time. Outlives its buffers, pipelines and commands.
class Device {
 public:
  // FailedPrecondition, with the reason, if the device does not meet the requirements.
  static Result<std::unique_ptr<Device>> Open(std::shared_ptr<const Instance> instance,
                                              VkPhysicalDevice physical);
  // Waits for the work in flight.
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const DeviceTraits& traits() const { return traits_; }
  const DeviceFunctions& functions() const { return functions_; }
  VkDevice handle() const { return device_; }

  // Null unless work is timed.
  KernelTimes* times() { return times_.get(); }

  // Memory that can still be allocated on the device, as reported by the driver.
  uint64_t AvailableBytes() const;

  // Turns a result code into a Status that names the device, and notes if it was lost.
  Status Check(VkResult result, std::string_view doing);
  // Whether a call has reported that the device is lost: then every submission fails at once.
  bool lost() const { return lost_; }
  Status CheckLost(std::string_view doing) {
    return lost_ ? Check(VK_ERROR_DEVICE_LOST, doing) : Ok();
  }

  // Starts `commands`, in order; they must not change until they have finished. Submissions run one
  // after the other. Returns a number to wait for.
  Result<uint64_t> Submit(std::span<const VkCommandBuffer> commands);
  Result<uint64_t> Submit(VkCommandBuffer commands) { return Submit({&commands, 1}); }
  // Whether it has finished; does not wait.
  Result<bool> HasFinished(uint64_t submission);
  // DeadlineExceeded if the submission has not finished by then.
  Status Wait(uint64_t submission, int64_t timeout_ns);
  // Call it before something is freed: waits, without a deadline, for all submissions. Returns at
  // once if the device is lost.
  void Settle();

 private:
  Device(std::shared_ptr<const Instance> instance, VkPhysicalDevice physical, DeviceTraits traits);

  Status Start();
  Status MakeDevice();

  const std::shared_ptr<const Instance> instance_;
  const VkPhysicalDevice physical_;
  const DeviceTraits traits_;
  DeviceFunctions functions_;  // constant after construction, as the handles below

  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  VkSemaphore finished_ = VK_NULL_HANDLE;  // counts submissions
  uint64_t submitted_ = 0;
  uint64_t awaited_ = 0;  // submissions up to this one have finished
  bool lost_ = false;
  const std::unique_ptr<KernelTimes> times_ = KernelTimes::FromEnvironment();
};

}  // namespace aster::vulkan
