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

// Its content is destroyed once, also by an assignment that changes its kind.
TEST(Result, OwnsWhatItHolds) {
  const auto counted = std::make_shared<int>(7);
  {
    Result<std::shared_ptr<int>> result = counted;
    EXPECT_EQ(counted.use_count(), 2);
    Result<std::shared_ptr<int>> copy = result;
    EXPECT_EQ(counted.use_count(), 3);
    copy = NotFound("gone");
    EXPECT_EQ(counted.use_count(), 2);
    copy = result;
    EXPECT_EQ(counted.use_count(), 3);
    Result<std::shared_ptr<int>>& same = copy;
    copy = same;
    copy = std::move(same);
    EXPECT_EQ(*copy.value(), 7);
    result = std::move(copy);
    EXPECT_EQ(counted.use_count(), 2);
    result = Result<std::shared_ptr<int>>(NotFound("gone"));
    EXPECT_EQ(result.error().message(), "gone");
  }
  EXPECT_EQ(counted.use_count(), 1);
}

static_assert(!std::is_copy_constructible_v<Result<std::unique_ptr<int>>>);
static_assert(std::is_nothrow_move_constructible_v<Result<std::unique_ptr<int>>>);

TEST(ResultDeathTest, TakingTheValueOfAnErrorAborts) { EXPECT_DEATH((void)Half(1).value(), "odd"); }

}  // namespace
}  // namespace aster
