// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "eval/canonical_json.h"

#include <gtest/gtest.h>

namespace aster::eval {
namespace {

std::string Repeated(std::string_view piece, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += piece;
  return text;
}

TEST(SameJson, ValuesThatPythonHoldsForEqual) {
  const std::pair<const char*, const char*> kSame[] = {
      {"1", " 1.0\n"},
      {"true", "1"},
      {"false", "-0.0"},
      {"-0", "0"},
      {"1e2", "100"},
      {"1E+2", "100.0"},
      {"12345678901234567890123", "12345678901234567890123"},
      {"1e22", "10000000000000000000000"},
      {"[]", "[ ]"},
      {"{}", "{\t}"},
      {R"("\u00e9")", R"("é")"},
      {R"("\ud83d\ude00")", R"("😀")"},
      {R"("\ud83d")", R"("\uD83D")"},
      {R"({"a": 1, "b": 2})", R"({"b": 2, "a": 1})"},
      {R"({"a": 1, "a": 2})", R"({"a": 2})"},
      {"Infinity", "1e400"},
      {"-Infinity", "-1e999999999999999999999"},
      {"1e-400", "0"},
      {"0e999", "0"},
      {"[NaN]", "[NaN]"},
      {"0.1", "1e-1"},
  };
  for (const auto& [a, b] : kSame) {
    EXPECT_TRUE(SameJson(a, b)) << a << " and " << b;
    EXPECT_TRUE(SameJson(b, a)) << b << " and " << a;
  }
}

TEST(SameJson, ValuesThatDiffer) {
  const std::pair<const char*, const char*> kOther[] = {
      {"1", "2"},
      {"1", "\"1\""},
      {"1", "[1]"},
      {"null", "null"},
      {"NaN", "NaN"},
      {"[null]", "[0]"},
      {"[1, 2]", "[2, 1]"},
      {"[1, 2]", "[1]"},
      {"[[1], 2]", "[[1, 2]]"},
      {R"("a")", R"("A")"},
      {R"("a ")", R"("a")"},
      {R"({"a": 1})", R"({"a": 1, "b": 1})"},
      {R"({"1": 1})", R"([1])"},
      {R"(["a", "b"])", R"(["a,\"1:b"])"},
      {"9007199254740993", "9007199254740992.0"},
      {"100000000000000000000000", "1e23"},
      {"0.1", "0.10000000000000002"},
      {"Infinity", "-Infinity"},
      {R"("\ud83d\ude00")", R"("\ude00\ud83d")"},
  };
  for (const auto& [a, b] : kOther) EXPECT_FALSE(SameJson(a, b)) << a << " and " << b;
}

TEST(CanonicalJson, RefusesWhatIsNone) {
  for (const char* text : {"",
                           " ",
                           "x",
                           "01",
                           "1.",
                           ".5",
                           "+1",
                           "-",
                           "- 1",
                           "1e",
                           "1e+",
                           "0x1",
                           "1_0",
                           "nan",
                           "-NaN",
                           "inf",
                           "tru",
                           "truex",
                           "'a'",
                           "\"a",
                           "\"\\x\"",
                           "\"\\u12\"",
                           "\"\\u12g4\"",
                           "\"\\ud83d\\u12\"",
                           "\"\t\"",
                           "\"\n\"",
                           "[1,]",
                           "[,1]",
                           "[1 2]",
                           "[1",
                           "1]",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{a:1}",
                           "{1:1}",
                           "{\"a\":1,}",
                           "{\"a\":1",
                           "[1]x",
                           "1 2",
                           "\xef\xbb\xbf"
                           "1",
                           "\v1",
                           "\xc2\xa0"
                           "1",
                           "/**/1"}) {
    EXPECT_FALSE(CanonicalJson(text).has_value()) << text;
  }
}

TEST(CanonicalJson, IntegersAreAsLongAsPythonTakesThem) {
  const std::string longest = "-" + Repeated("7", 4300);
  EXPECT_EQ(CanonicalJson(longest), longest);
  EXPECT_EQ(CanonicalJson(longest + "7"), std::nullopt);
  EXPECT_TRUE(CanonicalJson(Repeated("7", 5000) + ".5").has_value());
}

TEST(CanonicalJson, DepthIsBounded) {
  const auto nested = [](size_t depth) { return Repeated("[", depth) + Repeated("]", depth); };
  EXPECT_TRUE(CanonicalJson(nested(kMaxJsonDepth)).has_value());
  EXPECT_FALSE(CanonicalJson(nested(1'000'000)).has_value());
  EXPECT_FALSE(CanonicalJson(Repeated("{\"a\":", 1'000'000)).has_value());
}

}  // namespace
}  // namespace aster::eval
