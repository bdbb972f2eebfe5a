// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/driver/buffer.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/check.h"
#include "base/units.h"

namespace aster::vulkan {
namespace {

constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr VkMemoryPropertyFlags kMapped =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags kCached = kMapped | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;

// The properties that memory of a kind should have, the best first. The last is always there.
std::array<VkMemoryPropertyFlags, 2> Wanted(MemoryKind kind, bool unified) {
  switch (kind) {
    case MemoryKind::kDevice:
      return {unified ? kLocal | kMapped : kLocal, kLocal};
    case MemoryKind::kUpload:
      return {kMapped, kMapped};
    case MemoryKind::kDownload:
      return {kCached, kMapped};
  }
  return {};
}

// The first type that a resource may use (`allowed`, a bit each) and that has the properties.
const MemoryType* Choose(const DeviceTraits& traits, MemoryKind kind, uint32_t allowed) {
  for (const VkMemoryPropertyFlags flags : Wanted(kind, traits.unified())) {
    for (const MemoryType& type : traits.memory_types) {
      if ((allowed >> type.index & 1) != 0 && (type.flags & flags) == flags) return &type;
    }
  }
  return nullptr;
}

}  // namespace

Result<Buffer> Buffer::Allocate(Device& device, uint64_t bytes, MemoryKind kind) {
  CHECK(bytes > 0);
  Buffer buffer;
  buffer.device_ = &device;
  buffer.bytes_ = bytes;
  const std::string doing = fmt::format("allocating {}", FormatBytes(bytes));
  VkBufferCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.size = bytes;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
               VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
               VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT;
  TRY(device.Check(
      device.functions().CreateBuffer(device.handle(), &info, nullptr, &buffer.buffer_), doing));
  TRY(buffer.AllocateMemory(kind).In(doing));
  return buffer;
}

Status Buffer::AllocateMemory(MemoryKind kind) {
  const DeviceFunctions& functions = device_->functions();
  VkMemoryRequirements needs{};
  functions.GetBufferMemoryRequirements(device_->handle(), buffer_, &needs);
  if (needs.size > device_->traits().max_allocation_bytes) {
    return ResourceExhausted(fmt::format("{} allocates at most {} in one piece",
                                         device_->traits().name,
                                         FormatBytes(device_->traits().max_allocation_bytes)));
  }
  const MemoryType* const type = Choose(device_->traits(), kind, needs.memoryTypeBits);
  if (type == nullptr)
    return Unimplemented(fmt::format("{} has no fitting memory", device_->traits().name));
  VkMemoryAllocateFlagsInfo flags{};
  flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  VkMemoryAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  info.pNext = &flags;
  info.allocationSize = needs.size;
  info.memoryTypeIndex = type->index;
  TRY(device_->Check(functions.AllocateMemory(device_->handle(), &info, nullptr, &memory_),
                     "allocating memory"));
  TRY(device_->Check(functions.BindBufferMemory(device_->handle(), buffer_, memory_, 0),
                     "binding memory"));
  if ((type->flags & kMapped) == kMapped &&
      (kind != MemoryKind::kDevice || device_->traits().unified())) {
    void* data = nullptr;
    TRY(device_->Check(functions.MapMemory(device_->handle(), memory_, 0, VK_WHOLE_SIZE, 0, &data),
                       "mapping memory"));
    data_ = static_cast<uint8_t*>(data);
  }
  VkBufferDeviceAddressInfo address{};
  address.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
  address.buffer = buffer_;
  address_ = functions.GetBufferDeviceAddress(device_->handle(), &address);
  return Ok();
}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(buffer_, other.buffer_);
  std::swap(memory_, other.memory_);
  std::swap(bytes_, other.bytes_);
  std::swap(address_, other.address_);
  std::swap(data_, other.data_);
  return *this;
}

Buffer::~Buffer() {
  if (device_ == nullptr) return;
  device_->Settle();
  const DeviceFunctions& functions = device_->functions();
  // Memory that is freed is unmapped.
  functions.DestroyBuffer(device_->handle(), buffer_, nullptr);
  functions.FreeMemory(device_->handle(), memory_, nullptr);
}

}  // namespace aster::vulkan
