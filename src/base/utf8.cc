// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/utf8.h"

#include <fmt/format.h>

#include "base/bytes.h"

namespace aster {
namespace {

constexpr uint64_t kHighBits = 0x8080808080808080;

// The length of the ASCII prefix, checked eight bytes at a time.
size_t AsciiPrefix(std::string_view text) {
  size_t size = 0;
  while (size + 8 <= text.size() &&
         (LoadUnaligned<uint64_t>(text.data() + size) & kHighBits) == 0) {
    size += 8;
  }
  while (size < text.size() && static_cast<uint8_t>(text[size]) < 0x80) ++size;
  return size;
}

// Given by a first byte: the number of bytes, and the range of the second one, which excludes
// overlong forms, surrogates and numbers that are too large.
struct Lead {
  uint8_t size = 0;  // 0: no character starts with this byte
  uint8_t second_least = 0x80;
  uint8_t second_most = 0xBF;
};

constexpr Lead LeadOf(uint8_t byte) {
  if (byte < 0xC2) return {};  // a continuation, or an overlong form of ASCII
  if (byte < 0xE0) return {.size = 2};
  if (byte == 0xE0) return {.size = 3, .second_least = 0xA0};
  if (byte == 0xED) return {.size = 3, .second_most = 0x9F};
  if (byte < 0xF0) return {.size = 3};
  if (byte == 0xF0) return {.size = 4, .second_least = 0x90};
  if (byte < 0xF4) return {.size = 4};
  if (byte == 0xF4) return {.size = 4, .second_most = 0x8F};
  return {};
}

bool IsControl(uint32_t code_point) {
  const bool is_c0_or_c1 = code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0);
  // Marks and overrides of the writing direction, and the separators that end a line.
  const bool is_bidirectional = code_point == 0x061C || code_point == 0x200E ||
                                code_point == 0x200F ||
                                (code_point >= 0x2028 && code_point <= 0x202E) ||
                                (code_point >= 0x2066 && code_point <= 0x2069);
  return is_c0_or_c1 || is_bidirectional;
}

std::string EscapeOf(uint32_t code_point) {
  switch (code_point) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return code_point < 0x100 ? fmt::format("\\x{:02x}", code_point)
                                : fmt::format("\\u{:04x}", code_point);
  }
}

}  // namespace

Utf8Step DecodeUtf8(std::string_view text) {
  if (text.empty()) return {.code_point = kReplacementCharacter};
  const auto first = static_cast<uint8_t>(text[0]);
  if (first < 0x80) return {.code_point = first, .size = 1, .valid = true};
  const Lead lead = LeadOf(first);
  uint32_t code_point = first & (0x7FU >> lead.size);
  size_t size = 1;
  while (size < lead.size && size < text.size()) {
    const auto byte = static_cast<uint8_t>(text[size]);
    const bool fits =
        size == 1 ? byte >= lead.second_least && byte <= lead.second_most : (byte & 0xC0) == 0x80;
    if (!fits) break;
    code_point = (code_point << 6) | (byte & 0x3F);
    ++size;
  }
  if (size != lead.size) return {.code_point = kReplacementCharacter, .size = size};
  return {.code_point = code_point, .size = size, .valid = true};
}

void AppendUtf8(std::string& out, uint32_t code_point) {
  const bool is_surrogate = code_point >= 0xD800 && code_point < 0xE000;
  if (is_surrogate || code_point > 0x10FFFF) code_point = kReplacementCharacter;
  const auto append = [&](uint32_t byte) { out += static_cast<char>(byte); };
  const auto append_rest = [&](int shift) { append(0x80 | ((code_point >> shift) & 0x3F)); };
  if (code_point < 0x80) {
    append(code_point);
  } else if (code_point < 0x800) {
    append(0xC0 | (code_point >> 6));
    append_rest(0);
  } else if (code_point < 0x10000) {
    append(0xE0 | (code_point >> 12));
    append_rest(6);
    append_rest(0);
  } else {
    append(0xF0 | (code_point >> 18));
    append_rest(12);
    append_rest(6);
    append_rest(0);
  }
}

size_t ValidUtf8Prefix(std::string_view text) {
  size_t size = 0;
  while (true) {
    size += AsciiPrefix(text.substr(size));
    if (size == text.size()) return size;
    const Utf8Step step = DecodeUtf8(text.substr(size));
    if (!step.valid) return size;
    size += step.size;
  }
}

bool IsUtf8Start(std::string_view text) {
  if (text.empty()) return false;
  const Utf8Step step = DecodeUtf8(text);
  return !step.valid && step.size == text.size() &&
         text.size() < LeadOf(static_cast<uint8_t>(text[0])).size;
}

std::string ToValidUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (true) {
    const size_t valid = ValidUtf8Prefix(text);
    out += text.substr(0, valid);
    text.remove_prefix(valid);
    if (text.empty()) return out;
    AppendUtf8(out, kReplacementCharacter);
    text.remove_prefix(DecodeUtf8(text).size);
  }
}

std::string ForDisplay(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Step step = DecodeUtf8(text);
    if (IsControl(step.code_point)) {
      out += EscapeOf(step.code_point);
    } else {
      AppendUtf8(out, step.code_point);
    }
    text.remove_prefix(step.size);
  }
  return out;
}

}  // namespace aster
