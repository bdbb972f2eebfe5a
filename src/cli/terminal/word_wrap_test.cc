// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/terminal/word_wrap.h"

#include <gtest/gtest.h>

namespace aster::cli {
namespace {

std::string Wrapped(std::string_view text, size_t columns, size_t piece = 1000) {
  WordWrap wrap(columns);
  std::string shown;
  for (size_t at = 0; at < text.size(); at += piece) shown += wrap.Add(text.substr(at, piece));
  return shown + wrap.Flush();
}

TEST(WordWrap, BreaksBetweenWords) {
  EXPECT_EQ(Wrapped("one two three four", 9), "one two\nthree\nfour");
  EXPECT_EQ(Wrapped("one two", 7), "one two");
  EXPECT_EQ(Wrapped("one two\nthree", 9), "one two\nthree");
  EXPECT_EQ(Wrapped("one two three", 0), "one two three");
}

TEST(WordWrap, PiecesDoNotMatter) {
  const std::string_view text = "The quick brown fox  jumps over\n\n  the lazy dog. ";
  for (size_t piece = 1; piece < text.size(); ++piece) {
    EXPECT_EQ(Wrapped(text, 10, piece), Wrapped(text, 10)) << piece;
  }
}

TEST(WordWrap, ShowsEveryWordThatIsWhole) {
  WordWrap wrap(20);
  EXPECT_EQ(wrap.Add("one tw"), "one");
  EXPECT_EQ(wrap.Add("o "), " two");
  EXPECT_EQ(wrap.Flush(), " ");
}

TEST(WordWrap, BlanksStayButAtABreak) {
  EXPECT_EQ(Wrapped("  - one  two", 20), "  - one  two");
  EXPECT_EQ(Wrapped("one  two ", 4), "one\ntwo ");
  EXPECT_EQ(Wrapped("one \ntwo", 9), "one \ntwo");
}

TEST(WordWrap, LeavesCodeAlone) {
  EXPECT_EQ(Wrapped("a b c\n```py\nx = 1 + 2\n```\na b c", 4),
            "a b\nc\n```py\nx = 1 + 2\n```\na b\nc");
}

TEST(WordWrap, WordsLongerThanALineStayWhole) {
  EXPECT_EQ(Wrapped("abcdefghij k", 4), "abcdefghij k");
  EXPECT_EQ(Wrapped("abcdefghij kl", 4), "abcdefghij\nkl");
  EXPECT_EQ(Wrapped("\u4f60\u597d\u4f60 a b", 4), "\u4f60\u597d\u4f60 a\nb");
}

}  // namespace
}  // namespace aster::cli
