// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>

namespace aster {
namespace {

Result<int> Half(int value) {
  if (value % 2 != 0) return InvalidArgument("odd");
  return value / 2;
}

Result<int> Quarter(int value) {
  const int half = TRY(Half(value));
  return TRY(Half(half).In("second half"));
}

TEST(Result, CarriesAValueOrAnError) {
  EXPECT_EQ(Quarter(8).value(), 2);
  EXPECT_EQ(Quarter(3).error().message(), "odd");
  EXPECT_EQ(Quarter(6).error().message(), "second half: odd");
  EXPECT_EQ(Quarter(6).error().code(), Code::kInvalidArgument);
}

TEST(Result, MovesWhatCannotBeCopied) {
  auto make = []() -> Result<std::unique_ptr<int>> { return std::make_unique<int>(7); };
  auto use = [&]() -> Result<int> {
    std::unique_ptr<int> value = TRY(make());
    return *value;
  };
  EXPECT_EQ(*use(), 7);
}

TEST(Result, VoidIsOkByDefault) {
  EXPECT_TRUE(Ok().ok());
  EXPECT_FALSE(Status(NotFound("x")).ok());
}

TEST(Result, ErrnoMapsToACode) {
  const Error error = SystemError(ENOENT, "/no/such");
  EXPECT_EQ(error.code(), Code::kNotFound);
  EXPECT_EQ(error.message(), "/no/such: No such file or directory");
}

TEST(ResultDeathTest, TakingTheValueOfAnErrorAborts) { EXPECT_DEATH((void)Half(1).value(), "odd"); }

}  // namespace
}  // namespace aster
