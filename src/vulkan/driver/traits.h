// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The properties of a physical device, and whether they meet the requirements. Plain data, so that
// tests can invent devices. Must not know logical devices or kernels.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "vulkan/driver/functions.h"

namespace aster::vulkan {

// Bytes of shared memory that the shaders require.
inline constexpr uint32_t kSharedMemoryBytes = 32 * 1024;
// Bytes of push constants: the minimum that Vulkan guarantees.
inline constexpr uint32_t kPushConstantBytes = 128;
// Invocations of a workgroup that the shaders use: twice the minimum that Vulkan guarantees.
inline constexpr uint32_t kWorkgroupInvocations = 256;

struct MemoryType {
  uint32_t index;
  uint32_t heap;
  VkMemoryPropertyFlags flags;
};

// How a device multiplies bytes by cooperative matrices (VK_KHR_cooperative_matrix): a subgroup
// multiplies [outputs][columns] of weights with [columns][rows] of activations.
struct MatrixTile {
  uint32_t outputs;
  uint32_t rows;
  uint32_t columns;
  uint32_t subgroup;  // invocations

  friend bool operator==(const MatrixTile&, const MatrixTile&) = default;
};

struct DeviceTraits {
  std::string name;
  std::string driver;  // name and version, as the driver gives them
  VkPhysicalDeviceType type = VK_PHYSICAL_DEVICE_TYPE_OTHER;
  uint32_t api_version = 0;
  std::optional<uint32_t> queue_family;  // the first for compute

  // Required.
  bool rounds_to_even = false;         // execution mode RoundingModeRTE for 32 bits
  bool keeps_special_values = false;   // execution mode SignedZeroInfNanPreserve for 32 bits
  bool buffer_device_address = false;  // shaders can use addresses of buffers
  bool timeline_semaphore = false;
  uint32_t shared_memory_bytes = 0;
  uint32_t push_constant_bytes = 0;
  uint32_t workgroup_invocations = 0;

  // Optional.
  bool flushes_denormals = false;  // execution mode DenormFlushToZero for 32 bits
  bool shader_int16 = false;
  bool shader_float16 = false;
  bool dot_products = false;         // of four signed bytes, by an instruction …
  bool fast_dot_products = false;    // … that is quicker than four products
  bool cooperative_matrix = false;   // the extension is listed
  std::optional<MatrixTile> matrix;  // the tile of bytes that is used, if there is a suitable one
  bool memory_budget = false;
  bool portability_subset = false;  // must be enabled if it is listed

  double timestamp_ns = 1;  // of a tick
  uint64_t max_allocation_bytes = 0;
  uint64_t device_heap_bytes = 0;  // of the heaps that are local to the device
  std::vector<MemoryType> memory_types;

  // Whether the host and the device share their memory.
  bool unified() const {
    return type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU || type == VK_PHYSICAL_DEVICE_TYPE_CPU;
  }
};

Result<DeviceTraits> ReadTraits(const InstanceFunctions& functions, VkPhysicalDevice device);

// The first requirement that the device does not meet, as "it has no …"; nothing if it meets all.
std::optional<std::string> WhyUnfit(const DeviceTraits& traits);

// The largest tile of signed bytes, of those that a driver lists, that product_matrix.comp can use.
std::optional<MatrixTile> ChooseTile(std::span<const VkCooperativeMatrixPropertiesKHR> listed,
                                     uint32_t subgroup);

// Bytes of device memory that can be allocated now: the driver's budget if there is one, else all
// of the heaps.
uint64_t AvailableBytes(const InstanceFunctions& functions, VkPhysicalDevice device,
                        const DeviceTraits& traits);

}  // namespace aster::vulkan
