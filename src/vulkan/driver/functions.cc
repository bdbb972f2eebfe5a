// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/driver/functions.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/float_mode.h"

namespace aster::vulkan {
namespace {

#if defined(__APPLE__)
constexpr const char* kLibraries[] = {"libvulkan.1.dylib", "libMoltenVK.dylib"};
#else
constexpr const char* kLibraries[] = {"libvulkan.so.1"};
#endif

Error MissingFunction(const char* name) {
  return Unimplemented(fmt::format("the Vulkan driver has no function vk{}", name));
}

// Makes an instance that is never destroyed. With its last instance the loader would unload all
// drivers: loading them again takes time, and memory that they refer to would be leaked.
void KeepDrivers(const Library& library) {
  static const VkInstance kept = [&] {
    const ExactFloatMode mode;  // a driver's threads keep the mode of the thread that starts them
    VkInstanceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    VkInstance instance = VK_NULL_HANDLE;
    const auto create = reinterpret_cast<PFN_vkCreateInstance>(
        library.get_instance_proc_addr(nullptr, "vkCreateInstance"));
    if (create != nullptr) static_cast<void>(create(&info, nullptr, &instance));
    return instance;
  }();
  static_cast<void>(kept);
}

}  // namespace

Result<Library> Library::Open() {
  for (const char* name : kLibraries) {
    void* const handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == nullptr) continue;
    Library library;
    library.get_instance_proc_addr =
        reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(handle, "vkGetInstanceProcAddr"));
    if (library.get_instance_proc_addr == nullptr) continue;
    KeepDrivers(library);
    return library;
  }
  return NotFound(
      fmt::format("no Vulkan on this machine: {} was not found; install the Vulkan "
                  "loader and the driver of the GPU",
                  kLibraries[0]));
}

// Stores the function `name`, which `get` finds, in the table `functions`.
#define ASTER_VULKAN_LOAD(name)                                     \
  functions.name = reinterpret_cast<PFN_vk##name>(get("vk" #name)); \
  if (functions.name == nullptr) return MissingFunction(#name);

Result<GlobalFunctions> LoadGlobalFunctions(const Library& library) {
  const auto get = [&](const char* name) { return library.get_instance_proc_addr(nullptr, name); };
  GlobalFunctions functions;
  ASTER_VULKAN_GLOBAL_FUNCTIONS(ASTER_VULKAN_LOAD)
  return functions;
}

Result<InstanceFunctions> LoadInstanceFunctions(const Library& library, VkInstance instance) {
  const auto get = [&](const char* name) { return library.get_instance_proc_addr(instance, name); };
  InstanceFunctions functions;
  ASTER_VULKAN_INSTANCE_FUNCTIONS(ASTER_VULKAN_LOAD)
  functions.CreateDebugUtilsMessengerEXT =
      reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(get("vkCreateDebugUtilsMessengerEXT"));
  functions.DestroyDebugUtilsMessengerEXT =
      reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(get("vkDestroyDebugUtilsMessengerEXT"));
  functions.GetPhysicalDeviceCooperativeMatrixPropertiesKHR =
      reinterpret_cast<PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR>(
          get("vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
  return functions;
}

Result<DeviceFunctions> LoadDeviceFunctions(const InstanceFunctions& instance, VkDevice device) {
  const auto get = [&](const char* name) { return instance.GetDeviceProcAddr(device, name); };
  DeviceFunctions functions;
  ASTER_VULKAN_DEVICE_FUNCTIONS(ASTER_VULKAN_LOAD)
  return functions;
}

#undef ASTER_VULKAN_LOAD

}  // namespace aster::vulkan
