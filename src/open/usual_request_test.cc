// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/usual_request.h"

#include <gtest/gtest.h>

#include <vector>

namespace aster::open {
namespace {

conduct::Foreseen Request(uint32_t prompt, uint64_t answer, uint32_t others = 0) {
  conduct::Foreseen request;
  request.prompt_tokens = prompt;
  request.answer_tokens = answer;
  request.others = others;
  return request;
}

TEST(UsualRequest, OfAFewNothingIsKnown) {
  EXPECT_FALSE(UsualRequest({}));
  EXPECT_FALSE(UsualRequest(std::vector{Request(10, 20), Request(10, 20)}));
}

TEST(UsualRequest, TheMeanOfTheNewest) {
  std::vector<conduct::Foreseen> last = {Request(9000, 9000)};
  for (int i = 0; i < 6; ++i) {
    last.push_back(Request(100, 40));
    last.push_back(Request(300, 80));
  }
  const auto usual = UsualRequest(last);
  ASSERT_TRUE(usual);
  EXPECT_EQ(usual->prompt_tokens, 200u);
  EXPECT_EQ(usual->answer_tokens, 60u);
}

TEST(UsualRequest, SeveralAtOnceAreNone) {
  std::vector<conduct::Foreseen> last(6, Request(100, 40));
  last.push_back(Request(100, 40, 1));
  last.push_back(Request(100, 40, 3));
  EXPECT_TRUE(UsualRequest(last));
  last.push_back(Request(100, 40, 2));
  EXPECT_FALSE(UsualRequest(last));
  // Until that is over.
  for (int i = 0; i < 9; ++i) last.push_back(Request(100, 40));
  EXPECT_TRUE(UsualRequest(last));
}

}  // namespace
}  // namespace aster::open
