// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/process_limits.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace aster {
namespace {

TEST(ProcessLimits, OpenFilesAreRaisedAsFarAsTheSystemAllows) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 64;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(RaiseOpenFiles(100), 100u);
  EXPECT_EQ(RaiseOpenFiles(50), 100u);  // never lowered
  EXPECT_EQ(RaiseOpenFiles(uint64_t{1} << 62), before.rlim_max);
  rlimit after = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, before.rlim_max);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

// In a process of its own, as the effect is permanent.
TEST(ProcessLimits, AProcessWithKeysHasNoCoreDumps) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ForbidCoreDumps();
    rlimit limit = {};
    const bool is_forbidden = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 &&
                              getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_cur == 0;
    _exit(is_forbidden ? 0 : 1);  // tidy: allow(stopping) the child of a fork
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace aster
