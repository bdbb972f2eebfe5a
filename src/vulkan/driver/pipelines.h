// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Pipelines of shaders, each made once for every set of constants. Must not know what they compute.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "vulkan/driver/device.h"
#include "vulkan/driver/spirv.h"

namespace aster::vulkan {

// The words of a shader by its name; empty if there is none of that name.
using ShaderSource = std::function<std::span<const uint32_t>(std::string_view name)>;

struct Pipeline {
  VkPipeline pipeline;
  VkPipelineLayout layout;
};

// How every shader of a device computes, as the self-check has found.
struct Arithmetic {
  bool native_fma = false;       // else it is made of integer operations
  bool flush_in_shader = false;  // denormals become zero by comparing
  bool flush_by_mode = false;    // … by an execution mode
  bool dot_products = false;     // of four bytes, by an instruction

  friend bool operator==(const Arithmetic&, const Arithmetic&) = default;
};

// Not for concurrent use. Outlived by its device; pipelines live as long as this.
class Pipelines {
 public:
  Pipelines(Device& device, ShaderSource source, Arithmetic arithmetic)
      : device_(device), source_(std::move(source)), arithmetic_(arithmetic) {}
  ~Pipelines();
  Pipelines(const Pipelines&) = delete;
  Pipelines& operator=(const Pipelines&) = delete;

  const Arithmetic& arithmetic() const { return arithmetic_; }
  Device& device() { return device_; }

  // Specialisation constants are numbered from kFirstConstant; the two before are the arithmetic.
  static constexpr uint32_t kFirstConstant = 2;
  // `subgroup`: invocations of a subgroup, for shaders with cooperative matrices (MatrixTile).
  Result<Pipeline> Get(std::string_view shader, std::initializer_list<uint32_t> constants = {},
                       uint32_t subgroup = 0);

 private:
  using Key = std::pair<std::string, std::vector<uint32_t>>;

  Status MakeLayout();
  Result<VkPipeline> Make(std::string_view shader, const std::vector<uint32_t>& constants,
                          uint32_t subgroup);
  Result<VkPipeline> Compile(VkShaderModule module, const std::vector<uint32_t>& constants,
                             uint32_t subgroup);

  Device& device_;
  const ShaderSource source_;
  const Arithmetic arithmetic_;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;  // of every shader: push constants only
  std::map<Key, VkPipeline> pipelines_;
};

}  // namespace aster::vulkan
