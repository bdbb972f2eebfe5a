// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/json_string.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"

namespace aster {
namespace {

bool NeedsEscape(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; }

std::string EscapeOf(char c) {
  switch (c) {
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
      return fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
  }
}

}  // namespace

void AppendJsonString(std::string& out, std::string_view text) {
  std::string cleaned;
  if (!IsValidUtf8(text)) {
    cleaned = ToValidUtf8(text);
    text = cleaned;
  }
  out += '"';
  while (!text.empty()) {
    const auto* special = std::find_if(text.begin(), text.end(), NeedsEscape);
    const auto plain_size = static_cast<size_t>(special - text.begin());
    out += text.substr(0, plain_size);
    if (special != text.end()) out += EscapeOf(*special);
    text.remove_prefix(std::min(plain_size + 1, text.size()));
  }
  out += '"';
}

}  // namespace aster
