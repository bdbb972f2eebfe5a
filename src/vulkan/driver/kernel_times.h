// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Measures a device's times, for optimisation. With ASTER_GPU_TIMES=1, kernels run one after the
// other, and their times are written to standard error when the device is closed. With
// ASTER_GPU_TIMES=batch, work runs as usual, and whole batches are timed, on the device and on the
// host. Must not know what kernels compute.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "vulkan/driver/functions.h"

namespace aster::vulkan {

class Device;

// The sums of a device's kernels, by name.
class KernelTimes {
 public:
  struct Sum {
    uint64_t count = 0;
    double ns = 0;
    double least_ns = 0;
  };

  enum class Detail : uint8_t { kKernels, kBatches };
  explicit KernelTimes(Detail detail) : detail_(detail) {}

  // Null unless ASTER_GPU_TIMES is set.
  static std::unique_ptr<KernelTimes> FromEnvironment();

  Detail detail() const { return detail_; }
  void Add(const std::string& kernel, double ns);
  // The slowest first.
  std::string Table() const;

 private:
  Detail detail_;
  std::map<std::string, Sum> sums_;
};

// Timestamps within one list of work.
class TimeMarks {
 public:
  static Result<std::unique_ptr<TimeMarks>> Create(Device& device);
  ~TimeMarks();

  // Reads the times of the recorded work, which must have finished, and starts again.
  Status Begin(VkCommandBuffer commands);
  // Call them around a kernel. After kMost kernels they do nothing.
  void Start(VkCommandBuffer commands);
  void Stop(VkCommandBuffer commands, std::string_view kernel);
  Status Collect();

 private:
  static constexpr uint32_t kMost = 4096;
  explicit TimeMarks(Device& device) : device_(device) {}

  Device& device_;
  VkQueryPool pool_ = VK_NULL_HANDLE;
  std::vector<std::string> kernels_;
};

}  // namespace aster::vulkan
