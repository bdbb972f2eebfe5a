// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/check.h"

#include <gtest/gtest.h>

#include <string>

namespace aster {
namespace {

TEST(Check, EvaluatesItsConditionOnce) {
  int calls = 0;
  CHECK(++calls == 1);
  CHECK_NOTE(++calls == 2, "not reached");
  EXPECT_EQ(calls, 2);
}

TEST(Check, IsOneStatement) {
  if (false)
    CHECK(false);
  else
    SUCCEED();
}

TEST(Check, TheNoteIsMadeOnlyOnFailure) {
  const auto expensive = []() -> std::string {
    ADD_FAILURE();
    return "";
  };
  CHECK_NOTE(true, expensive());
}

TEST(CheckDeathTest, SaysWhatWhereAndWhy) {
  EXPECT_DEATH(CHECK(1 > 2), "check_test.cc:[0-9]+: broken invariant: 1 > 2");
  EXPECT_DEATH(CHECK_NOTE(1 > 2, "as expected"), "1 > 2: as expected");
}

TEST(CheckDeathTest, DebugChecksVanishInARelease) {
  int calls = 0;
#ifdef NDEBUG
  DCHECK(++calls > 1);
  EXPECT_EQ(calls, 0);
#else
  EXPECT_DEATH(DCHECK(++calls > 1), "broken invariant");
#endif
}

}  // namespace
}  // namespace aster
