// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/driver/commands.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"

namespace aster::vulkan {

Result<Commands> Commands::Create(Device& device) {
  Commands commands;
  commands.device_ = &device;
  const DeviceFunctions& functions = device.functions();
  VkCommandPoolCreateInfo pool{};
  pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool.queueFamilyIndex = *device.traits().queue_family;
  TRY(device.Check(functions.CreateCommandPool(device.handle(), &pool, nullptr, &commands.pool_),
                   "making a command pool"));
  VkCommandBufferAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  info.commandPool = commands.pool_;
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = 1;
  TRY(device.Check(functions.AllocateCommandBuffers(device.handle(), &info, &commands.commands_),
                   "making a command buffer"));
  if (device.times() != nullptr) commands.marks_ = TRY(TimeMarks::Create(device));
  return commands;
}

Commands& Commands::operator=(Commands&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(pool_, other.pool_);
  std::swap(commands_, other.commands_);
  std::swap(dispatches_, other.dispatches_);
  std::swap(marks_, other.marks_);
  return *this;
}

Commands::~Commands() {
  if (device_ == nullptr) return;
  device_->Settle();
  if (marks_ != nullptr) static_cast<void>(marks_->Collect());
  marks_.reset();
  device_->functions().DestroyCommandPool(device_->handle(), pool_, nullptr);
}

Status Commands::Begin() {
  const DeviceFunctions& functions = device_->functions();
  TRY(device_->Check(functions.ResetCommandBuffer(commands_, 0), "recording work"));
  VkCommandBufferBeginInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  TRY(device_->Check(functions.BeginCommandBuffer(commands_, &info), "recording work"));
  dispatches_ = 0;
  if (marks_ == nullptr) return Ok();
  TRY(marks_->Begin(commands_));
  if (!TimesKernels()) marks_->Start(commands_);
  return Ok();
}

bool Commands::TimesKernels() const {
  return marks_ != nullptr && device_->times()->detail() == KernelTimes::Detail::kKernels;
}

void Commands::Dispatch(const Pipeline& pipeline, std::span<const uint8_t> push, GroupCount groups,
                        std::string_view kernel) {
  CHECK(push.size() <= kPushConstantBytes && push.size() % 4 == 0);
  if (groups.x == 0 || groups.y == 0 || groups.z == 0) return;
  const DeviceFunctions& functions = device_->functions();
  functions.CmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.pipeline);
  functions.CmdPushConstants(commands_, pipeline.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                             static_cast<uint32_t>(push.size()), push.data());
  ++dispatches_;
  if (TimesKernels()) {
    Barrier();
    marks_->Start(commands_);
  }
  functions.CmdDispatch(commands_, groups.x, groups.y, groups.z);
  if (TimesKernels()) {
    Barrier();
    marks_->Stop(commands_, fmt::format("{} {} x {}", kernel, groups.x, groups.y));
  }
}

void Commands::Copy(const Buffer& from, uint64_t from_offset, const Buffer& to, uint64_t to_offset,
                    uint64_t bytes) {
  CHECK(from_offset + bytes <= from.bytes() && to_offset + bytes <= to.bytes());
  if (bytes == 0) return;
  const VkBufferCopy region{from_offset, to_offset, bytes};
  device_->functions().CmdCopyBuffer(commands_, from.handle(), to.handle(), 1, &region);
}

void Commands::Clear(const Buffer& buffer, uint64_t offset, uint64_t bytes) {
  CHECK(offset + bytes <= buffer.bytes());
  if (bytes == 0) return;
  device_->functions().CmdFillBuffer(commands_, buffer.handle(), offset, bytes, 0);
}

void Commands::Barrier() {
  BarrierBehind(VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
}

void Commands::CopyBarrier() {
  BarrierBehind(VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT);
}

void Commands::BarrierBehind(VkPipelineStageFlags stages, VkAccessFlags writes) {
  VkMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = writes;
  barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                          VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  device_->functions().CmdPipelineBarrier(
      commands_, stages, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT, 0,
      1, &barrier, 0, nullptr, 0, nullptr);
}

Status Commands::End() {
  if (marks_ != nullptr && !TimesKernels())
    marks_->Stop(commands_, fmt::format("batch of {} kernels", dispatches_));
  const DeviceFunctions& functions = device_->functions();
  VkMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
  functions.CmdPipelineBarrier(
      commands_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
      VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, nullptr, 0, nullptr);
  return device_->Check(functions.EndCommandBuffer(commands_), "recording work");
}

Status Commands::Run(int64_t timeout_ns) {
  return device_->Wait(TRY(device_->Submit(commands_)), timeout_ns);
}

}  // namespace aster::vulkan
