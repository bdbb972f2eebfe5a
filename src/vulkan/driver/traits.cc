// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/driver/traits.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/units.h"
#include "vulkan/driver/errors.h"

namespace aster::vulkan {
namespace {

class Extensions {
 public:
  static Result<Extensions> Read(const InstanceFunctions& functions, VkPhysicalDevice device) {
    const auto enumerate = [&](uint32_t* count, VkExtensionProperties* list) {
      return functions.EnumerateDeviceExtensionProperties(device, nullptr, count, list);
    };
    uint32_t count = 0;
    TRY(Check(enumerate(&count, nullptr), "listing a device's extensions"));
    Extensions extensions;
    extensions.list_.resize(count);
    TRY(Check(enumerate(&count, extensions.list_.data()), "listing a device's extensions"));
    extensions.list_.resize(count);
    return extensions;
  }

  bool Has(std::string_view name) const {
    return std::any_of(list_.begin(), list_.end(),
                       [&](const auto& extension) { return extension.extensionName == name; });
  }

 private:
  std::vector<VkExtensionProperties> list_;
};

void ReadProperties(const InstanceFunctions& functions, VkPhysicalDevice device,
                    DeviceTraits& traits) {
  VkPhysicalDeviceVulkan11Properties properties11{};
  properties11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES;
  VkPhysicalDeviceVulkan12Properties properties12{};
  properties12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES;
  properties12.pNext = &properties11;
  VkPhysicalDeviceProperties2 properties{};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  // Version 1.1 ignores the structures above.
  functions.GetPhysicalDeviceProperties2(device, &properties);
  if (properties.properties.apiVersion >= VK_API_VERSION_1_2) {
    properties.pNext = &properties12;
    functions.GetPhysicalDeviceProperties2(device, &properties);
  }
  const VkPhysicalDeviceLimits& limits = properties.properties.limits;
  traits.name = properties.properties.deviceName;
  traits.driver = fmt::format("{} {}", properties12.driverName, properties12.driverInfo);
  traits.type = properties.properties.deviceType;
  traits.api_version = properties.properties.apiVersion;
  traits.shared_memory_bytes = limits.maxComputeSharedMemorySize;
  traits.push_constant_bytes = limits.maxPushConstantsSize;
  traits.workgroup_invocations =
      std::min(limits.maxComputeWorkGroupInvocations, limits.maxComputeWorkGroupSize[0]);
  traits.rounds_to_even = properties12.shaderRoundingModeRTEFloat32 != 0;
  traits.keeps_special_values = properties12.shaderSignedZeroInfNanPreserveFloat32 != 0;
  traits.flushes_denormals = properties12.shaderDenormFlushToZeroFloat32 != 0;
  traits.timestamp_ns = limits.timestampPeriod;
  traits.max_allocation_bytes = properties11.maxMemoryAllocationSize;
}

void ReadFeatures(const InstanceFunctions& functions, VkPhysicalDevice device,
                  DeviceTraits& traits) {
  VkPhysicalDeviceVulkan12Features features12{};
  features12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  VkPhysicalDeviceFeatures2 features{};
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features.pNext = &features12;
  functions.GetPhysicalDeviceFeatures2(device, &features);
  traits.buffer_device_address = features12.bufferDeviceAddress != 0;
  traits.timeline_semaphore = features12.timelineSemaphore != 0;
  traits.shader_int16 = features.features.shaderInt16 != 0;
  traits.shader_float16 = features12.shaderFloat16 != 0;
}

void ReadDotProducts(const InstanceFunctions& functions, VkPhysicalDevice device,
                     DeviceTraits& traits) {
  VkPhysicalDeviceShaderIntegerDotProductFeatures has{};
  has.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES;
  VkPhysicalDeviceFeatures2 features{};
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features.pNext = &has;
  functions.GetPhysicalDeviceFeatures2(device, &features);
  VkPhysicalDeviceShaderIntegerDotProductProperties dots{};
  dots.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES;
  VkPhysicalDeviceProperties2 properties{};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  properties.pNext = &dots;
  functions.GetPhysicalDeviceProperties2(device, &properties);
  traits.dot_products = has.shaderIntegerDotProduct != 0;
  traits.fast_dot_products =
      traits.dot_products && dots.integerDotProduct4x8BitPackedSignedAccelerated != 0;
}

// Whether shaders can require full subgroups of this size.
bool HasSubgroupsOf(const InstanceFunctions& functions, VkPhysicalDevice device, uint32_t size) {
  VkPhysicalDeviceSubgroupSizeControlFeatures control{};
  control.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES;
  VkPhysicalDeviceFeatures2 features{};
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features.pNext = &control;
  functions.GetPhysicalDeviceFeatures2(device, &features);
  VkPhysicalDeviceSubgroupSizeControlProperties sizes{};
  sizes.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES;
  VkPhysicalDeviceProperties2 properties{};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  properties.pNext = &sizes;
  functions.GetPhysicalDeviceProperties2(device, &properties);
  return control.subgroupSizeControl != 0 && control.computeFullSubgroups != 0 &&
         (sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
         sizes.minSubgroupSize <= size && size <= sizes.maxSubgroupSize;
}

// Reads the tiles of cooperative matrices, and whether the device has all else that their shader
// needs.
Status ReadMatrices(const InstanceFunctions& functions, VkPhysicalDevice device,
                    DeviceTraits& traits) {
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR has{};
  has.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR;
  VkPhysicalDeviceVulkan12Features features12{};
  features12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  features12.pNext = &has;
  VkPhysicalDeviceFeatures2 features{};
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features.pNext = &features12;
  functions.GetPhysicalDeviceFeatures2(device, &features);
  if (has.cooperativeMatrix == 0 || features12.vulkanMemoryModel == 0 ||
      features12.vulkanMemoryModelDeviceScope == 0 || features12.shaderInt8 == 0)
    return Ok();
  VkPhysicalDeviceCooperativeMatrixPropertiesKHR matrices{};
  matrices.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_PROPERTIES_KHR;
  VkPhysicalDeviceSubgroupProperties subgroups{};
  subgroups.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES;
  subgroups.pNext = &matrices;
  VkPhysicalDeviceProperties2 properties{};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  properties.pNext = &subgroups;
  functions.GetPhysicalDeviceProperties2(device, &properties);
  if ((matrices.cooperativeMatrixSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) == 0) return Ok();
  const auto enumerate = functions.GetPhysicalDeviceCooperativeMatrixPropertiesKHR;
  constexpr const char* kDoing = "listing a device's matrices";
  uint32_t count = 0;
  TRY(Check(enumerate(device, &count, nullptr), kDoing));
  VkCooperativeMatrixPropertiesKHR empty{};
  empty.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR;
  std::vector<VkCooperativeMatrixPropertiesKHR> listed(count, empty);
  TRY(Check(enumerate(device, &count, listed.data()), kDoing));
  listed.resize(count);
  for (const uint32_t size : {subgroups.subgroupSize, 32u}) {
    if (!traits.matrix && HasSubgroupsOf(functions, device, size))
      traits.matrix = ChooseTile(listed, size);
  }
  return Ok();
}

void ReadQueues(const InstanceFunctions& functions, VkPhysicalDevice device, DeviceTraits& traits) {
  uint32_t count = 0;
  functions.GetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  functions.GetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  for (uint32_t i = 0; i < count; ++i) {
    if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) continue;
    traits.queue_family = i;
    return;
  }
}

void ReadMemory(const InstanceFunctions& functions, VkPhysicalDevice device, DeviceTraits& traits) {
  VkPhysicalDeviceMemoryProperties2 memory{};
  memory.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
  functions.GetPhysicalDeviceMemoryProperties2(device, &memory);
  const VkPhysicalDeviceMemoryProperties& all = memory.memoryProperties;
  for (uint32_t i = 0; i < all.memoryTypeCount; ++i)
    traits.memory_types.push_back(
        {i, all.memoryTypes[i].heapIndex, all.memoryTypes[i].propertyFlags});
  for (uint32_t i = 0; i < all.memoryHeapCount; ++i) {
    if ((all.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0)
      traits.device_heap_bytes += all.memoryHeaps[i].size;
  }
}

}  // namespace

Result<DeviceTraits> ReadTraits(const InstanceFunctions& functions, VkPhysicalDevice device) {
  DeviceTraits traits;
  ReadProperties(functions, device, traits);
  ReadQueues(functions, device, traits);
  ReadMemory(functions, device, traits);
  if (traits.api_version < VK_API_VERSION_1_2) return traits;
  ReadFeatures(functions, device, traits);
  const Extensions extensions = TRY(Extensions::Read(functions, device));
  traits.memory_budget = extensions.Has("VK_EXT_memory_budget");
  traits.portability_subset = extensions.Has("VK_KHR_portability_subset");
  traits.cooperative_matrix = extensions.Has("VK_KHR_cooperative_matrix");
  // Part of Vulkan since 1.3.
  if (traits.api_version >= VK_API_VERSION_1_3) {
    ReadDotProducts(functions, device, traits);
    if (traits.cooperative_matrix &&
        functions.GetPhysicalDeviceCooperativeMatrixPropertiesKHR != nullptr)
      TRY(ReadMatrices(functions, device, traits));
  }
  return traits;
}

std::optional<MatrixTile> ChooseTile(std::span<const VkCooperativeMatrixPropertiesKHR> listed,
                                     uint32_t subgroup) {
  // The shader's arrays have this many elements of a tile in an invocation, and its steps this many
  // columns.
  constexpr uint32_t kElements = 8;
  constexpr uint32_t kColumns = 32;
  std::optional<MatrixTile> best;
  for (const VkCooperativeMatrixPropertiesKHR& one : listed) {
    if (one.AType != VK_COMPONENT_TYPE_SINT8_KHR || one.BType != VK_COMPONENT_TYPE_SINT8_KHR ||
        one.CType != VK_COMPONENT_TYPE_SINT32_KHR ||
        one.ResultType != VK_COMPONENT_TYPE_SINT32_KHR || one.saturatingAccumulation != 0 ||
        one.scope != VK_SCOPE_SUBGROUP_KHR || one.MSize == 0 || one.NSize == 0 || one.KSize == 0)
      continue;
    const MatrixTile tile = {one.MSize, one.NSize, one.KSize, subgroup};
    if (tile.outputs * tile.rows != kElements * subgroup || tile.outputs > 16 || tile.rows > 16 ||
        kColumns % tile.columns != 0)
      continue;
    if (!best || tile.columns > best->columns) best = tile;
  }
  return best;
}

std::optional<std::string> WhyUnfit(const DeviceTraits& traits) {
  if (traits.api_version < VK_API_VERSION_1_2) {
    return fmt::format("it has Vulkan {}.{}; 1.2 is needed, perhaps from a newer driver",
                       VK_API_VERSION_MAJOR(traits.api_version),
                       VK_API_VERSION_MINOR(traits.api_version));
  }
  if (!traits.queue_family) return "it has no queue for computing";
  if (!traits.rounds_to_even) return "its driver does not promise rounding to the nearest float";
  if (!traits.keeps_special_values)
    return "its driver does not promise to keep infinities, NaN and the sign of zero";
  if (!traits.buffer_device_address) return "it has no buffer device addresses";
  if (!traits.timeline_semaphore) return "it has no timeline semaphores";
  if (traits.shared_memory_bytes < kSharedMemoryBytes) {
    return fmt::format("it has {} of shared memory; {} are needed",
                       FormatBytes(traits.shared_memory_bytes), FormatBytes(kSharedMemoryBytes));
  }
  if (traits.workgroup_invocations < kWorkgroupInvocations) {
    return fmt::format("its workgroups have {} invocations; {} are needed",
                       traits.workgroup_invocations, kWorkgroupInvocations);
  }
  if (traits.push_constant_bytes < kPushConstantBytes) {
    return fmt::format("it has {} bytes of push constants; {} are needed",
                       traits.push_constant_bytes, kPushConstantBytes);
  }
  return std::nullopt;
}

uint64_t AvailableBytes(const InstanceFunctions& functions, VkPhysicalDevice device,
                        const DeviceTraits& traits) {
  if (!traits.memory_budget) return traits.device_heap_bytes;
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{};
  budget.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT;
  VkPhysicalDeviceMemoryProperties2 memory{};
  memory.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
  memory.pNext = &budget;
  functions.GetPhysicalDeviceMemoryProperties2(device, &memory);
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < memory.memoryProperties.memoryHeapCount; ++i) {
    if ((memory.memoryProperties.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) == 0)
      continue;
    bytes += budget.heapBudget[i] - std::min(budget.heapBudget[i], budget.heapUsage[i]);
  }
  return bytes;
}

}  // namespace aster::vulkan
