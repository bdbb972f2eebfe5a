// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "text/special_matcher.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/random.h"

namespace aster::text {
namespace {

TEST(SpecialMatcherTest, FindsTheFirstAndThenTheLongest) {
  SpecialMatcher matcher;
  matcher.Add("<a>", 1);
  matcher.Add("<a><b>", 2);
  matcher.Add("x", 3);
  const std::string_view text = "..<a>x<a><b>";
  auto match = matcher.FindMtp(text, 0);
  ASSERT_TRUE(match);
  EXPECT_EQ(match->id, 1);
  EXPECT_EQ(match->begin, 2U);
  EXPECT_EQ(match->end, 5U);
  match = matcher.FindMtp(text, match->end);
  ASSERT_TRUE(match);
  EXPECT_EQ(match->id, 3);
  match = matcher.FindMtp(text, match->end);
  ASSERT_TRUE(match);
  EXPECT_EQ(match->id, 2);
  EXPECT_FALSE(matcher.FindMtp(text, match->end));
}

TEST(SpecialMatcherTest, NothingIsFoundInAnEmptyTextOrWithoutTokens) {
  SpecialMatcher matcher;
  EXPECT_FALSE(matcher.FindMtp("anything", 0));
  matcher.Add("<|end|>", 1);
  EXPECT_FALSE(matcher.FindMtp("", 0));
  EXPECT_FALSE(matcher.FindMtp("<|end|", 0));
  EXPECT_FALSE(matcher.FindMtp("<|end|>", 1));
}

TEST(SpecialMatcherTest, AgreesWithALookAtEveryPlace) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    const auto word = [&random](size_t max_size) {
      std::string text(1 + random.NextBelow(max_size), '\0');
      for (char& c : text) c = static_cast<char>('a' + random.NextBelow(3));
      return text;
    };
    SpecialMatcher matcher;
    std::map<std::string, TokenId> tokens;
    for (TokenId id = 0; id < 6; ++id) {
      const std::string token = word(5);
      tokens[token] = id;
      matcher.Add(token, id);
    }
    const std::string text = word(60);
    for (size_t from = 0; from <= text.size();) {
      const auto match = matcher.FindMtp(text, from);
      size_t begin = from;
      const std::pair<const std::string, TokenId>* longest = nullptr;
      for (; begin < text.size() && longest == nullptr; ++begin) {
        for (const auto& token : tokens) {
          if (text.compare(begin, token.first.size(), token.first) != 0) continue;
          if (longest == nullptr || token.first.size() > longest->first.size()) longest = &token;
        }
      }
      ASSERT_EQ(match.has_value(), longest != nullptr);
      if (!match) break;
      ASSERT_EQ(match->begin, begin - 1);
      ASSERT_EQ(match->id, longest->second);
      from = match->end;
    }
  }
}

}  // namespace
}  // namespace aster::text
