// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Vulkan's functions as tables of pointers. The loader library is opened at run time, so machines
// without one can run the program. Tests fill the tables through a Library whose lookup returns
// their own functions. The only header that includes Vulkan's; must not know what the functions are
// used for.
#pragma once

#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <vulkan/vulkan.h>

#include "base/result.h"

// VK_KHR_cooperative_matrix for older headers without it, with its names and numbers.
#ifndef VK_KHR_cooperative_matrix
#define VK_KHR_cooperative_matrix 1
inline constexpr auto VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR =
    static_cast<VkStructureType>(1000506000);
inline constexpr auto VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR =
    static_cast<VkStructureType>(1000506001);
inline constexpr auto VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_PROPERTIES_KHR =
    static_cast<VkStructureType>(1000506002);
enum VkComponentTypeKHR : int32_t {
  VK_COMPONENT_TYPE_SINT8_KHR = 3,
  VK_COMPONENT_TYPE_SINT32_KHR = 5
};
enum VkScopeKHR : int32_t { VK_SCOPE_SUBGROUP_KHR = 3 };
struct VkCooperativeMatrixPropertiesKHR {
  VkStructureType sType;
  void* pNext;
  uint32_t MSize;
  uint32_t NSize;
  uint32_t KSize;
  VkComponentTypeKHR AType;
  VkComponentTypeKHR BType;
  VkComponentTypeKHR CType;
  VkComponentTypeKHR ResultType;
  VkBool32 saturatingAccumulation;
  VkScopeKHR scope;
};
struct VkPhysicalDeviceCooperativeMatrixFeaturesKHR {
  VkStructureType sType;
  void* pNext;
  VkBool32 cooperativeMatrix;
  VkBool32 cooperativeMatrixRobustBufferAccess;
};
struct VkPhysicalDeviceCooperativeMatrixPropertiesKHR {
  VkStructureType sType;
  void* pNext;
  VkShaderStageFlags cooperativeMatrixSupportedStages;
};
using PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR =
    VkResult(VKAPI_PTR*)(VkPhysicalDevice, uint32_t*, VkCooperativeMatrixPropertiesKHR*);
#endif

namespace aster::vulkan {

// The lookup of all other functions.
struct Library {
  PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;

  // NotFound if the system has no Vulkan. The library is never unloaded, as drivers leave threads
  // and destructors behind.
  static Result<Library> Open();
};

#define ASTER_VULKAN_GLOBAL_FUNCTIONS(X)  \
  X(CreateInstance)                       \
  X(EnumerateInstanceExtensionProperties) \
  X(EnumerateInstanceLayerProperties)     \
  X(EnumerateInstanceVersion)

#define ASTER_VULKAN_INSTANCE_FUNCTIONS(X) \
  X(CreateDevice)                          \
  X(DestroyInstance)                       \
  X(EnumerateDeviceExtensionProperties)    \
  X(EnumeratePhysicalDevices)              \
  X(GetDeviceProcAddr)                     \
  X(GetPhysicalDeviceFeatures2)            \
  X(GetPhysicalDeviceMemoryProperties2)    \
  X(GetPhysicalDeviceProperties2)          \
  X(GetPhysicalDeviceQueueFamilyProperties)

#define ASTER_VULKAN_DEVICE_FUNCTIONS(X) \
  X(AllocateCommandBuffers)              \
  X(AllocateMemory)                      \
  X(BeginCommandBuffer)                  \
  X(BindBufferMemory)                    \
  X(CmdBindPipeline)                     \
  X(CmdCopyBuffer)                       \
  X(CmdDispatch)                         \
  X(CmdFillBuffer)                       \
  X(CmdPipelineBarrier)                  \
  X(CmdPushConstants)                    \
  X(CmdResetQueryPool)                   \
  X(CmdWriteTimestamp)                   \
  X(CreateBuffer)                        \
  X(CreateCommandPool)                   \
  X(CreateComputePipelines)              \
  X(CreatePipelineLayout)                \
  X(CreateQueryPool)                     \
  X(CreateSemaphore)                     \
  X(CreateShaderModule)                  \
  X(DestroyBuffer)                       \
  X(DestroyCommandPool)                  \
  X(DestroyDevice)                       \
  X(DestroyPipeline)                     \
  X(DestroyPipelineLayout)               \
  X(DestroyQueryPool)                    \
  X(DestroySemaphore)                    \
  X(DestroyShaderModule)                 \
  X(DeviceWaitIdle)                      \
  X(EndCommandBuffer)                    \
  X(FreeMemory)                          \
  X(GetBufferDeviceAddress)              \
  X(GetBufferMemoryRequirements)         \
  X(GetDeviceQueue)                      \
  X(GetQueryPoolResults)                 \
  X(GetSemaphoreCounterValue)            \
  X(MapMemory)                           \
  X(QueueSubmit)                         \
  X(ResetCommandBuffer)                  \
  X(WaitSemaphores)

#define ASTER_VULKAN_MEMBER(name) PFN_vk##name name = nullptr;
struct GlobalFunctions {
  ASTER_VULKAN_GLOBAL_FUNCTIONS(ASTER_VULKAN_MEMBER)
};
struct InstanceFunctions {
  ASTER_VULKAN_INSTANCE_FUNCTIONS(ASTER_VULKAN_MEMBER)
  // Of VK_EXT_debug_utils; null without validation.
  PFN_vkCreateDebugUtilsMessengerEXT CreateDebugUtilsMessengerEXT = nullptr;
  PFN_vkDestroyDebugUtilsMessengerEXT DestroyDebugUtilsMessengerEXT = nullptr;
  // Of VK_KHR_cooperative_matrix; null if no driver has it.
  PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR
      GetPhysicalDeviceCooperativeMatrixPropertiesKHR = nullptr;
};
struct DeviceFunctions {
  ASTER_VULKAN_DEVICE_FUNCTIONS(ASTER_VULKAN_MEMBER)
};
#undef ASTER_VULKAN_MEMBER

// An error names the function that the driver lacks.
Result<GlobalFunctions> LoadGlobalFunctions(const Library& library);
Result<InstanceFunctions> LoadInstanceFunctions(const Library& library, VkInstance instance);
Result<DeviceFunctions> LoadDeviceFunctions(const InstanceFunctions& instance, VkDevice device);

}  // namespace aster::vulkan
