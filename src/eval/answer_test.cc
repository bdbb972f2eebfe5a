// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "eval/answer.h"

#include <gtest/gtest.h>

namespace aster::eval {
namespace {

TEST(PlainText, IgnoresCaseSpaceAndFullStopsAtTheEnd) {
  EXPECT_EQ(PlainText("  The  Roof\tis\n RED.. "), "the roof is red");
  EXPECT_EQ(PlainText(""), "");
  EXPECT_EQ(PlainText(" \n "), "");
  EXPECT_EQ(PlainText("..."), "");
  EXPECT_EQ(PlainText("3.50."), "3.50");
  // A separate full stop leaves the space before it.
  EXPECT_EQ(PlainText("red ."), "red ");
  EXPECT_EQ(PlainText(".red"), ".red");
}

TEST(PlainText, KnowsCharactersBeyondAscii) {
  EXPECT_EQ(PlainText("a\u00a0b\u2003\u3000c\u0085"), "a b c");
  EXPECT_EQ(PlainText("ÄRGER STRAẞE"), "ärger straße");
  EXPECT_EQ(PlainText("ΟΔΟΣ ΣΑ"), "οδος σα");
  EXPECT_EQ(PlainText("a\u200bb"), "a\u200bb");  // not a space in Python
  EXPECT_EQ(PlainText("\xff\xfe X"), "\uFFFD\uFFFD x");
}

TEST(Final, IsTheLineBehindTheLastMark) {
  EXPECT_EQ(FindAnswer("Answer: 1\nAnswer: 22 \nmore", Extract::kFinal), " 22 ");
  EXPECT_EQ(FindAnswer("Answer:", Extract::kFinal), "");
  EXPECT_EQ(FindAnswer("Answer:\n8", Extract::kFinal), "");
  EXPECT_EQ(FindAnswer("answer: 8", Extract::kFinal), std::nullopt);
  EXPECT_TRUE(IsRight("4 + 4 = 8\nAnswer: 8.", "8", Extract::kFinal));
  EXPECT_FALSE(IsRight("8", "8", Extract::kFinal));
  EXPECT_FALSE(IsRight("Answer: 8 plums", "8", Extract::kFinal));
  EXPECT_FALSE(IsRight("Answer: 8\nAnswer: 9", "8", Extract::kFinal));
  EXPECT_FALSE(IsRight("Answer:\n8", "8", Extract::kFinal));
  // An empty answer can be the right one.
  EXPECT_TRUE(IsRight("Answer: \n", "", Extract::kFinal));
  EXPECT_FALSE(IsRight("", "", Extract::kFinal));
}

TEST(Whole, IsTheWholeReply) {
  EXPECT_TRUE(IsRight("The scarf is\nin the mill", "the scarf is in the mill.", Extract::kWhole));
  EXPECT_FALSE(
      IsRight("I think the scarf is in the mill", "the scarf is in the mill.", Extract::kWhole));
  EXPECT_TRUE(IsRight("", "", Extract::kWhole));
  EXPECT_TRUE(IsRight("...", "", Extract::kWhole));
}

TEST(Json, IsComparedByValue) {
  EXPECT_TRUE(
      IsRight(R"( {"b": [1, 2.0], "a": "x"} )", R"({"a":"\u0078","b":[1.0,2]})", Extract::kJson));
  EXPECT_FALSE(IsRight(R"({"a": 1} and so on)", R"({"a": 1})", Extract::kJson));
  EXPECT_FALSE(IsRight("null", "null", Extract::kJson));
  EXPECT_FALSE(IsRight("x", "x", Extract::kJson));
}

TEST(Call, StandsBetweenTheFirstMarks) {
  const std::string answer = R"(<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>)";
  EXPECT_TRUE(IsRight("Well: " + answer + " done", answer, Extract::kCall));
  EXPECT_TRUE(IsRight(R"(<tool_call>
{"arguments": {"a": 1.0}, "name": "add"}
</tool_call>)",
                      answer, Extract::kCall));
  EXPECT_FALSE(IsRight(R"({"name": "add", "arguments": {"a": 1}})", answer, Extract::kCall));
  EXPECT_FALSE(IsRight("</tool_call>" + answer, answer, Extract::kCall));
  EXPECT_FALSE(IsRight("<tool_call>" + answer, answer, Extract::kCall));
  EXPECT_FALSE(
      IsRight("<tool_call>null</tool_call>", "<tool_call>null</tool_call>", Extract::kCall));
  EXPECT_EQ(FindAnswer("<tool_call></tool_call>", Extract::kCall), "");
}

TEST(Extract, IsCalledByName) {
  for (const Extract extract : {Extract::kFinal, Extract::kWhole, Extract::kJson, Extract::kCall}) {
    EXPECT_EQ(ParseExtract(ExtractName(extract)).value(), extract);
  }
  EXPECT_EQ(ParseExtract("first").error().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace aster::eval
