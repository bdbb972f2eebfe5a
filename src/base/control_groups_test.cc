// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/control_groups.h"

#include <gtest/gtest.h>

#include "base/files.h"

namespace aster {
namespace {

using control_groups_internal::GroupMemoriesBelow;
using control_groups_internal::ParseMemoryGroup;

class ControlGroups : public testing::Test {
 protected:
  void Put(const std::string& path, std::string_view content) const {
    const std::string full = root_ + path;
    ASSERT_TRUE(MakeDirectories(full.substr(0, full.rfind('/'))).ok());
    AtomicFile file = AtomicFile::Create(full).value();
    ASSERT_TRUE(file.Write(AsBytes(content)).ok() && file.Commit().ok());
  }

  const TemporaryDirectory folder_ = TemporaryDirectory::Create().value();
  const std::string root_ = folder_.File("root");
};

// Once, a limit of version 1 was not noticed.
TEST_F(ControlGroups, LimitsOfVersion1) {
  Put("/proc/self/cgroup", "12:cpu,cpuacct:/x\n9:memory:/box/aster\n0::/\n");
  const std::string folder = "/sys/fs/cgroup/memory";
  Put(folder + "/box/aster/memory.limit_in_bytes", "50331648\n");
  Put(folder + "/box/aster/memory.usage_in_bytes", "30000000\n");
  Put(folder + "/box/aster/memory.stat",
      "cache 1\ninactive_file 5\ntotal_inactive_file 10000000\n");
  Put(folder + "/memory.limit_in_bytes", "9223372036854771712\n");
  const auto memories = GroupMemoriesBelow(root_);
  ASSERT_EQ(memories.size(), 2u);
  EXPECT_EQ(memories[0].limit_bytes, 48u << 20);
  EXPECT_EQ(memories[0].used_bytes, 20'000'000u);
  EXPECT_EQ(memories[1].limit_bytes, 9223372036854771712u);
}

TEST_F(ControlGroups, LimitsOfVersion2) {
  Put("/proc/self/cgroup", "0::/box/aster\n");
  Put("/sys/fs/cgroup/box/aster/memory.max", "max\n");
  Put("/sys/fs/cgroup/box/memory.max", "1048576\n");
  Put("/sys/fs/cgroup/box/memory.current", "4096\n");
  const auto memories = GroupMemoriesBelow(root_);
  ASSERT_EQ(memories.size(), 1u);
  EXPECT_EQ(memories[0].limit_bytes, 1048576u);
  EXPECT_EQ(memories[0].used_bytes, 4096u);
}

TEST_F(ControlGroups, NoneWhereTheSystemHasNone) {
  EXPECT_TRUE(GroupMemoriesBelow(root_).empty());
  Put("/proc/self/cgroup", "garbage\n");
  EXPECT_TRUE(GroupMemoriesBelow(root_).empty());
}

TEST(ParseMemoryGroup, OfVersion1Alone) {
  EXPECT_EQ(ParseMemoryGroup("9:memory:/a/b\n"), "/a/b");
  EXPECT_EQ(ParseMemoryGroup("3:cpu:/c\n9:hugetlb,memory:/\n"), "");
  for (const char* none : {"", "0::/a\n", "9:memory", "9:memory:", "9:mem:/a\n", "memory:/a\n"})
    EXPECT_FALSE(ParseMemoryGroup(none)) << none;
}

}  // namespace
}  // namespace aster
