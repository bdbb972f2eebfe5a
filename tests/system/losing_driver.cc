// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A Vulkan driver that loses its device. The driver that LOSING_DRIVER_OF names does everything
// until the file LOSING_DRIVER_WHEN exists; from then on work is refused. Vulkan's loader opens it
// like any other driver, so the program under test does not notice it. The needed types of Vulkan
// are declared here, so that its headers are not required.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

using Function = void (*)();
using GetFunction = Function (*)(void* object, const char* name);
using Submit = int32_t (*)(void* queue, uint32_t count, const void* submits, uint64_t fence);

constexpr int32_t kDeviceLost = -4;  // VK_ERROR_DEVICE_LOST

// Functions of the driver that does the work.
GetFunction device_function = nullptr;
Submit submit = nullptr;

template <typename T>
T InDriver(const char* name) {
  static void* const driver = dlopen(std::getenv("LOSING_DRIVER_OF"), RTLD_NOW | RTLD_LOCAL);
  return driver == nullptr ? nullptr : reinterpret_cast<T>(dlsym(driver, name));
}

int32_t SubmitUnlessLost(void* queue, uint32_t count, const void* submits, uint64_t fence) {
  const char* const when = std::getenv("LOSING_DRIVER_WHEN");
  if (when != nullptr && access(when, F_OK) == 0) return kDeviceLost;
  return submit(queue, count, submits, fence);
}

Function DeviceFunction(void* device, const char* name) {
  const Function found = device_function(device, name);
  if (found == nullptr || std::strcmp(name, "vkQueueSubmit") != 0) return found;
  submit = reinterpret_cast<Submit>(found);
  return reinterpret_cast<Function>(&SubmitUnlessLost);
}

}  // namespace

extern "C" {

int32_t vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t* version) {
  const auto negotiate =
      InDriver<int32_t (*)(uint32_t*)>("vk_icdNegotiateLoaderICDInterfaceVersion");
  return negotiate == nullptr ? kDeviceLost : negotiate(version);
}

Function vk_icdGetPhysicalDeviceProcAddr(void* instance, const char* name) {
  const auto get = InDriver<GetFunction>("vk_icdGetPhysicalDeviceProcAddr");
  return get == nullptr ? nullptr : get(instance, name);
}

Function vk_icdGetInstanceProcAddr(void* instance, const char* name) {
  const auto get = InDriver<GetFunction>("vk_icdGetInstanceProcAddr");
  const Function found = get == nullptr ? nullptr : get(instance, name);
  if (found == nullptr || std::strcmp(name, "vkGetDeviceProcAddr") != 0) return found;
  device_function = reinterpret_cast<GetFunction>(found);
  return reinterpret_cast<Function>(&DeviceFunction);
}
}
