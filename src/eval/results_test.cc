// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "eval/results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "eval/result_file.h"

namespace aster::eval {
namespace {

using testing::AllOf;
using testing::HasSubstr;

ResultHeader Header() {
  return {.model = "nova.gguf",
          .fingerprint = "abc",
          .questions = "def",
          .settings = {{"temperature", "0"}, {"max_tokens", "300"}}};
}

QuestionResult Result1() {
  return {.id = "addition-00",
          .category = "addition",
          .prompt_tokens = 20,
          .skipped = false,
          .reply_tokens = 30,
          .reply = "4 + 4 = 8\nAnswer: 8 \"\\ \u00e9",
          .extracted = " 8 \"\\ \u00e9",
          .expected = "8",
          .right = false,
          .finish = "stop token",
          .waited_s = 0.1,
          .prefill_s = 1.0 / 3,
          .decode_s = 1e-9};
}

TEST(Results, AreReadAsTheyWereWritten) {
  QuestionResult second = Result1();
  second.id = "addition-01";
  second.extracted.reset();
  QuestionResult skipped{
      .id = "long", .category = "recall", .prompt_tokens = 9000, .skipped = true};
  const std::string text = FormatHeader(Header()) + FormatResult(Result1()) + FormatResult(second) +
                           FormatResult(skipped);
  const Results results = ParseResults(text).value();
  EXPECT_EQ(results.header, Header());
  EXPECT_THAT(results.results, testing::ElementsAre(Result1(), second, skipped));
  EXPECT_EQ(results.whole_bytes, text.size());
}

TEST(Results, OfAnInterruptedRunEndWithTheLastWholeLine) {
  const std::string whole = FormatHeader(Header()) + FormatResult(Result1());
  const std::string next = FormatResult(Result1());
  for (size_t size = 0; size < next.size(); ++size) {
    const Results results = ParseResults(whole + next.substr(0, size)).value();
    EXPECT_EQ(results.results.size(), 1U);
    EXPECT_EQ(results.whole_bytes, whole.size());
  }
}

TEST(Results, BytesThatAreNoCharactersAreReplaced) {
  QuestionResult result = Result1();
  result.reply = "a\xff";
  const Results results = ParseResults(FormatHeader(Header()) + FormatResult(result)).value();
  EXPECT_EQ(results.results[0].reply, "a\ufffd");
}

TEST(Results, DamageIsNamedByItsLine) {
  const std::string header = FormatHeader(Header());
  for (const std::string& bad : std::vector<std::string>{
           "\n", "7\n", "{}\n", "{\"id\": \"a\"}\n", header,
           "{\"id\": \"a\", \"category\": \"x\", \"prompt_tokens\": -1}\n",
           "{\"id\": \"a\", \"category\": \"x\", \"prompt_tokens\": 1, \"reply_tokens\": 1,"
           " \"reply\": \"\", \"expected\": \"\", \"right\": 1, \"finish_reason\": \"\"}\n"}) {
    const auto parsed = ParseResults(header + bad);
    ASSERT_FALSE(parsed.ok()) << bad;
    EXPECT_THAT(parsed.error().message(), HasSubstr("line 2"));
  }
  EXPECT_THAT(
      ParseResults(header + FormatResult(Result1()) + FormatResult(Result1())).error().message(),
      HasSubstr("second result"));
  for (const std::string& bad : std::vector<std::string>{
           "", "x", "{}\n", "[]\n", FormatResult(Result1()),
           "{\"asterism_eval\": 2, \"model\": \"\", \"fingerprint\": \"\", \"questions\": \"\","
           " \"settings\": {}}\n"}) {
    EXPECT_FALSE(ParseResults(bad).ok()) << bad;
  }
}

TEST(CheckSameRun, NamesWhatDiffersAndBothValues) {
  EXPECT_TRUE(CheckSameRun(Header(), Header()).ok());
  ResultHeader other = Header();
  other.model = "the same elsewhere.gguf";
  EXPECT_TRUE(CheckSameRun(Header(), other).ok());
  other.fingerprint = "xyz";
  EXPECT_THAT(CheckSameRun(Header(), other).error().message(),
              AllOf(HasSubstr("model"), HasSubstr("abc"), HasSubstr("xyz")));
  other = Header();
  other.questions = "uvw";
  EXPECT_THAT(CheckSameRun(Header(), other).error().message(),
              AllOf(HasSubstr("questions"), HasSubstr("def"), HasSubstr("uvw")));
  other = Header();
  other.settings["temperature"] = "0.8";
  EXPECT_THAT(CheckSameRun(Header(), other).error().message(),
              AllOf(HasSubstr("temperature 0,"), HasSubstr("0.8")));
  other = Header();
  other.settings["seed"] = "3";
  EXPECT_THAT(CheckSameRun(Header(), other).error().message(),
              AllOf(HasSubstr("seed unset"), HasSubstr("3")));
}

class ResultFileTest : public testing::Test {
 protected:
  std::string Content() const { return ReadFile(path_, 1 << 20).value(); }

  TemporaryDirectory folder_ = TemporaryDirectory::Create().value();
  const std::string path_ = folder_.File("results.jsonl");
};

TEST_F(ResultFileTest, IsContinued) {
  QuestionResult second = Result1();
  second.id = "b";
  {
    ResultFile file = ResultFile::Open(path_, Header()).value();
    EXPECT_TRUE(file.earlier().empty());
    ASSERT_TRUE(file.Add(Result1()).ok());
    EXPECT_EQ(ResultFile::Open(path_, Header()).error().code(), Code::kUnavailable);
  }
  const std::string before = Content();
  ASSERT_TRUE(WriteFileAtomically(path_, AsBytes(before + "{\"id\": \"half")).ok());
  ResultFile file = ResultFile::Open(path_, Header()).value();
  EXPECT_THAT(file.earlier(), testing::ElementsAre(Result1()));
  ASSERT_TRUE(file.Add(second).ok());
  EXPECT_EQ(Content(), before + FormatResult(second));
  EXPECT_EQ(ReadResults(path_)->results.size(), 2U);
}

TEST_F(ResultFileTest, OfAnotherRunIsLeftAlone) {
  {
    ASSERT_TRUE(ResultFile::Open(path_, Header()).ok());
  }
  const std::string before = Content();
  ResultHeader other = Header();
  other.fingerprint = "xyz";
  EXPECT_THAT(ResultFile::Open(path_, other).error().message(),
              AllOf(HasSubstr(path_), HasSubstr("abc"), HasSubstr("xyz")));
  EXPECT_EQ(Content(), before);
}

TEST_F(ResultFileTest, WhatIsNoResultIsLeftAlone) {
  for (const std::string& text : std::vector<std::string>{"my notes", "my\nnotes\n", "{}"}) {
    ASSERT_TRUE(WriteFileAtomically(path_, AsBytes(text)).ok());
    EXPECT_FALSE(ResultFile::Open(path_, Header()).ok());
    EXPECT_EQ(Content(), text);
  }
}

TEST_F(ResultFileTest, AHeaderThatWasCutOffIsWrittenAgain) {
  const std::string header = FormatHeader(Header());
  ASSERT_TRUE(WriteFileAtomically(path_, AsBytes(header.substr(0, 30))).ok());
  ASSERT_TRUE(ResultFile::Open(path_, Header()).ok());
  EXPECT_EQ(Content(), header);
}

}  // namespace
}  // namespace aster::eval
