// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/terminal/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aster::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<std::string> kLines = {"/help", "/save", "/set", "/set temp", "/set top-k"};

TEST(Completion, OneCandidateIsCompleted) {
  EXPECT_EQ(Complete("/h", kLines).more, "elp");
  EXPECT_THAT(Complete("/h", kLines).choices, IsEmpty());
  EXPECT_EQ(Complete("/set te", kLines).more, "mp");
}

TEST(Completion, AWordThatGoesOnGetsItsBlank) {
  EXPECT_EQ(Complete("/se", kLines).more, "t ");
  EXPECT_EQ(Complete("/set", kLines).more, " ");
}

TEST(Completion, ACommonBeginningAndTheChoices) {
  EXPECT_EQ(Complete("/s", kLines).more, "");
  EXPECT_THAT(Complete("/s", kLines).choices, ElementsAre("/save", "/set"));
  EXPECT_EQ(Complete("/set ", kLines).more, "t");
  EXPECT_THAT(Complete("/set t", kLines).choices, ElementsAre("/set temp", "/set top-k"));
}

TEST(Completion, NothingMatches) {
  EXPECT_EQ(Complete("hello", kLines).more, "");
  EXPECT_THAT(Complete("hello", kLines).choices, IsEmpty());
}

}  // namespace
}  // namespace aster::cli
