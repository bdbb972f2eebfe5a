// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Characters as Python's str counts and changes them. Every function accepts any bytes: those that
// are not UTF-8 count as U+FFFD. Must not know template values.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/utf8.h"

namespace aster::jinja {

// The code point at `offset`, which is advanced past it. `offset` must be within the text.
char32_t DecodeNext(std::string_view text, size_t& offset);
// The code point that ends at `offset` (> 0), which is moved before it.
char32_t DecodePrevious(std::string_view text, size_t& offset);
std::u32string Decode(std::string_view text);
std::string Encode(std::u32string_view code_points);

size_t CountCodePoints(std::string_view text);
// The byte offset of code point number `index`, or the text's size if there are fewer.
size_t OffsetOfCodePoint(std::string_view text, size_t index);

bool IsSpace(char32_t c);
bool IsLetter(char32_t c);
bool IsDigit(char32_t c);   // 0…9 of any script, superscripts and the like
bool IsNumber(char32_t c);  // also fractions and Roman numerals
bool IsPrintable(char32_t c);
// May start, or continue, a name.
bool IsNameStart(char32_t c);
bool IsNameContinue(char32_t c);

// Full case mappings: one letter may become several.
std::string ToUpper(std::string_view text);
std::string ToLower(std::string_view text);
std::string ToTitle(std::string_view text);        // every word
std::string ToCapitalized(std::string_view text);  // the first letter

}  // namespace aster::jinja
