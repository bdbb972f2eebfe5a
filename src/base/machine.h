// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The part of this machine that we may use: cores, caches, memory; never more than the process's
// cpu set and its control group allow. For the cores' instructions: base/cpu.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace aster {

// The logical cpus this thread may run on, in the order in which to use them: one of each core
// first, then their hardware siblings. Never empty.
std::vector<int> UsableCpus();

// How many threads can compute at full speed at once: UsableCpus, or fewer if a control group's
// quota allows less time. At least one.
size_t UsableCpuCount();

// The caches of the first usable cpu; zero if unknown.
struct CacheSizes {
  uint64_t l1_data_bytes = 0;
  uint64_t l2_bytes = 0;
  uint64_t l3_bytes = 0;  // shared among several cores
};
CacheSizes DetectCacheSizes();

// The machine's memory, or the control group's limit if that is lower.
struct MemorySizes {
  uint64_t total_bytes = 0;
  uint64_t available_bytes = 0;  // can be taken without swapping others out
};
MemorySizes DetectMemory();

// The most memory that this process has used so far; zero if unknown.
uint64_t PeakMemoryBytes();

// Returns memory to the system that this process has freed and its allocator caches: after a large,
// rare operation.
void ReturnFreedMemory();

// The parsers behind these, for tests. Each returns nullopt if the text is invalid or has no limit.
namespace machine_internal {

// "0-2,7" → 0 1 2 7
std::optional<std::vector<int>> ParseCpuList(std::string_view text);
// cpu.max: "150000 100000" → 1.5 cpus; "max 100000" → nothing
std::optional<double> ParseCpuQuota(std::string_view text);
// "48K" → 49152
std::optional<uint64_t> ParseCacheSize(std::string_view text);
// The line that starts with `name`: "MemTotal:  123 kB" → 125952, "inactive_file 7" → 7
std::optional<uint64_t> ParseMemoryLine(std::string_view text, std::string_view name);
// /proc/self/cgroup's "0::/a/b" → "/a/b", and "0::/" → ""
std::optional<std::string_view> ParseControlGroup(std::string_view text);

}  // namespace machine_internal

}  // namespace aster
