// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The memory limits of this process's control groups, for both kernel versions of them. Must not
// know what they limit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace aster {

// The memory of one group.
struct GroupMemory {
  uint64_t limit_bytes = 0;
  uint64_t used_bytes = 0;  // without file pages that would be dropped before allocations fail
};

// This process's group and each around it, if they have a limit.
std::vector<GroupMemory> GroupMemories();

// For tests.
namespace control_groups_internal {

// As if the system's root was `root`: "" is the real one.
std::vector<GroupMemory> GroupMemoriesBelow(const std::string& root);
// /proc/self/cgroup's line of version 1: "9:memory:/a/b" → "/a/b"; nullopt if there is none.
std::optional<std::string_view> ParseMemoryGroup(std::string_view text);

}  // namespace control_groups_internal

}  // namespace aster
