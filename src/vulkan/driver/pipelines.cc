// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/driver/pipelines.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/float_mode.h"

namespace aster::vulkan {

Pipelines::~Pipelines() {
  device_.Settle();
  for (const auto& [key, pipeline] : pipelines_)
    device_.functions().DestroyPipeline(device_.handle(), pipeline, nullptr);
  if (layout_ != VK_NULL_HANDLE)
    device_.functions().DestroyPipelineLayout(device_.handle(), layout_, nullptr);
}

Result<Pipeline> Pipelines::Get(std::string_view shader, std::initializer_list<uint32_t> constants,
                                uint32_t subgroup) {
  if (layout_ == VK_NULL_HANDLE) TRY(MakeLayout());
  Key key{shader, constants};
  const auto found = pipelines_.find(key);
  if (found != pipelines_.end()) return Pipeline{found->second, layout_};
  const VkPipeline pipeline =
      TRY(Make(shader, key.second, subgroup).In(fmt::format("shader {}", shader)));
  pipelines_.emplace(std::move(key), pipeline);
  return Pipeline{pipeline, layout_};
}

Status Pipelines::MakeLayout() {
  const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, kPushConstantBytes};
  VkPipelineLayoutCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  info.pushConstantRangeCount = 1;
  info.pPushConstantRanges = &range;
  return device_.Check(
      device_.functions().CreatePipelineLayout(device_.handle(), &info, nullptr, &layout_),
      "making a pipeline layout");
}

Result<VkPipeline> Pipelines::Make(std::string_view shader, const std::vector<uint32_t>& constants,
                                   uint32_t subgroup) {
  const ExactFloatMode mode;  // a driver's compiler computes constants in advance
  const std::span<const uint32_t> source = source_(shader);
  CHECK_NOTE(!source.empty(), shader);
  const std::vector<uint32_t> words =
      TRY(WithFloatModes(source, {.round_to_even = true,
                                  .keep_special_values = true,
                                  .flush_denormals = arithmetic_.flush_by_mode}));
  VkShaderModuleCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  info.codeSize = words.size() * sizeof(uint32_t);
  info.pCode = words.data();
  const DeviceFunctions& functions = device_.functions();
  VkShaderModule module = VK_NULL_HANDLE;
  TRY(device_.Check(functions.CreateShaderModule(device_.handle(), &info, nullptr, &module),
                    "loading"));
  Result<VkPipeline> pipeline = Compile(module, constants, subgroup);
  functions.DestroyShaderModule(device_.handle(), module, nullptr);
  return pipeline;
}

Result<VkPipeline> Pipelines::Compile(VkShaderModule module, const std::vector<uint32_t>& constants,
                                      uint32_t subgroup) {
  std::vector<uint32_t> values = {arithmetic_.native_fma ? 1u : 0u,
                                  arithmetic_.flush_in_shader ? 1u : 0u};
  values.insert(values.end(), constants.begin(), constants.end());
  std::vector<VkSpecializationMapEntry> entries;
  for (uint32_t i = 0; i < values.size(); ++i)
    entries.push_back({i, i * static_cast<uint32_t>(sizeof(uint32_t)), sizeof(uint32_t)});
  const VkSpecializationInfo specialisation{static_cast<uint32_t>(entries.size()), entries.data(),
                                            values.size() * sizeof(uint32_t), values.data()};
  VkComputePipelineCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = &specialisation;
  info.layout = layout_;
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size{};
  size.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO;
  size.requiredSubgroupSize = subgroup;
  if (subgroup != 0 && device_.traits().matrix) {
    info.stage.pNext = &size;
    info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
  }
  VkPipeline pipeline = VK_NULL_HANDLE;
  TRY(device_.Check(device_.functions().CreateComputePipelines(device_.handle(), VK_NULL_HANDLE, 1,
                                                               &info, nullptr, &pipeline),
                    "compiling"));
  return pipeline;
}

}  // namespace aster::vulkan
