// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/driver/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/float_mode.h"
#include "vulkan/driver/errors.h"

namespace aster::vulkan {

Result<std::unique_ptr<Device>> Device::Open(std::shared_ptr<const Instance> instance,
                                             VkPhysicalDevice physical) {
  DeviceTraits traits = TRY(ReadTraits(instance->functions(), physical));
  if (const auto why = WhyUnfit(traits))
    return FailedPrecondition(fmt::format("{} cannot be used: {}", traits.name, *why));
  // tidy: allow(ownership) the constructor is private
  std::unique_ptr<Device> device(new Device(std::move(instance), physical, std::move(traits)));
  TRY(device->Start());
  return device;
}

Device::Device(std::shared_ptr<const Instance> instance, VkPhysicalDevice physical,
               DeviceTraits traits)
    : instance_(std::move(instance)), physical_(physical), traits_(std::move(traits)) {}

Status Device::Start() {
  const ExactFloatMode mode;  // a driver's threads keep the mode of the thread that starts them
  TRY(MakeDevice());
  functions_.GetDeviceQueue(device_, *traits_.queue_family, 0, &queue_);
  VkSemaphoreTypeCreateInfo type{};
  type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
  info.pNext = &type;
  return Check(functions_.CreateSemaphore(device_, &info, nullptr, &finished_),
               "making a semaphore");
}

Status Device::MakeDevice() {
  const float priority = 1.0f;
  VkDeviceQueueCreateInfo queue{};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueFamilyIndex = *traits_.queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkPhysicalDeviceVulkan12Features features{};
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  features.bufferDeviceAddress = VK_TRUE;
  features.timelineSemaphore = VK_TRUE;
  features.shaderFloat16 = traits_.shader_float16 ? VK_TRUE : VK_FALSE;  // bench/gpu_peaks
  VkPhysicalDeviceShaderIntegerDotProductFeatures dots{};
  dots.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES;
  dots.shaderIntegerDotProduct = VK_TRUE;
  if (traits_.dot_products) features.pNext = &dots;
  VkPhysicalDeviceSubgroupSizeControlFeatures subgroups{};
  subgroups.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES;
  subgroups.subgroupSizeControl = VK_TRUE;
  subgroups.computeFullSubgroups = VK_TRUE;
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrices{};
  matrices.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR;
  matrices.cooperativeMatrix = VK_TRUE;
  std::vector<const char*> extensions;
  if (traits_.matrix) {
    features.vulkanMemoryModel = VK_TRUE;
    features.vulkanMemoryModelDeviceScope = VK_TRUE;  // of all atomic operations in other shaders
    features.shaderInt8 = VK_TRUE;
    subgroups.pNext = features.pNext;
    matrices.pNext = &subgroups;
    features.pNext = &matrices;
    extensions.push_back("VK_KHR_cooperative_matrix");
  }
  if (traits_.memory_budget) extensions.push_back("VK_EXT_memory_budget");
  if (traits_.portability_subset) extensions.push_back("VK_KHR_portability_subset");
  VkDeviceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = &features;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  const InstanceFunctions& functions = instance_->functions();
  TRY(Check(functions.CreateDevice(physical_, &info, nullptr, &device_), "opening the device"));
  // First loads the function that the destructor needs.
  functions_.DestroyDevice = reinterpret_cast<PFN_vkDestroyDevice>(
      functions.GetDeviceProcAddr(device_, "vkDestroyDevice"));
  functions_ = TRY(LoadDeviceFunctions(functions, device_));
  return Ok();
}

Device::~Device() {
  if (functions_.DestroyDevice == nullptr) return;
  Settle();
  if (times_ != nullptr) fmt::print(stderr, "{}\n{}", traits_.name, times_->Table());
  if (finished_ != VK_NULL_HANDLE) functions_.DestroySemaphore(device_, finished_, nullptr);
  functions_.DestroyDevice(device_, nullptr);
}

uint64_t Device::AvailableBytes() const {
  return vulkan::AvailableBytes(instance_->functions(), physical_, traits_);
}

Status Device::Check(VkResult result, std::string_view doing) {
  if (result == VK_ERROR_DEVICE_LOST) lost_ = true;
  return vulkan::Check(result, doing).In(traits_.name);
}

Result<uint64_t> Device::Submit(std::span<const VkCommandBuffer> commands) {
  const ExactFloatMode mode;  // drivers on the processor may compute here
  constexpr const char* kDoing = "starting work";
  TRY(CheckLost(kDoing));
  const uint64_t number = submitted_ + 1;
  VkTimelineSemaphoreSubmitInfo values{};
  values.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
  values.signalSemaphoreValueCount = 1;
  values.pSignalSemaphoreValues = &number;
  VkSubmitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  info.pNext = &values;
  info.commandBufferCount = static_cast<uint32_t>(commands.size());
  info.pCommandBuffers = commands.data();
  info.signalSemaphoreCount = 1;
  info.pSignalSemaphores = &finished_;
  TRY(Check(functions_.QueueSubmit(queue_, 1, &info, VK_NULL_HANDLE), kDoing));
  submitted_ = number;
  return number;
}

Result<bool> Device::HasFinished(uint64_t submission) {
  constexpr const char* kDoing = "asking for work";
  TRY(CheckLost(kDoing));
  uint64_t finished = 0;
  TRY(Check(functions_.GetSemaphoreCounterValue(device_, finished_, &finished), kDoing));
  awaited_ = std::max(awaited_, finished);
  return submission <= awaited_;
}

Status Device::Wait(uint64_t submission, int64_t timeout_ns) {
  constexpr const char* kDoing = "waiting for work";
  TRY(CheckLost(kDoing));
  VkSemaphoreWaitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
  info.semaphoreCount = 1;
  info.pSemaphores = &finished_;
  info.pValues = &submission;
  TRY(Check(functions_.WaitSemaphores(device_, &info, static_cast<uint64_t>(timeout_ns)), kDoing));
  awaited_ = std::max(awaited_, submission);
  return Ok();
}

void Device::Settle() {
  if (awaited_ != submitted_) functions_.DeviceWaitIdle(device_);
  awaited_ = submitted_;
}

}  // namespace aster::vulkan
