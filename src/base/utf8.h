// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// UTF-8, strictly: no overlong forms, no surrogates, nothing above U+10FFFF. For the characters'
// meaning (classes, case, normal forms): the text folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace aster {

constexpr uint32_t kReplacementCharacter = 0xFFFD;

struct Utf8Step {
  uint32_t code_point = 0;
  size_t size = 0;  // bytes; at least one unless the text is empty
  bool valid = false;
};

// The first character of `text`. If the bytes are invalid, code_point is U+FFFD and size covers the
// longest start of a character among them (or one byte), which Unicode recommends to replace as a
// whole.
Utf8Step DecodeUtf8(std::string_view text);

// Appends a character; one that UTF-8 cannot express becomes U+FFFD.
void AppendUtf8(std::string& out, uint32_t code_point);

// The size of the longest prefix that is valid; text.size() if all is.
size_t ValidUtf8Prefix(std::string_view text);
inline bool IsValidUtf8(std::string_view text) { return ValidUtf8Prefix(text) == text.size(); }

// Whether `text`, invalid by itself, is the start of a character that may be completed.
bool IsUtf8Start(std::string_view text);

// Valid text from any bytes: invalid ones become U+FFFD.
std::string ToValidUtf8(std::string_view text);

// Makes names and texts of files and peers safe for a terminal: valid text in which control
// characters are visible escapes (\n, \x1b, \u202e), so that none moves the cursor,
// changes colours or reverses the line.
std::string ForDisplay(std::string_view text);

}  // namespace aster
