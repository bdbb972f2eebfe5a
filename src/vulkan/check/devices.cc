// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/devices.h"

#include <memory>
#include <utility>

#include "vulkan/check/self_check.h"
#include "vulkan/driver/device.h"
#include "vulkan/driver/instance.h"
#include "vulkan/driver/shaders.h"

namespace aster::vulkan {
namespace {

std::string KindOf(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return "discrete";
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return "integrated";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return "virtual";
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return "processor";
    default:
      return "other";
  }
}

DeviceInfo InfoOf(const DeviceTraits& traits, uint32_t index) {
  DeviceInfo info{};
  info.index = index;
  info.name = traits.name;
  info.driver = traits.driver;
  info.kind = KindOf(traits.type);
  info.unified = traits.unified();
  info.memory_bytes = traits.device_heap_bytes;
  info.halves = traits.shader_float16;
  info.matrices = traits.cooperative_matrix;
  info.why_no_matrices = "the self-check did not come so far";
  return info;
}

// Opens the device and checks all of its kernels. Fills in `info` up to the first error.
Status CheckDevice(const std::shared_ptr<Instance>& instance, VkPhysicalDevice physical,
                   DeviceInfo& info) {
  const auto device = TRY(Device::Open(instance, physical));
  const auto kernels = TRY(OpenCheckedKernels(*device, BuiltInShader, KernelUse::All()));
  const Arithmetic& arithmetic = kernels->arithmetic();
  info.native_fma = arithmetic.native_fma;
  info.flushes_denormals = !arithmetic.flush_in_shader;
  info.dot_products = arithmetic.dot_products;
  info.why_no_matrices = kernels->why_no_matrices();
  return Ok();
}

bool MayBeUsed(DeviceInfo info, std::span<const GpuChoice> choices) {
  ChooseDevices({&info, 1}, choices);
  return info.why_not_used.empty();
}

}  // namespace

Result<std::vector<DeviceInfo>> ListDevices(std::span<const GpuChoice> choices) {
  const auto instance = TRY(Instance::Create(TRY(Library::Open())));
  std::vector<DeviceInfo> devices;
  for (const VkPhysicalDevice physical : TRY(instance->PhysicalDevices())) {
    const DeviceTraits traits = TRY(ReadTraits(instance->functions(), physical));
    DeviceInfo info = InfoOf(traits, static_cast<uint32_t>(devices.size()));
    info.available_bytes = AvailableBytes(instance->functions(), physical, traits);
    info.checked = MayBeUsed(info, choices);
    if (info.checked) {
      const Status status = CheckDevice(instance, physical, info);
      if (!status.ok()) info.why_not_used = status.error().message();
    }
    devices.push_back(std::move(info));
  }
  ChooseDevices(devices, choices);
  return devices;
}

}  // namespace aster::vulkan
