// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/driver/kernel_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "vulkan/driver/device.h"

namespace aster::vulkan {

std::unique_ptr<KernelTimes> KernelTimes::FromEnvironment() {
  const char* const wanted = std::getenv("ASTER_GPU_TIMES");
  if (wanted == nullptr) return nullptr;
  if (wanted == std::string_view("1")) return std::make_unique<KernelTimes>(Detail::kKernels);
  if (wanted == std::string_view("batch")) return std::make_unique<KernelTimes>(Detail::kBatches);
  return nullptr;
}

void KernelTimes::Add(const std::string& kernel, double ns) {
  Sum& sum = sums_[kernel];
  sum.least_ns = sum.count == 0 ? ns : std::min(sum.least_ns, ns);
  ++sum.count;
  sum.ns += ns;
}

std::string KernelTimes::Table() const {
  std::vector<std::pair<std::string, Sum>> rows(sums_.begin(), sums_.end());
  std::ranges::sort(rows, [](const auto& a, const auto& b) { return a.second.ns > b.second.ns; });
  std::string table;
  for (const auto& [kernel, sum] : rows) {
    table += fmt::format("{:44} {:9} times {:12.1f} us {:10.2f} us each {:10.2f} us at least\n",
                         kernel, sum.count, sum.ns / 1e3,
                         sum.ns / 1e3 / static_cast<double>(sum.count), sum.least_ns / 1e3);
  }
  return table;
}

Result<std::unique_ptr<TimeMarks>> TimeMarks::Create(Device& device) {
  // tidy: allow(ownership) the constructor is private
  std::unique_ptr<TimeMarks> marks(new TimeMarks(device));
  VkQueryPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
  info.queryType = VK_QUERY_TYPE_TIMESTAMP;
  info.queryCount = 2 * kMost;
  TRY(device.Check(
      device.functions().CreateQueryPool(device.handle(), &info, nullptr, &marks->pool_),
      "making marks of time"));
  return marks;
}

TimeMarks::~TimeMarks() {
  if (pool_ != VK_NULL_HANDLE)
    device_.functions().DestroyQueryPool(device_.handle(), pool_, nullptr);
}

Status TimeMarks::Begin(VkCommandBuffer commands) {
  TRY(Collect());
  device_.functions().CmdResetQueryPool(commands, pool_, 0, 2 * kMost);
  return Ok();
}

Status TimeMarks::Collect() {
  if (kernels_.empty()) return Ok();
  std::vector<uint64_t> ticks(2 * kernels_.size());
  TRY(device_.Check(
      device_.functions().GetQueryPoolResults(
          device_.handle(), pool_, 0, static_cast<uint32_t>(ticks.size()),
          ticks.size() * sizeof(uint64_t), ticks.data(), sizeof(uint64_t), VK_QUERY_RESULT_64_BIT),
      "reading marks of time"));
  for (size_t i = 0; i < kernels_.size(); ++i) {
    const auto elapsed = static_cast<double>(ticks[2 * i + 1] - ticks[2 * i]);
    device_.times()->Add(kernels_[i], elapsed * device_.traits().timestamp_ns);
  }
  kernels_.clear();
  return Ok();
}

void TimeMarks::Start(VkCommandBuffer commands) {
  if (kernels_.size() == kMost) return;
  device_.functions().CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, pool_,
                                        static_cast<uint32_t>(2 * kernels_.size()));
}

void TimeMarks::Stop(VkCommandBuffer commands, std::string_view kernel) {
  if (kernels_.size() == kMost) return;
  device_.functions().CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, pool_,
                                        static_cast<uint32_t>(2 * kernels_.size() + 1));
  kernels_.emplace_back(kernel);
}

}  // namespace aster::vulkan
