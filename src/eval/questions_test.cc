// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "eval/questions.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/folders_for_test.h"

namespace aster::eval {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Line(const std::string& id, const std::string& category) {
  return fmt::format(
      R"({{"id": "{}", "category": "{}", "messages": [{{"role": "user", "content": "?"}}],)"
      R"( "answer": "8", "extract": "final"}})"
      "\n",
      id, category);
}

QuestionSet Set(const std::vector<std::pair<std::string, int>>& categories) {
  std::string text;
  for (const auto& [category, count] : categories) {
    for (int i = 0; i < count; ++i) text += Line(fmt::format("{}-{}", category, i), category);
  }
  return ParseQuestions(text).value();
}

TEST(Questions, AreRead) {
  const std::string tools = R"([{"type": "function", "function": {"name": "add"}}])";
  std::string line = Line("a", "long recall");
  line.insert(line.size() - 2, ", \"tools\": " + tools);
  const QuestionSet set = ParseQuestions("\n" + line + " \r\n" + Line("b", "JSON")).value();
  ASSERT_EQ(set.questions.size(), 2U);
  EXPECT_THAT(set.categories, ElementsAre("long recall", "JSON"));
  EXPECT_EQ(set.questions[0].tools.dump(), nlohmann::ordered_json::parse(tools).dump());
  EXPECT_TRUE(set.questions[1].tools.is_null());
  EXPECT_EQ(set.questions[1].extract, Extract::kFinal);
  EXPECT_EQ(set.questions[1].messages[0]["content"], "?");
}

TEST(Questions, TheHashIsOfTheWholeFile) {
  EXPECT_NE(ParseQuestions(Line("a", "x"))->hash, ParseQuestions(Line("a", "x") + "\n")->hash);
}

TEST(Questions, WhatIsNoneIsRefusedWithItsLine) {
  const std::string good = Line("a", "x");
  for (const std::string& bad : std::vector<std::string>{
           "[]", "{", "7", "{}", R"({"id": 7})", std::string(1 << 20, '['),
           R"({"id": "b", "category": "x", "messages": [], "answer": "8", "extract": "final"})",
           R"({"id": "b", "category": "x", "messages": [7], "answer": "8", "extract": "final"})",
           R"({"id": "b", "category": "x", "messages": [{"role": "user"}], "answer": "8",)"
           R"( "extract": "final"})",
           R"({"id": "b", "category": "x", "messages": [{"role": "user", "content": ""}],)"
           R"( "answer": "8", "extract": "maybe"})",
           R"({"id": "b", "category": "x", "messages": [{"role": "user", "content": ""}],)"
           R"( "answer": 8, "extract": "final"})",
           R"({"id": "", "category": "x", "messages": [{"role": "user", "content": ""}],)"
           R"( "answer": "8", "extract": "final"})",
           R"({"id": "b", "category": "x", "messages": [{"role": "user", "content": ""}],)"
           R"( "answer": "8", "extract": "final", "tools": "add"})"}) {
    const auto parsed = ParseQuestions(good + bad);
    ASSERT_FALSE(parsed.ok()) << bad.substr(0, 80);
    EXPECT_THAT(parsed.error().message(), HasSubstr("line 2")) << bad.substr(0, 80);
  }
  EXPECT_THAT(ParseQuestions(good + good).error().message(), HasSubstr("second question"));
  EXPECT_FALSE(ParseQuestions("").ok());
  EXPECT_FALSE(ParseQuestions("\n \n").ok());
}

TEST(Select, TakesAllOrSomeCategories) {
  const QuestionSet set = Set({{"word problems", 2}, {"JSON", 1}, {"facts", 2}});
  EXPECT_THAT(Select(set, {}).value(), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(Select(set, {.categories = {"facts", "json"}}).value(), ElementsAre(2, 3, 4));
  EXPECT_THAT(Select(set, {.categories = {"Word-Problems"}}).value(), ElementsAre(0, 1));
  const auto unknown = Select(set, {.categories = {"fact"}});
  EXPECT_THAT(unknown.error().message(), HasSubstr("word problems, JSON, facts"));
}

TEST(Select, ALimitIsSharedFairly) {
  const QuestionSet set = Set({{"a", 10}, {"b", 1}, {"c", 4}});
  EXPECT_THAT(Select(set, {.limit = 2}).value(), ElementsAre(0, 10));
  EXPECT_THAT(Select(set, {.limit = 3}).value(), ElementsAre(0, 10, 11));
  // Three of the ten, spread over them; the one; two of the four.
  EXPECT_THAT(Select(set, {.limit = 6}).value(), ElementsAre(0, 3, 6, 10, 11, 13));
  EXPECT_EQ(Select(set, {.limit = 15})->size(), 15U);
  EXPECT_EQ(Select(set, {.limit = 1'000'000'000'000})->size(), 15U);
  EXPECT_THAT(Select(set, {.categories = {"c"}, .limit = 2}).value(), ElementsAre(11, 13));
}

TEST(Questions, OursAreGood) {
  const std::string path = ASTER_SOURCE_DIR "/models/questions.jsonl";
  const QuestionSet set = ParseQuestions(ReadFile(path, kMaxQuestionBytes).value()).value();
  EXPECT_GE(set.questions.size(), 400U);
  EXPECT_GE(set.categories.size(), 8U);
  for (const Question& question : set.questions) {
    // The answer, written as a reply, is right.
    const std::string reply = question.extract == Extract::kFinal
                                  ? "So it is.\nAnswer: " + question.answer
                                  : question.answer;
    EXPECT_TRUE(IsRight(reply, question.answer, question.extract)) << question.id;
    EXPECT_FALSE(IsRight(reply + "x", question.answer, question.extract) &&
                 question.extract != Extract::kCall)
        << question.id;
  }
}

}  // namespace
}  // namespace aster::eval
