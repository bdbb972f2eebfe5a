// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/usual_request.h"

#include <gtest/gtest.h>

#include <vector>

namespace aster::open {
namespace {

conduct::RequestForecast Request(uint32_t prompt, uint64_t answer, uint32_t others = 0) {
  conduct::RequestForecast request;
  request.prompt_tokens = prompt;
  request.answer_tokens = answer;
  request.others = others;
  return request;
}

TEST(UsualRequests, OfAFewNothingIsKnown) {
  EXPECT_TRUE(UsualRequests({}).empty());
  EXPECT_TRUE(UsualRequests(std::vector{Request(10, 20), Request(10, 20)}).empty());
}

TEST(UsualRequests, TheNewestAndTheirMean) {
  std::vector<conduct::RequestForecast> last = {Request(9000, 9000)};
  for (int i = 0; i < 6; ++i) {
    last.push_back(Request(100, 40));
    last.push_back(Request(300, 80));
  }
  const auto usual = UsualRequests(last);
  ASSERT_EQ(usual.size(), 12u);
  EXPECT_EQ(usual.front().prompt_tokens, 100u);
  EXPECT_EQ(MeanOf(usual).prompt_tokens, 200u);
  EXPECT_EQ(MeanOf(usual).answer_tokens, 60u);
}

TEST(UsualRequests, SeveralAtOnceAreNone) {
  std::vector<conduct::RequestForecast> last(6, Request(100, 40));
  last.push_back(Request(100, 40, 1));
  last.push_back(Request(100, 40, 3));
  EXPECT_FALSE(UsualRequests(last).empty());
  last.push_back(Request(100, 40, 2));
  EXPECT_TRUE(UsualRequests(last).empty());
  // The concurrent requests are no longer among the last ones.
  for (int i = 0; i < 9; ++i) last.push_back(Request(100, 40));
  EXPECT_FALSE(UsualRequests(last).empty());
}

TEST(UsualRequests, AFewStandForAll) {
  const ExpectedRequest brief{.prompt_tokens = 20, .answer_tokens = 200};
  const ExpectedRequest lengthy{.prompt_tokens = 8000, .answer_tokens = 50};
  EXPECT_TRUE(Summarise({}, 4).empty());
  // Similar requests.
  const auto one = Summarise({brief, {.prompt_tokens = 40, .answer_tokens = 100}}, 4);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].prompt_tokens, 30u);
  EXPECT_EQ(one[0].answer_tokens, 150u);
  // Two of eight requests are long: a quarter.
  const auto parts = Summarise({brief, lengthy, brief, brief, brief, lengthy, brief, brief}, 4);
  ASSERT_EQ(parts.size(), 4u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(parts[i].prompt_tokens, 20u);
  EXPECT_EQ(parts[3].prompt_tokens, 8000u);
  EXPECT_EQ(parts[3].answer_tokens, 50u);
  EXPECT_EQ(Summarise({brief, lengthy}, 4).size(), 2u);
}

}  // namespace
}  // namespace aster::open
