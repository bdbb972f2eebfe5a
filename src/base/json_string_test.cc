// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/json_string.h"

#include <gtest/gtest.h>

#include <charconv>

#include "base/utf8.h"

namespace aster {
namespace {

std::string Quoted(std::string_view text) {
  std::string out = "x";
  AppendJsonString(out, text);
  return out.substr(1);
}

TEST(JsonString, QuotesAndEscapes) {
  EXPECT_EQ(Quoted(""), R"("")");
  EXPECT_EQ(Quoted("plain / €"), R"("plain / €")");
  EXPECT_EQ(Quoted("\"a\\b\"\n\r\t\b\f"), R"("\"a\\b\"\n\r\t\b\f")");
  EXPECT_EQ(Quoted(std::string_view("\0\x1f\x7f", 3)), "\"\\u0000\\u001f\x7f\"");
  EXPECT_EQ(Quoted("\"\""), R"("\"\"")");
}

TEST(JsonString, AsAsciiEverythingElseIsEscaped) {
  std::string out;
  AppendJsonString(out, "a\n\x7f\u00e9\u20ac\U0001F389\"", JsonCharset::kAscii);
  EXPECT_EQ(out, R"("a\n\u007f\u00e9\u20ac\ud83c\udf89\"")");
}

TEST(JsonString, BytesThatAreNoTextAreReplaced) {
  EXPECT_EQ(Quoted("a\xFF\"b\xC3"), "\"a\uFFFD\\\"b\uFFFD\"");
}

// Reading the string back by JSON's rules gives the same bytes, for every pair of bytes.
TEST(JsonString, EveryPairOfBytesSurvives) {
  for (int word = 0; word < 0x10000; ++word) {
    const std::string text = {static_cast<char>(word >> 8), static_cast<char>(word)};
    const std::string quoted = Quoted(text);
    std::string back;
    for (size_t i = 1; i + 1 < quoted.size(); ++i) {
      ASSERT_GE(static_cast<unsigned char>(quoted[i]), 0x20);
      ASSERT_NE(quoted[i], '"');
      if (quoted[i] != '\\') {
        back += quoted[i];
      } else if (quoted[i + 1] == 'u') {
        unsigned code = 0;
        std::from_chars(quoted.data() + i + 2, quoted.data() + i + 6, code, 16);
        back += static_cast<char>(code);
        i += 5;
      } else {
        const size_t which = std::string_view("\"\\nrtbf").find(quoted[++i]);
        ASSERT_NE(which, std::string::npos);
        back += "\"\\\n\r\t\b\f"[which];
      }
    }
    ASSERT_EQ(back, ToValidUtf8(text));
  }
}

}  // namespace
}  // namespace aster
