// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The program's connection to Vulkan: finds the physical devices. Must not know what they compute.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "vulkan/driver/functions.h"
#include "vulkan/driver/traits.h"

namespace aster::vulkan {

struct InstanceOptions {
  // Called for every message of the validation layer, from any thread. The layer is used if this is
  // set and the layer is installed.
  std::function<void(std::string_view message)> on_validation;
};

// Constant after construction; used by any number of devices.
class Instance {
 public:
  static Result<std::shared_ptr<Instance>> Create(const Library& library,
                                                  InstanceOptions options = {});
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  const InstanceFunctions& functions() const { return functions_; }

  // In the order of the drivers, which does not change while the machine is the same.
  Result<std::vector<VkPhysicalDevice>> PhysicalDevices() const;

  // Whether messages reach options.on_validation.
  bool validates() const { return messenger_ != VK_NULL_HANDLE; }

 private:
  explicit Instance(InstanceOptions options) : options_(std::move(options)) {}

  Status Start(const Library& library);
  Status WatchValidation();

  const InstanceOptions options_;
  VkInstance instance_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  InstanceFunctions functions_;
};

}  // namespace aster::vulkan
