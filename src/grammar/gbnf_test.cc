// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "grammar/gbnf.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "grammar/matcher.h"

namespace aster::grammar {
namespace {

bool MatchesGbnf(std::string_view gbnf, std::string_view text) {
  const auto grammar = ParseGbnf(gbnf);
  EXPECT_TRUE(grammar.ok()) << (grammar.ok() ? "" : grammar.error().message());
  if (!grammar.ok()) return false;
  Matcher matcher(**grammar);
  StateId state = matcher.start();
  for (const char c : text) {
    if (state == kDead) return false;
    state = matcher.Next(state, static_cast<uint8_t>(c));
  }
  return state != kDead && matcher.CanEnd(state);
}

std::string ErrorOfGbnf(std::string_view gbnf) {
  const auto grammar = ParseGbnf(gbnf);
  return grammar.ok() ? "" : grammar.error().message();
}

TEST(Gbnf, Rules) {
  constexpr std::string_view kMoves = R"(# a few moves of chess
root ::= "1. " move " " move "\n" ([1-9] [0-9]? ". " move " " move "\n")+
move ::= (pawn
        | nonpawn
        | castle) [+#]?
nonpawn ::= [NBKQR] [a-h]? [1-8]? "x"? [a-h] [1-8]
pawn ::= ([a-h] "x")? [a-h] [1-8] ("=" [NBKQR])?
castle ::= "O-O" "-O"?
)";
  EXPECT_TRUE(MatchesGbnf(kMoves, "1. e4 e5\n2. Nf3 Nc6\n"));
  EXPECT_FALSE(MatchesGbnf(kMoves, "1. e4 e9\n2. Nf3 Nc6\n"));
  EXPECT_TRUE(MatchesGbnf("root ::= \"a\"{2,3}", "aaa"));
  EXPECT_FALSE(MatchesGbnf("root ::= \"a\"{2,3}", "aaaa"));
  EXPECT_TRUE(MatchesGbnf("root ::= \"a\"{2,}", "aaaaa"));
  EXPECT_FALSE(MatchesGbnf("root ::= \"a\"{2}", "a"));
  EXPECT_TRUE(MatchesGbnf("root ::= [^a-cä]*", "xyzö😀"));
  EXPECT_FALSE(MatchesGbnf("root ::= [^a-cä]*", "xä"));
  EXPECT_TRUE(MatchesGbnf("root ::= .", "\xf0\x9f\x98\x80"));
  EXPECT_FALSE(MatchesGbnf("root ::= .", "\xed\xa0\x80"));
  EXPECT_TRUE(MatchesGbnf("root ::= \"\\x41\\u00e9\" [\\]\\-]", "Aé-"));
  EXPECT_TRUE(MatchesGbnf("root ::= a\n  | b\na ::= \"x\"\nb ::= \"y\"", "y"));
  EXPECT_TRUE(MatchesGbnf("root ::= \"(\" root \")\" | \"\"", "((()))"));
}

TEST(Gbnf, WhatIsNone) {
  EXPECT_NE(ErrorOfGbnf(""), "");
  EXPECT_THAT(ErrorOfGbnf("root ::= other"), testing::HasSubstr("other"));
  EXPECT_THAT(ErrorOfGbnf("root ::= root \"x\""), testing::HasSubstr("begins with itself"));
  EXPECT_THAT(ErrorOfGbnf("root ::= (\"x\"*)*"), testing::HasSubstr("begins with itself"));
  EXPECT_THAT(ErrorOfGbnf("root ::= \"x\" root"), testing::HasSubstr("can end"));
  EXPECT_THAT(ErrorOfGbnf("root ::= \"x"), testing::HasSubstr("line 1"));
  EXPECT_THAT(ErrorOfGbnf("a ::= \"x\"\na ::= \"y\""), testing::HasSubstr("line 2"));
  EXPECT_NE(ErrorOfGbnf("root ::= [z-a]"), "");
  EXPECT_NE(ErrorOfGbnf("root ::= \"a\"{5,2}"), "");
  EXPECT_NE(ErrorOfGbnf("root ::= \"a\"{99999999}"), "");
  EXPECT_NE(ErrorOfGbnf("root ::= " + std::string(100000, '(')), "");
  EXPECT_NE(ErrorOfGbnf("root ::= \"\\"), "");
}

// Thirty rules, each twice the next, all optional: a billion ways to read "x".
std::string Doubling(size_t rules) {
  std::string gbnf = "root ::= a0 \"x\"\n";
  for (size_t i = 0; i < rules; ++i) gbnf += fmt::format("a{0} ::= a{1} a{1}\n", i, i + 1);
  return gbnf + fmt::format("a{} ::= \"\"\n", rules);
}

TEST(Gbnf, WhatCanBeReadInTooManyWaysFails) {
  EXPECT_TRUE(MatchesGbnf(Doubling(10), "x"));
  const auto grammar = ParseGbnf(Doubling(30));
  ASSERT_TRUE(grammar.ok());
  const Matcher matcher(**grammar);
  EXPECT_TRUE(matcher.has_failed());
}

// Four thousand places at once are still followed, each visited once for each byte.
TEST(Gbnf, PlacesThatAreMetAgainCostNothing) {
  const auto grammar = ParseGbnf("root ::= ([\\x00-\\x7f]?){0,4096}");
  ASSERT_TRUE(grammar.ok()) << grammar.error().message();
  Matcher matcher(**grammar);
  const uint64_t before = matcher.work_left();
  const StateId state = matcher.Next(matcher.start(), 'a');
  EXPECT_TRUE(matcher.CanEnd(state));
  EXPECT_FALSE(matcher.has_failed());
  EXPECT_LT(before - matcher.work_left(), 200'000U);
}

TEST(Gbnf, WhatIsTooLargeIsRefusedBeforeItIsMade) {
  std::string repeated = "root ::= \"a\"";
  for (int i = 0; i < 10'000; ++i) repeated += "{4096}";
  EXPECT_THAT(ErrorOfGbnf(repeated), testing::HasSubstr("too large"));
  // Rules in the worst order for finding those that may be empty.
  std::string chain = "root ::= \"x\" r0\n";
  for (int i = 0; i < 2500; ++i) chain += fmt::format("r{} ::= r{}\n", i, i + 1);
  EXPECT_TRUE(MatchesGbnf(chain + "r2500 ::= \"\"\n", "x"));
  EXPECT_NE(ErrorOfGbnf(std::string(kMaxGbnfBytes + 1, ' ')), "");
}

}  // namespace
}  // namespace aster::grammar
