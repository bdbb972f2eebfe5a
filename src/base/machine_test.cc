// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <set>
#include <thread>

namespace aster {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

TEST(Machine, CpuLists) {
  using machine_internal::ParseCpuList;
  EXPECT_THAT(ParseCpuList("0\n"), Optional(ElementsAre(0)));
  EXPECT_THAT(ParseCpuList("0-2,7,9-9\n"), Optional(ElementsAre(0, 1, 2, 7, 9)));
  for (const char* bad : {"", "\n", "a", "0-", "-1", "3-2", "0,", "0;1", "0-999999999", "1e3"}) {
    EXPECT_EQ(ParseCpuList(bad), std::nullopt) << bad;
  }
}

TEST(Machine, CpuQuotas) {
  using machine_internal::ParseCpuQuota;
  EXPECT_EQ(ParseCpuQuota("150000 100000\n"), 1.5);
  EXPECT_EQ(ParseCpuQuota("max 100000\n"), std::nullopt);
  EXPECT_EQ(ParseCpuQuota("1 0\n"), std::nullopt);
  EXPECT_EQ(ParseCpuQuota(""), std::nullopt);
}

TEST(Machine, CacheSizeTexts) {
  using machine_internal::ParseCacheSize;
  EXPECT_EQ(ParseCacheSize("48K\n"), 48U << 10);
  EXPECT_EQ(ParseCacheSize("32M"), 32U << 20);
  EXPECT_EQ(ParseCacheSize("123\n"), 123U);
  for (const char* bad : {"", "K", "max\n", "1G", "18446744073709551615K", "1 K"}) {
    EXPECT_EQ(ParseCacheSize(bad), std::nullopt) << bad;
  }
}

TEST(Machine, MemoryLines) {
  using machine_internal::ParseMemoryLine;
  const char* text = "MemTotal:       100 kB\nMemAvailable:    7 kB\ninactive_file 12\nX: 1 MB";
  EXPECT_EQ(ParseMemoryLine(text, "MemTotal:"), 102400U);
  EXPECT_EQ(ParseMemoryLine(text, "MemAvailable:"), 7168U);
  EXPECT_EQ(ParseMemoryLine(text, "inactive_file "), 12U);
  EXPECT_EQ(ParseMemoryLine(text, "X:"), std::nullopt);
  EXPECT_EQ(ParseMemoryLine(text, "Absent:"), std::nullopt);
  EXPECT_EQ(ParseMemoryLine("", "MemTotal:"), std::nullopt);
}

TEST(Machine, ControlGroups) {
  using machine_internal::ParseControlGroup;
  EXPECT_EQ(ParseControlGroup("0::/a/b\n"), "/a/b");
  EXPECT_EQ(ParseControlGroup("12:cpu:/x\n0::/\n"), "");
  EXPECT_EQ(ParseControlGroup("1:name=systemd:/x\n"), std::nullopt);
  EXPECT_EQ(ParseControlGroup(""), std::nullopt);
}

TEST(Machine, UsableCpusAreTheAffinitySet) {
  const std::vector<int> cpus = UsableCpus();
  const std::set<int> distinct(cpus.begin(), cpus.end());
  EXPECT_EQ(distinct.size(), cpus.size());
  cpu_set_t mine;
  ASSERT_EQ(sched_getaffinity(0, sizeof(mine), &mine), 0);
  EXPECT_EQ(static_cast<int>(cpus.size()), CPU_COUNT(&mine));
  for (int cpu : cpus) EXPECT_TRUE(CPU_ISSET(static_cast<size_t>(cpu), &mine));
  EXPECT_GE(UsableCpuCount(), 1U);
  EXPECT_LE(UsableCpuCount(), cpus.size());
}

TEST(Machine, APinnedThreadHasOneCpu) {
  std::thread([] {
    const int cpu = UsableCpus().back();
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(cpu), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    EXPECT_THAT(UsableCpus(), ElementsAre(cpu));
    EXPECT_EQ(UsableCpuCount(), 1U);
  }).join();
}

TEST(Machine, SizesArePlausible) {
  const MemorySizes memory = DetectMemory();
  EXPECT_GT(memory.available_bytes, 0U);
  EXPECT_LE(memory.available_bytes, memory.total_bytes);
  const auto physical =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  EXPECT_LE(memory.total_bytes, physical);
  const CacheSizes caches = DetectCacheSizes();
  if (caches.l1_data_bytes == 0) GTEST_SKIP() << "the kernel names no caches here";
  EXPECT_GE(caches.l1_data_bytes, 4U << 10);
  EXPECT_GE(caches.l2_bytes, caches.l1_data_bytes);
}

}  // namespace
}  // namespace aster
