// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/machine.h"

#include <fmt/format.h>
#include <malloc.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include "base/control_groups.h"
#include "base/files.h"
#include "base/function_ref.h"

namespace aster {
namespace machine_internal {
namespace {

// The number at the start of `text`, which is removed from it.
template <typename T>
std::optional<T> TakeNumber(std::string_view& text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

std::string_view TrimmedRight(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return text;
}

std::string_view TakeLine(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

}  // namespace

std::optional<std::vector<int>> ParseCpuList(std::string_view text) {
  text = TrimmedRight(text);
  std::vector<int> cpus;
  while (true) {
    const std::optional<int> first = TakeNumber<int>(text);
    std::optional<int> last = first;
    if (text.starts_with('-')) {
      text.remove_prefix(1);
      last = TakeNumber<int>(text);
    }
    if (!first || !last || *first < 0 || *last < *first || *last >= CPU_SETSIZE) return {};
    for (int cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
    if (text.empty()) return cpus;
    if (!text.starts_with(',')) return {};
    text.remove_prefix(1);
  }
}

std::optional<double> ParseCpuQuota(std::string_view text) {
  const std::optional<uint64_t> quota_us = TakeNumber<uint64_t>(text);
  const std::optional<uint64_t> period_us = TakeNumber<uint64_t>(text);
  if (!quota_us || !period_us || *period_us == 0) return {};
  return static_cast<double>(*quota_us) / static_cast<double>(*period_us);
}

std::optional<uint64_t> ParseCacheSize(std::string_view text) {
  text = TrimmedRight(text);
  const std::optional<uint64_t> number = TakeNumber<uint64_t>(text);
  const int shift = text == "K" ? 10 : text == "M" ? 20 : text.empty() ? 0 : -1;
  if (!number || shift < 0 || *number > (UINT64_MAX >> shift)) return {};
  return *number << shift;
}

std::optional<uint64_t> ParseMemoryLine(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    std::string_view line = TakeLine(text);
    if (!line.starts_with(name)) continue;
    line.remove_prefix(name.size());
    const std::optional<uint64_t> number = TakeNumber<uint64_t>(line);
    const int shift = line == " kB" ? 10 : line.empty() ? 0 : -1;
    if (!number || shift < 0 || *number > (UINT64_MAX >> shift)) return {};
    return *number << shift;
  }
  return {};
}

std::optional<std::string_view> ParseControlGroup(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = TakeLine(text);
    if (line == "0::/") return line.substr(line.size());
    if (line.starts_with("0::/")) return line.substr(3);
  }
  return {};
}

}  // namespace machine_internal

namespace {

using machine_internal::ParseCacheSize;
using machine_internal::ParseControlGroup;
using machine_internal::ParseCpuList;
using machine_internal::ParseCpuQuota;
using machine_internal::ParseMemoryLine;

// All files read here are a line or a page of text from the kernel.
std::string ReadKernelFile(const std::string& path) {
  constexpr size_t kMaxBytes = size_t{1} << 20;
  Result<std::string> content = ReadFile(path, kMaxBytes);
  return content.ok() ? std::move(content).value() : "";
}

// Calls visit with the folder of our control group and of each around it: the limits of all apply.
void VisitControlGroups(FunctionRef<void(const std::string& folder)> visit) {
  const std::string own = ReadKernelFile("/proc/self/cgroup");
  const std::optional<std::string_view> group = ParseControlGroup(own);
  if (!group) return;
  std::string path(*group);
  while (true) {
    visit("/sys/fs/cgroup" + path);
    if (path.empty()) return;
    path.resize(path.rfind('/'));
  }
}

std::string CpuFolder(int cpu) { return fmt::format("/sys/devices/system/cpu/cpu{}", cpu); }

// How many siblings of the same core come before this cpu.
size_t SiblingRank(int cpu) {
  const std::string text = ReadKernelFile(CpuFolder(cpu) + "/topology/thread_siblings_list");
  const std::vector<int> siblings = ParseCpuList(text).value_or(std::vector<int>{});
  return static_cast<size_t>(
      std::count_if(siblings.begin(), siblings.end(), [&](int sibling) { return sibling < cpu; }));
}

}  // namespace

std::vector<int> UsableCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return {0};
  std::vector<std::pair<size_t, int>> ranked;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<size_t>(cpu), &set)) ranked.emplace_back(SiblingRank(cpu), cpu);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<int> cpus;
  cpus.reserve(ranked.size());
  for (const auto& [rank, cpu] : ranked) cpus.push_back(cpu);
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

size_t UsableCpuCount() {
  auto count = static_cast<double>(UsableCpus().size());
  VisitControlGroups([&](const std::string& folder) {
    const std::optional<double> quota = ParseCpuQuota(ReadKernelFile(folder + "/cpu.max"));
    if (quota) count = std::min(count, std::ceil(*quota));
  });
  return static_cast<size_t>(std::max(1.0, count));
}

CacheSizes DetectCacheSizes() {
  CacheSizes sizes;
  const std::string root = CpuFolder(UsableCpus().front()) + "/cache/index";
  constexpr int kMaxIndex = 16;
  for (int index = 0; index < kMaxIndex; ++index) {
    const std::string folder = fmt::format("{}{}/", root, index);
    const uint64_t size = ParseCacheSize(ReadKernelFile(folder + "size")).value_or(0);
    if (ReadKernelFile(folder + "type") == "Instruction\n") continue;
    const std::string level = ReadKernelFile(folder + "level");
    if (level == "1\n") sizes.l1_data_bytes = size;
    if (level == "2\n") sizes.l2_bytes = size;
    if (level == "3\n") sizes.l3_bytes = size;
  }
  return sizes;
}

MemorySizes DetectMemory() {
  const std::string meminfo = ReadKernelFile("/proc/meminfo");
  MemorySizes memory;
  memory.total_bytes = ParseMemoryLine(meminfo, "MemTotal:").value_or(0);
  memory.available_bytes = ParseMemoryLine(meminfo, "MemAvailable:").value_or(0);
  for (const GroupMemory& group : GroupMemories()) {
    const uint64_t limit_bytes = group.limit_bytes;
    memory.total_bytes = std::min(memory.total_bytes, limit_bytes);
    memory.available_bytes =
        std::min(memory.available_bytes, limit_bytes - std::min(group.used_bytes, limit_bytes));
  }
  return memory;
}

uint64_t PeakMemoryBytes() {
  return ParseMemoryLine(ReadKernelFile("/proc/self/status"), "VmHWM:").value_or(0);
}

void ReturnFreedMemory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace aster
