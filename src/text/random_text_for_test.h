// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Random texts with corner cases of tokenizers: many scripts, runs, contractions, strings like
// special tokens. Only for tests.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/random.h"
#include "text/unicode.h"

namespace aster::text {

class RandomText {
 public:
  explicit RandomText(uint64_t seed) : random_(seed) {}

  // Up to about 40 characters of UTF-8.
  std::string Next() {
    std::string text;
    const uint64_t parts = 1 + random_.NextBelow(12);
    for (uint64_t i = 0; i < parts; ++i) AppendPart(text);
    return text;
  }

  // Up to `max_bytes` of anything.
  std::string NextBytes(size_t max_bytes) {
    std::string bytes(random_.NextBelow(max_bytes + 1), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random_.NextBelow(256));
    return bytes;
  }

  // Any code point that UTF-8 can hold.
  std::string NextAnyUnicode() {
    std::string text;
    for (uint64_t left = 1 + random_.NextBelow(20); left > 0; --left) {
      const auto code = static_cast<char32_t>(random_.NextBelow(kLastCodePoint + 1));
      if (code < 0xD800 || code > 0xDFFF) AppendUtf8(text, code);
    }
    return text;
  }

  Random& random() { return random_; }

 private:
  struct Range {
    char32_t first;
    char32_t last;
  };
  // Ranges whose code points have not changed for long, and the rest of ASCII several times.
  static constexpr Range kRanges[] = {
      {0x20, 0x7E},       {0x20, 0x7E},       {0x20, 0x7E},     {0x00, 0x1F},
      {0x80, 0x9F},       {0xA0, 0x17F},      {0x300, 0x344},   {0x370, 0x377},
      {0x386, 0x3FF},     {0x400, 0x52F},     {0x5D0, 0x5EA},   {0x620, 0x66F},
      {0x900, 0x97F},     {0xE01, 0xE3A},     {0x1000, 0x109F}, {0x1780, 0x17DD},
      {0x1E00, 0x1F15},   {0x2000, 0x2064},   {0x20A0, 0x20BF}, {0x2100, 0x218B},
      {0x2190, 0x2BFF},   {0x2E80, 0x2E99},   {0x3000, 0x303F}, {0x3041, 0x3096},
      {0x30A0, 0x30FF},   {0x3105, 0x312F},   {0x3131, 0x318E}, {0x3400, 0x3410},
      {0x4E00, 0x9FA5},   {0xAC00, 0xD7A3},   {0xE000, 0xE010}, {0xF900, 0xFA6D},
      {0xFE30, 0xFE4F},   {0xFF01, 0xFF5E},   {0xFF65, 0xFF9F}, {0x1D400, 0x1D454},
      {0x1F300, 0x1F64F}, {0x20000, 0x20010},
  };
  static constexpr std::string_view kWords[] = {
      "'s",
      "'S",
      "'re",
      "'LL",
      "'ve",
      "'d",
      "'M",
      "'t",
      "'",
      "’s",
      "don't",
      "we're",
      "Hello",
      "camelCaseWord",
      "XMLHttp",
      "ABCdef",
      "éCole",
      "ПриветМир",
      "ǅabc",
      "ſ",
      "'ſ",
      "the",
      "world",
      "return",
      "1",
      "12",
      "123",
      "12345678",
      "3.14",
      "½",
      "²",
      "Ⅷ",
      "٣٤٥",
      "  ",
      "   ",
      "      ",
      "\n",
      "\n\n",
      "\r\n",
      "\t",
      " \n ",
      "\u00a0",
      "\u3000",
      "\u2028",
      "\x0b",
      "\u0085",
      "~",
      "~~a",
      "~é",
      "/",
      "//",
      "!!!",
      "...",
      "…",
      "==",
      "<=",
      "`",
      "$",
      "+",
      "(",
      "[]",
      "—",
      "“",
      "。",
      "中文",
      "日本語",
      "カタカナ",
      "ひらがな",
      "한국어",
      "ไทย",
      "हिन्दी",
      "ខ្មែរ",
      "עברית",
      "\u0301",
      "e\u0301",
      "🦙",
      "😶‍🌫️",
      "\u200d",
      "\ufeff",
      "\x01",
      "\x7f",
      "<|end|>",
      "<s>",
      "</s>",
      "<unk>",
      "ø",
      "\u2581",
      "A",
      "z",
      "_",
      "-",
      "http://",
      "IMGIMGAZ",
      "IMGIMGZ",
      "<sentinel:12>",
      "ㄅㄆ",
      "ㄱㄴ",
      "aaaaaaaa",
      "1a",
      "12_",
      "123²",
      "1234\u0301",
      "々",
      "ªº",
      "ʕʔ",
  };

  void AppendPart(std::string& text) {
    const uint64_t kind = random_.NextBelow(10);
    if (kind < 4) {
      text += kWords[random_.NextBelow(std::size(kWords))];
    } else if (kind < 7) {
      const Range& range = kRanges[random_.NextBelow(std::size(kRanges))];
      for (uint64_t left = 1 + random_.NextBelow(3); left > 0; --left) {
        const uint64_t offset = random_.NextBelow(range.last - range.first + 1);
        AppendUtf8(text, range.first + static_cast<char32_t>(offset));
      }
    } else {
      constexpr std::string_view kRuns = " \n\t 0127abXZ'.";
      text.append(1 + random_.NextBelow(5), kRuns[random_.NextBelow(kRuns.size())]);
    }
  }

  Random random_;
};

}  // namespace aster::text
