// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/gpu.h"

#include <fmt/format.h>

#include <utility>

#include "vulkan/backend/backend.h"
#include "vulkan/check/self_check.h"
#include "vulkan/driver/instance.h"
#include "vulkan/driver/shaders.h"

namespace aster::vulkan {
namespace {

class OpenedGpu final : public Gpu {
 public:
  OpenedGpu(std::unique_ptr<Device> device, std::unique_ptr<Kernels> kernels,
            compute::Context& host)
      : device_(std::move(device)), kernels_(std::move(kernels)), backend_(*kernels_, host) {}

  compute::Backend& backend() override { return backend_; }
  const std::string& name() const override { return device_->traits().name; }
  uint64_t available_bytes() const override { return device_->AvailableBytes(); }
  bool shares_memory() const override { return device_->traits().unified(); }
  bool lost() const override { return device_->lost() || backend_.lost(); }

 private:
  const std::unique_ptr<Device> device_;
  const std::unique_ptr<Kernels> kernels_;
  DeviceBackend backend_;
};

Result<std::unique_ptr<Gpu>> Open(const std::shared_ptr<Instance>& instance,
                                  VkPhysicalDevice physical, const KernelUse& use,
                                  compute::Context& host) {
  auto device = TRY(Device::Open(instance, physical));
  auto kernels = TRY(OpenCheckedKernels(*device, BuiltInShader, use));
  return std::make_unique<OpenedGpu>(std::move(device), std::move(kernels), host);
}

// Opens the first suitable device that is not a driver on the processor.
Result<std::unique_ptr<Gpu>> OpenFirst(const std::shared_ptr<Instance>& instance,
                                       std::span<const VkPhysicalDevice> devices,
                                       const KernelUse& use, compute::Context& host) {
  Error why = NotFound("this machine has no GPU");
  for (const VkPhysicalDevice physical : devices) {
    const DeviceTraits traits = TRY(ReadTraits(instance->functions(), physical));
    if (traits.type == VK_PHYSICAL_DEVICE_TYPE_CPU) continue;
    auto gpu = Open(instance, physical, use, host);
    if (gpu.ok()) return gpu;
    why = std::move(gpu).error();
  }
  return why;
}

// A failure to list devices counts as NotFound; Unavailable is only for a device that was listed.
Result<std::vector<VkPhysicalDevice>> PhysicalDevicesOf(std::shared_ptr<Instance>& instance) {
  const auto list = [&]() -> Result<std::vector<VkPhysicalDevice>> {
    instance = TRY(Instance::Create(TRY(Library::Open())));
    return instance->PhysicalDevices();
  };
  auto devices = list();
  if (devices.ok() || devices.error().code() != Code::kUnavailable) return devices;
  return NotFound(devices.error().message());
}

}  // namespace

Result<std::unique_ptr<Gpu>> OpenGpu(const GpuChoice& choice, const KernelUse& use,
                                     compute::Context& host) {
  if (choice.kind == GpuChoice::Kind::kOff) return NotFound("ASTER_GPU=off");
  std::shared_ptr<Instance> instance;
  const std::vector<VkPhysicalDevice> devices = TRY(PhysicalDevicesOf(instance));
  if (choice.kind == GpuChoice::Kind::kAuto) return OpenFirst(instance, devices, use, host);
  if (choice.index >= devices.size()) {
    return NotFound(
        fmt::format("there is no GPU {}; `aster devices` lists the GPUs", choice.index));
  }
  return Open(instance, devices[choice.index], use, host);
}

}  // namespace aster::vulkan
