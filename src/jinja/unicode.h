// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// UTF-8 and the properties of code points, as Python's str sees them. Every function takes any
// bytes: a byte that starts no valid sequence counts as one code point of its own (kBadByte +
// byte). Must not know of template values.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace aster::jinja {

// Stands above Unicode, so that a bad byte survives decoding and encoding unchanged.
constexpr char32_t kBadByte = 0x110000;

// The code point at `offset`, which moves past it. `offset` must be within the text.
char32_t DecodeNext(std::string_view text, size_t& offset);
// The code point that ends at `offset` (> 0), which moves before it.
char32_t DecodePrevious(std::string_view text, size_t& offset);
void AppendCodePoint(std::string& text, char32_t code_point);
std::u32string Decode(std::string_view text);
std::string Encode(std::u32string_view code_points);

bool IsAscii(std::string_view text);
bool IsValidUtf8(std::string_view text);
size_t CountCodePoints(std::string_view text);
// The offset in bytes of code point number `index`, or the text's size if there are not so many.
size_t OffsetOfCodePoint(std::string_view text, size_t index);

bool IsSpace(char32_t c);
bool IsLetter(char32_t c);
bool IsDecimal(char32_t c);  // usable in a number: 0…9 of any script
bool IsDigit(char32_t c);    // also superscripts and the like
bool IsNumeric(char32_t c);  // also fractions, Roman numerals, ideographs
bool IsUpper(char32_t c);
bool IsLower(char32_t c);
bool IsTitle(char32_t c);
bool IsPrintable(char32_t c);
bool IsWord(char32_t c);  // what \w matches
// May start, or continue, a name.
bool IsNameStart(char32_t c);
bool IsNameContinue(char32_t c);

// Full case mappings: one letter may become several.
std::string ToUpper(std::string_view text);
std::string ToLower(std::string_view text);
std::string ToTitle(std::string_view text);        // every word
std::string ToCapitalized(std::string_view text);  // the first letter
std::string SwapCase(std::string_view text);
std::string CaseFold(std::string_view text);

}  // namespace aster::jinja
