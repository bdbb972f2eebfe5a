// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "eval/score.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "eval/statistics.h"

namespace aster::eval {
namespace {

QuestionResult ResultOf(const std::string& id, const std::string& category, bool right) {
  QuestionResult result;
  result.id = id;
  result.category = category;
  result.right = right;
  return result;
}

QuestionResult Skipped(const std::string& id, const std::string& category) {
  QuestionResult result = ResultOf(id, category, false);
  result.skipped = true;
  return result;
}

TEST(Tally, CountsByCategoryAndOverall) {
  const std::vector<QuestionResult> results = {ResultOf("1", "b", true), ResultOf("2", "a", false),
                                               ResultOf("3", "b", false), Skipped("4", "a")};
  const auto by_category = TallyByCategory(results);
  ASSERT_EQ(by_category.size(), 2U);
  EXPECT_EQ(by_category[0].category, "b");
  EXPECT_EQ(by_category[0].tally.asked, 2U);
  EXPECT_EQ(by_category[0].tally.right, 1U);
  EXPECT_EQ(by_category[1].tally.asked, 1U);
  EXPECT_EQ(by_category[1].tally.skipped, 1U);
  const Tally all = TallyAll(results);
  EXPECT_EQ(all.asked, 3U);
  EXPECT_DOUBLE_EQ(all.rate(), 1.0 / 3);
  EXPECT_EQ(Tally().rate(), 0);
}

TEST(Compare, PairsQuestionsByTheirIds) {
  const std::vector<QuestionResult> first = {ResultOf("1", "a", true),  ResultOf("2", "a", true),
                                             ResultOf("3", "b", false), ResultOf("4", "b", true),
                                             Skipped("5", "b"),         ResultOf("6", "b", true)};
  const std::vector<QuestionResult> second = {ResultOf("4", "b", true),  ResultOf("3", "b", true),
                                              ResultOf("2", "a", false), ResultOf("1", "a", true),
                                              ResultOf("5", "b", true),  ResultOf("7", "c", true),
                                              Skipped("6", "b")};
  const Comparison comparison = Compare(first, second).value();
  EXPECT_EQ(comparison.all.both, 4U);
  EXPECT_EQ(comparison.all.first_right, 3U);
  EXPECT_EQ(comparison.all.second_right, 3U);
  EXPECT_EQ(comparison.all.only_first, 1U);
  EXPECT_EQ(comparison.all.only_second, 1U);
  EXPECT_EQ(comparison.all.p(), McNemarP(1, 1));
  EXPECT_EQ(comparison.only_in_first, 1U);   // 6
  EXPECT_EQ(comparison.only_in_second, 2U);  // 5 and 7
  ASSERT_EQ(comparison.changes.size(), 2U);
  EXPECT_EQ(comparison.changes[0].first, &first[1]);
  EXPECT_EQ(comparison.changes[0].second, &second[2]);
  ASSERT_EQ(comparison.categories.size(), 2U);
  EXPECT_EQ(comparison.categories[0].tally.only_first, 1U);
  EXPECT_EQ(comparison.categories[1].tally.only_second, 1U);
}

TEST(Compare, OfTheSameResultsFindsNothing) {
  const std::vector<QuestionResult> results = {ResultOf("1", "a", true), ResultOf("2", "a", false)};
  const Comparison comparison = Compare(results, results).value();
  EXPECT_TRUE(comparison.changes.empty());
  EXPECT_EQ(comparison.all.p(), 1);
  EXPECT_EQ(Compare({}, {})->all.both, 0U);
}

TEST(Compare, RefusesOtherQuestionsOfTheSameName) {
  const std::vector<QuestionResult> first = {ResultOf("1", "a", true)};
  std::vector<QuestionResult> second = first;
  second[0].expected = "8";
  EXPECT_THAT(Compare(first, second).error().message(), testing::HasSubstr("\"1\""));
  second = {ResultOf("1", "b", true)};
  EXPECT_FALSE(Compare(first, second).ok());
}

}  // namespace
}  // namespace aster::eval
