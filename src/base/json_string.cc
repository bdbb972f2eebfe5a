// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/json_string.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"

namespace aster {
namespace {

bool NeedsEscape(char c, JsonCharset charset) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || c == '"' || c == '\\' || (charset == JsonCharset::kAscii && byte >= 0x7F);
}

// A character beyond 16 bits takes two escapes.
std::string NumericEscape(uint32_t code_point) {
  if (code_point < 0x10000) return fmt::format("\\u{:04x}", code_point);
  const uint32_t rest = code_point - 0x10000;
  return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF));
}

std::string JsonEscapeOf(uint32_t code_point) {
  switch (code_point) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\b':
      return "\\b";
    case '\f':
      return "\\f";
    default:
      return NumericEscape(code_point);
  }
}

}  // namespace

void AppendJsonString(std::string& out, std::string_view text, JsonCharset charset) {
  std::string cleaned;
  if (!IsValidUtf8(text)) {
    cleaned = ToValidUtf8(text);
    text = cleaned;
  }
  out += '"';
  while (!text.empty()) {
    const auto* special = std::find_if(text.begin(), text.end(),
                                       [charset](char c) { return NeedsEscape(c, charset); });
    out += text.substr(0, static_cast<size_t>(special - text.begin()));
    text.remove_prefix(static_cast<size_t>(special - text.begin()));
    if (text.empty()) break;
    const Utf8Step step = DecodeUtf8(text);
    out += JsonEscapeOf(step.code_point);
    text.remove_prefix(step.size);
  }
  out += '"';
}

}  // namespace aster
