// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "grammar/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <regex>

#include "grammar/matcher.h"

namespace aster::grammar {
namespace {

class Texts {
 public:
  explicit Texts(std::string_view pattern, LengthRange length = {}) {
    const RuleId root = grammar_.AddRule();
    const auto added = AddPattern(pattern, length, grammar_);
    EXPECT_TRUE(added.ok()) << pattern << ": " << (added.ok() ? "" : added.error().message());
    if (added.ok()) grammar_.AddAlternative(root, {*added});
    EXPECT_TRUE(grammar_.Finish().ok());
    matcher_.emplace(grammar_);
  }
  // Whether the grammar matches the text; escapes are as in JSON.
  bool Has(std::string_view text) {
    StateId state = matcher_->start();
    for (const char c : text) state = matcher_->Next(state, static_cast<uint8_t>(c));
    return matcher_->CanEnd(state);
  }

 private:
  Grammar grammar_;
  std::optional<Matcher> matcher_;
};

std::string ErrorOfPattern(std::string_view pattern, LengthRange length = {}) {
  Grammar grammar;
  grammar.AddRule();
  const auto added = AddPattern(pattern, length, grammar);
  return added.ok() ? "" : added.error().message();
}

// All texts of up to `length` of these characters.
std::vector<std::string> AllTexts(std::string_view characters, size_t length) {
  std::vector<std::string> texts = {""};
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].size() == length) break;
    for (const char c : characters) texts.push_back(texts[i] + c);
  }
  return texts;
}

// Compares with the standard library's expressions of the same language.
TEST(Pattern, FindsWhatOthersFind) {
  const std::vector<std::string> texts = AllTexts("ab1-", 5);
  for (const char* pattern : {"a",
                              "^a",
                              "a$",
                              "^a$",
                              "^$",
                              "",
                              "ab|ba",
                              "^ab|ba$",
                              "^(ab|ba)$",
                              "^a*$",
                              "^a+b?$",
                              "^(a|b)*1$",
                              "^[ab]{2,3}$",
                              "^[^a]+$",
                              "^a{2}$",
                              "^a{2,}$",
                              "^(ab){1,2}$",
                              "^(?:a|b1)+?-$",
                              "^\\w+$",
                              "^\\W*$",
                              "^\\d\\D$",
                              "^[\\d-]+$",
                              "^[a-b1]*$",
                              "^.b.$",
                              "a.*b",
                              "^(a*)*$",
                              "^(a?){3}$",
                              "^((a|b)1)*$",
                              "^(|a)b$",
                              "^\\x61\\u0062$",
                              "^[-a]+$",
                              "^(a{0,2}b){2}$",
                              "^a(b(1|-)?)+$",
                              "^()$",
                              "1{1}",
                              "^(a|ab)(1|b1)$",
                              "^a??b$"}) {
    Texts ours(pattern);
    const std::regex theirs(pattern, std::regex::ECMAScript);
    for (const std::string& text : texts)
      ASSERT_EQ(ours.Has(text), std::regex_search(text, theirs)) << pattern << " in " << text;
  }
}

TEST(Pattern, WithLengths) {
  const std::vector<std::string> texts = AllTexts("ab", 6);
  for (const char* pattern : {"^a*$", "a", "^(ab)*$", "^[ab]{1,4}b$", "^a|b$"}) {
    const std::regex theirs(pattern, std::regex::ECMAScript);
    for (const LengthRange length : {LengthRange{0, 0}, LengthRange{0, 3}, LengthRange{2, 2},
                                     LengthRange{2, kNoMaximum}, LengthRange{3, 5}}) {
      const bool any = std::ranges::any_of(texts, [&](const std::string& text) {
        return std::regex_search(text, theirs) && text.size() >= length.minimum &&
               text.size() <= length.maximum;
      });
      if (!any) {
        EXPECT_THAT(ErrorOfPattern(pattern, length), testing::HasSubstr("no text"));
        continue;
      }
      Texts ours(pattern, length);
      for (const std::string& text : texts) {
        const bool is_in = std::regex_search(text, theirs) && text.size() >= length.minimum &&
                           text.size() <= length.maximum;
        ASSERT_EQ(ours.Has(text), is_in)
            << pattern << " of " << length.minimum << " to " << length.maximum << " in " << text;
      }
    }
  }
  EXPECT_THAT(ErrorOfPattern("^(aaa)+$", {.minimum = 4, .maximum = 5}),
              testing::HasSubstr("no text"));
}

TEST(Pattern, CharactersAreThoseOfJson) {
  Texts quotes(R"(^["\\/\n]+$)");
  EXPECT_TRUE(quotes.Has(R"(\"\\/\n)"));
  EXPECT_FALSE(quotes.Has("\""));
  EXPECT_FALSE(quotes.Has("\n"));
  Texts controls("^[\\x00-\\x1f]$");
  EXPECT_TRUE(controls.Has("\\u0001"));
  EXPECT_TRUE(controls.Has("\\t"));
  EXPECT_FALSE(controls.Has("\t"));
  Texts any("^.$");
  EXPECT_TRUE(any.Has("é"));
  EXPECT_TRUE(any.Has("😀"));
  EXPECT_FALSE(any.Has("\xff"));
  EXPECT_FALSE(any.Has("\\n"));
  Texts letters("^[ä-ü]\\uD83D\\uDE00\\u{1F600}$");
  EXPECT_TRUE(letters.Has("ö😀😀"));
  EXPECT_FALSE(letters.Has("o😀😀"));
}

TEST(Pattern, WhatIsNotRegularIsRefusedByName) {
  for (const auto& [pattern, why] :
       {std::pair("(?=a)", "ahead"),        std::pair("(?<!a)b", "behind"),
        std::pair("(a)\\1", "refers"),      std::pair("\\bword\\b", "borders"),
        std::pair("\\p{L}", "properties"),  std::pair("(^a)", "anchor"),
        std::pair("a$b", "anchor"),         std::pair("a^b", "anchor"),
        std::pair("*a", "repeats nothing"), std::pair("a**", "repeats a repetition"),
        std::pair("(a", "without a )"),     std::pair("a)", "too many"),
        std::pair("[a", "without a ]"),     std::pair("[b-a]", "range"),
        std::pair("a{3,2}", "below"),       std::pair("a{x}", "number"),
        std::pair("a{99999}", "more than"), std::pair("\\", "backslash"),
        std::pair("\\q", "escape"),         std::pair("\\u12", "hex"),
        std::pair("\\uD800", "half"),       std::pair("(?i:a)", "flags"),
        std::pair("[]", "no text")}) {
    EXPECT_THAT(ErrorOfPattern(pattern), testing::HasSubstr(why)) << pattern;
  }
}

TEST(Pattern, LargeOnesAreRefusedSoon) {
  EXPECT_NE(ErrorOfPattern("((a{1000}){1000}){1000}"), "");
  EXPECT_NE(ErrorOfPattern("((a?){4000}){4000}"), "");
  EXPECT_EQ(ErrorOfPattern("(((){4000}){4000}){4000}"), "");
  EXPECT_NE(ErrorOfPattern(std::string(100, '(') + std::string(100, ')')), "");
  EXPECT_NE(ErrorOfPattern(std::string(100'000, 'a')), "");
  EXPECT_NE(ErrorOfPattern("^(a|b)*c{3000}$", {.minimum = 4000, .maximum = 4096}), "");
  EXPECT_EQ(ErrorOfPattern("^.{0,1000}$"), "");
}

}  // namespace
}  // namespace aster::grammar
