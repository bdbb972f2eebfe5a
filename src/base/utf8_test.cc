// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/utf8.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "base/random.h"
#include "base/sanitized.h"

namespace aster {
namespace {

constexpr bool IsScalarValue(uint32_t code_point) {
  return code_point <= 0x10FFFF && (code_point < 0xD800 || code_point > 0xDFFF);
}

TEST(Utf8, EveryCharacterSurvivesBothWays) {
  std::string text;
  for (uint32_t code_point = 0; code_point <= 0x10FFFF; ++code_point) {
    if (!IsScalarValue(code_point)) continue;
    text.clear();
    AppendUtf8(text, code_point);
    const Utf8Step step = DecodeUtf8(text);
    ASSERT_TRUE(step.valid) << code_point;
    ASSERT_EQ(step.code_point, code_point);
    ASSERT_EQ(step.size, text.size());
    ASSERT_TRUE(IsValidUtf8(text));
  }
}

TEST(Utf8, WhatItCannotExpressIsReplaced) {
  for (uint32_t code_point : {0xD800U, 0xDFFFU, 0x110000U, 0xFFFFFFFFU}) {
    std::string text;
    AppendUtf8(text, code_point);
    EXPECT_EQ(text, "\uFFFD");
  }
}

// Every sequence of up to three bytes, and all four-byte ones with a few last bytes, is accepted
// exactly if encoding its value gives the same bytes back.
TEST(Utf8, AcceptsNothingElse) {
  const auto agrees = [](const std::string& bytes) {
    const Utf8Step step = DecodeUtf8(bytes);
    if (!step.valid) return step.size >= 1 && step.code_point == kReplacementCharacter;
    std::string again;
    AppendUtf8(again, step.code_point);
    return again == bytes.substr(0, step.size);
  };
  int valid_count = 0;
  constexpr uint32_t kStride = kSanitized ? 17 : 1;
  for (uint32_t word = 0; word < (1U << 24); word += kStride) {
    const std::string bytes = {static_cast<char>(word >> 16), static_cast<char>(word >> 8),
                               static_cast<char>(word)};
    if (!agrees(bytes)) FAIL() << std::hex << word;
    const Utf8Step step = DecodeUtf8(bytes);
    valid_count += step.valid && step.size == 3 ? 1 : 0;
  }
  // Without the surrogates, and characters of two bytes.
  if (kStride == 1) {
    EXPECT_EQ(valid_count, 0x10000 - 0x800 - 0x800);
  }
}

TEST(Utf8, RefusesTheKnownTraps) {
  for (const char* bad : {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xE0\x9F\xBF",
                          "\xED\xA0\x80", "\xED\xBF\xBF", "\xF0\x80\x80\x80", "\xF0\x8F\xBF\xBF",
                          "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xF8\x88\x80\x80\x80", "\xFE",
                          "\xFF", "\xC3", "\xE2\x82", "\xF0\x9F\x98"}) {
    EXPECT_FALSE(IsValidUtf8(bad));
    EXPECT_EQ(ValidUtf8Prefix(std::string("0123456789€") + bad), 13U);
    EXPECT_EQ(ValidUtf8Prefix(std::string("0123456789€") + bad + "abc"), 13U);
  }
}

TEST(Utf8, ReplacesTheLongestStartAsAWhole) {
  // The example of the Unicode standard, table 3-8 and its neighbours.
  EXPECT_EQ(ToValidUtf8("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64"),
            "a\uFFFD\uFFFD\uFFFDb\uFFFDc\uFFFD\uFFFDd");
  EXPECT_EQ(ToValidUtf8("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"),
            "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA");
  EXPECT_EQ(ToValidUtf8(""), "");
  EXPECT_EQ(ToValidUtf8("plain €"), "plain €");
}

TEST(Utf8, KnowsAnUnfinishedCharacter) {
  for (const char* start : {"\xC3", "\xE2", "\xE2\x82", "\xF0\x9F", "\xF0\x9F\x98"}) {
    EXPECT_TRUE(IsUtf8Start(start));
  }
  for (const char* other : {"", "a", "\x80", "é", "\xFF", "\xE2\x82\x20", "\xED\xA0", "\xC3\xC3"}) {
    EXPECT_FALSE(IsUtf8Start(other));
  }
}

TEST(Utf8, AnyBytesBecomeValid) {
  Random random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string text(random.NextBelow(40), '\0');
    for (char& c : text) c = static_cast<char>(random.NextU32());
    EXPECT_TRUE(IsValidUtf8(ToValidUtf8(text)));
    EXPECT_TRUE(IsValidUtf8(ForDisplay(text)));
    EXPECT_EQ(ToValidUtf8(text) == text, IsValidUtf8(text));
  }
}

TEST(Utf8, DisplayShowsControlCharacters) {
  EXPECT_EQ(ForDisplay("naïve 中文 🙂"), "naïve 中文 🙂");
  EXPECT_EQ(ForDisplay("a\nb\tc\rd\x1b[31m\x7f"), "a\\nb\\tc\\rd\\x1b[31m\\x7f");
  EXPECT_EQ(ForDisplay("\u202Eevil\u2028\u0085\xFF"), "\\u202eevil\\u2028\\x85\uFFFD");
}

}  // namespace
}  // namespace aster
