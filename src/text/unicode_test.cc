// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "text/unicode.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "text/pattern_for_test.h"

namespace aster::text {
namespace {

unsigned TraitsOf(char32_t code) { return TraitTable::Get()[code]; }

TEST(TraitTableTest, KnowsCategories) {
  EXPECT_EQ(TraitsOf('A'), kAny | kLetter | kWord | kCapital);
  EXPECT_EQ(TraitsOf('z'), kAny | kLetter | kWord | kSmall);
  EXPECT_EQ(TraitsOf(U'中'), kAny | kLetter | kWord | kHan);
  EXPECT_EQ(TraitsOf(U'½'), kAny | kNumber);
  EXPECT_EQ(TraitsOf(U'٣'), kAny | kNumber | kDigit | kWord);
  EXPECT_EQ(TraitsOf(0x301), kAny | kMark | kWord);
  EXPECT_EQ(TraitsOf('~'), kAny | kSymbol);
  EXPECT_EQ(TraitsOf('_'), kAny | kPunctuation | kWord);
  EXPECT_EQ(TraitsOf('\n'), kAny | kSpace | kNewline);
  EXPECT_EQ(TraitsOf(0x85), kAny | kSpace);
  EXPECT_EQ(TraitsOf(0x3000), kAny | kSpace);
  EXPECT_EQ(TraitsOf(0x180E), unsigned{kAny}) << "the Mongolian vowel separator is no white space";
}

TEST(TraitTableTest, KnowsWhatUnicode151Added) {
  EXPECT_EQ(TraitsOf(0x2EBF0), kAny | kLetter | kWord | kHan);
  EXPECT_EQ(TraitsOf(0x31EF), kAny | kSymbol);
  EXPECT_EQ(TraitsOf(0xE0FFF), unsigned{kAny}) << "not assigned";
}

TEST(TraitTableTest, ThreadsThatMeetABlockAtOnceSeeTheSameTraits) {
  std::vector<std::vector<unsigned>> seen(4);
  std::vector<std::thread> threads;
  for (std::vector<unsigned>& mine : seen) {
    threads.emplace_back([&mine] {
      for (char32_t code = 0x1D400; code < 0x1F700; code += 64) mine.push_back(TraitsOf(code));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<unsigned>& each : seen) EXPECT_EQ(each, seen.front());
  EXPECT_EQ(TraitsOf(0x1D400), kAny | kLetter | kWord | kCapital);
}

TEST(TraitTableTest, HanIsTheScript) {
  const PatternForTest han(R"(\p{sc:Han})");
  const PatternForTest unassigned(R"(\p{Cn})");
  for (char32_t code = 0; code <= kLastCodePoint; ++code) {
    if (code >= 0xD800 && code <= 0xDFFF) continue;
    std::string text;
    AppendUtf8(text, code);
    const bool is_han = (TraitsOf(code) & kHan) != 0;
    // The library may have an older Unicode version than we do.
    if (!is_han || unassigned.Match(text, 0).empty()) {
      EXPECT_EQ(is_han, !han.Match(text, 0).empty()) << std::hex << uint32_t{code};
    }
  }
}

TEST(FirstCharacterTest, WhatIsWellFormedComesBack) {
  for (char32_t code = 0; code <= kLastCodePoint; code += code < 0x3000 ? 1 : 37) {
    if (code >= 0xD800 && code <= 0xDFFF) continue;
    std::string text;
    AppendUtf8(text, code);
    const Character character = FirstCharacter(text);
    ASSERT_EQ(character.code, code);
    ASSERT_EQ(character.size_bytes, text.size());
    // Without its last byte there are only single bytes.
    if (text.size() == 1) continue;
    const Character cut = FirstCharacter(std::string_view(text).substr(0, text.size() - 1));
    ASSERT_EQ(cut.code, kReplacementCharacter);
    ASSERT_EQ(cut.size_bytes, 1);
  }
}

TEST(FirstCharacterTest, ByteByByteWhereItIsNot) {
  for (const std::string_view text :
       {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xC3(", "\xE2\x82(", "\xF0\x9F\xA6("}) {
    const Character character = FirstCharacter(text);
    EXPECT_EQ(character.code, kReplacementCharacter) << text;
    EXPECT_EQ(character.size_bytes, 1) << text;
  }
}

TEST(PieceTest, EndsWhereItEnds) {
  const std::string text = "añb";
  const Piece piece(text, 0, 2);  // in the middle of the second character
  EXPECT_TRUE(piece.At(0).Is(kLetter));
  EXPECT_EQ(piece.At(1).code, kReplacementCharacter);
  EXPECT_FALSE(piece.At(2).exists());
  EXPECT_FALSE(piece.At(100).exists());
}

}  // namespace
}  // namespace aster::text
