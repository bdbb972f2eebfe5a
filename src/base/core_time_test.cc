// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/core_time.h"

#include <gtest/gtest.h>

#include "base/clock.h"

namespace aster {
namespace {

TEST(CoreTime, GrowsWithWorkAndNotWithSleep) {
  SystemClock clock;
  const int64_t begin_ns = clock.NowNs();
  const int64_t before_ns = CoreTimeOfThisThreadNs();
  while (CoreTimeOfThisThreadNs() < before_ns + kNsPerMs) continue;
  EXPECT_GE(clock.NowNs() - begin_ns, kNsPerMs);
  const int64_t worked_ns = CoreTimeOfThisThreadNs();
  clock.SleepUntil(clock.NowNs() + 20 * kNsPerMs);
  EXPECT_LT(CoreTimeOfThisThreadNs() - worked_ns, 10 * kNsPerMs);
}

}  // namespace
}  // namespace aster
