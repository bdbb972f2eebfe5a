// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/control_groups.h"

#include <algorithm>

#include "base/files.h"
#include "base/machine.h"

namespace aster {
namespace {

// The files of a version for memory.
struct GroupFiles {
  std::string_view folder;
  std::string_view limit;
  std::string_view used;
  std::string_view files;  // the line of memory.stat
};
constexpr GroupFiles kVersion1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                  "memory.usage_in_bytes", "total_inactive_file "};
constexpr GroupFiles kVersion2 = {"/sys/fs/cgroup", "memory.max", "memory.current",
                                  "inactive_file "};

std::string Read(const std::string& path) {
  constexpr size_t kMaxBytes = size_t{1} << 20;
  Result<std::string> content = ReadFile(path, kMaxBytes);
  return content.ok() ? std::move(content).value() : "";
}

std::optional<GroupMemory> ReadGroup(const std::string& folder, const GroupFiles& names) {
  const auto number = [&](std::string_view file) {
    return machine_internal::ParseCacheSize(Read(folder + "/" + std::string(file)));
  };
  const std::optional<uint64_t> limit_bytes = number(names.limit);
  if (!limit_bytes) return std::nullopt;
  const uint64_t used_bytes = number(names.used).value_or(0);
  const uint64_t file_bytes =
      machine_internal::ParseMemoryLine(Read(folder + "/memory.stat"), names.files).value_or(0);
  return GroupMemory{.limit_bytes = *limit_bytes,
                     .used_bytes = used_bytes - std::min(file_bytes, used_bytes)};
}

}  // namespace

namespace control_groups_internal {

std::optional<std::string_view> ParseMemoryGroup(std::string_view text) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t first = line.find(':');
    const size_t second = first == line.npos ? first : line.find(':', first + 1);
    if (second == line.npos || !line.substr(second + 1).starts_with('/')) continue;
    const std::string controllers =
        "," + std::string(line.substr(first + 1, second - first - 1)) + ",";
    if (controllers.find(",memory,") == std::string::npos) continue;
    const std::string_view path = line.substr(second + 1);
    return path == "/" ? path.substr(1) : path;
  }
  return std::nullopt;
}

std::vector<GroupMemory> GroupMemoriesBelow(const std::string& root) {
  const std::string own = Read(root + "/proc/self/cgroup");
  const std::optional<std::string_view> version1 = ParseMemoryGroup(own);
  const std::optional<std::string_view> group =
      version1 ? version1 : machine_internal::ParseControlGroup(own);
  std::vector<GroupMemory> memories;
  if (!group) return memories;
  const GroupFiles& names = version1 ? kVersion1 : kVersion2;
  // In a container the path is often the host's, of which only the last folder is visible, as the
  // root.
  for (std::string path(*group);; path.resize(path.rfind('/'))) {
    const auto memory = ReadGroup(root + std::string(names.folder) + path, names);
    if (memory) memories.push_back(*memory);
    if (path.empty()) return memories;
  }
}

}  // namespace control_groups_internal

std::vector<GroupMemory> GroupMemories() { return control_groups_internal::GroupMemoriesBelow(""); }

}  // namespace aster
