// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The memory limits of this process's control groups, of both versions that kernels have. Must not
// know what is limited by them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace aster {

// Of one group.
struct GroupMemory {
  uint64_t limit_bytes = 0;
  uint64_t used_bytes = 0;  // without pages of files that would be dropped before anything fails
};

// Of our own group and of each around it, as far as they have a limit.
std::vector<GroupMemory> GroupMemories();

// For tests.
namespace control_groups_internal {

// As if the system's root was `root`: "" is the real one.
std::vector<GroupMemory> GroupMemoriesBelow(const std::string& root);
// /proc/self/cgroup's line of version 1: "9:memory:/a/b" → "/a/b"; nothing where it has none.
std::optional<std::string_view> ParseMemoryGroup(std::string_view text);

}  // namespace control_groups_internal

}  // namespace aster
