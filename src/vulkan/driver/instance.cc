// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/driver/instance.h"

#include <algorithm>
#include <utility>

#include "base/float_mode.h"
#include "vulkan/driver/errors.h"

namespace aster::vulkan {
namespace {

constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";
constexpr const char* kDebugUtils = "VK_EXT_debug_utils";
// Without it the loader hides drivers that lack parts of Vulkan, such as those of Apple's machines.
constexpr const char* kPortability = "VK_KHR_portability_enumeration";

Result<bool> HasLayer(const GlobalFunctions& functions, std::string_view name) {
  uint32_t count = 0;
  TRY(Check(functions.EnumerateInstanceLayerProperties(&count, nullptr), "listing layers"));
  std::vector<VkLayerProperties> layers(count);
  TRY(Check(functions.EnumerateInstanceLayerProperties(&count, layers.data()), "listing layers"));
  return std::any_of(layers.begin(), layers.begin() + count,
                     [&](const auto& layer) { return layer.layerName == name; });
}

Result<bool> HasExtension(const GlobalFunctions& functions, std::string_view name) {
  uint32_t count = 0;
  TRY(Check(functions.EnumerateInstanceExtensionProperties(nullptr, &count, nullptr),
            "listing extensions"));
  std::vector<VkExtensionProperties> extensions(count);
  TRY(Check(functions.EnumerateInstanceExtensionProperties(nullptr, &count, extensions.data()),
            "listing extensions"));
  return std::any_of(extensions.begin(), extensions.begin() + count,
                     [&](const auto& extension) { return extension.extensionName == name; });
}

VKAPI_ATTR VkBool32 VKAPI_CALL Report(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                      VkDebugUtilsMessageTypeFlagsEXT,
                                      const VkDebugUtilsMessengerCallbackDataEXT* data,
                                      void* user) {
  static_cast<const InstanceOptions*>(user)->on_validation(data->pMessage);
  return VK_FALSE;
}

}  // namespace

Result<std::shared_ptr<Instance>> Instance::Create(const Library& library,
                                                   InstanceOptions options) {
  // tidy: allow(ownership) the constructor is private
  std::shared_ptr<Instance> instance(new Instance(std::move(options)));
  TRY(instance->Start(library));
  return instance;
}

Status Instance::Start(const Library& library) {
  const ExactFloatMode mode;  // a driver's threads keep the mode of the thread that starts them
  const GlobalFunctions global = TRY(LoadGlobalFunctions(library));
  VkApplicationInfo application{};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.pApplicationName = "aster";
  application.apiVersion = VK_API_VERSION_1_3;
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;
  std::vector<const char*> extensions;
  if (TRY(HasExtension(global, kPortability))) {
    extensions.push_back(kPortability);
    info.flags |= VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
  }
  const bool validate = options_.on_validation && TRY(HasLayer(global, kValidationLayer));
  if (validate) {
    extensions.push_back(kDebugUtils);
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &kValidationLayer;
  }
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  TRY(Check(global.CreateInstance(&info, nullptr, &instance_), "starting Vulkan"));
  // First loads the function that the destructor needs.
  functions_.DestroyInstance = reinterpret_cast<PFN_vkDestroyInstance>(
      library.get_instance_proc_addr(instance_, "vkDestroyInstance"));
  functions_ = TRY(LoadInstanceFunctions(library, instance_));
  return validate ? WatchValidation() : Ok();
}

Status Instance::WatchValidation() {
  VkDebugUtilsMessengerCreateInfoEXT info{};
  info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
  info.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                         VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                     VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
  info.pfnUserCallback = Report;
  info.pUserData = const_cast<InstanceOptions*>(&options_);
  return Check(functions_.CreateDebugUtilsMessengerEXT(instance_, &info, nullptr, &messenger_),
               "watching the validation layer");
}

Instance::~Instance() {
  if (messenger_ != VK_NULL_HANDLE)
    functions_.DestroyDebugUtilsMessengerEXT(instance_, messenger_, nullptr);
  if (functions_.DestroyInstance != nullptr) functions_.DestroyInstance(instance_, nullptr);
}

Result<std::vector<VkPhysicalDevice>> Instance::PhysicalDevices() const {
  uint32_t count = 0;
  TRY(Check(functions_.EnumeratePhysicalDevices(instance_, &count, nullptr), "listing devices"));
  std::vector<VkPhysicalDevice> devices(count);
  // There may be fewer now, if one was removed in between.
  TRY(Check(functions_.EnumeratePhysicalDevices(instance_, &count, devices.data()),
            "listing devices"));
  devices.resize(count);
  return devices;
}

}  // namespace aster::vulkan
