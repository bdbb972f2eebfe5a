// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/string_literal.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "jinja/unicode.h"

namespace aster::jinja {
namespace {

constexpr char32_t kLastCodePoint = 0x10FFFF;
constexpr bool IsHighSurrogate(char32_t c) { return c >= 0xD800 && c < 0xDC00; }
constexpr bool IsLowSurrogate(char32_t c) { return c >= 0xDC00 && c < 0xE000; }

// The character of a single-letter escape.
std::optional<char> PlainEscape(char letter) {
  switch (letter) {
    case '\\':
    case '\'':
    case '"':
      return letter;
    case 'a':
      return '\a';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'v':
      return '\v';
    default:
      return std::nullopt;
  }
}

size_t HexDigitsAfter(char letter) {
  return letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
}

class Unescaper {
 public:
  explicit Unescaper(std::string_view body) : rest_(body) {}

  Result<std::string> Run() {
    while (!rest_.empty()) {
      const size_t backslash = std::min(rest_.find('\\'), rest_.size());
      text_ += rest_.substr(0, backslash);
      rest_.remove_prefix(backslash);
      if (!rest_.empty()) TRY(Escape());
    }
    return std::move(text_);
  }

 private:
  Status Escape() {
    rest_.remove_prefix(1);
    if (rest_.empty()) {
      text_ += '\\';
      return Ok();
    }
    const char letter = rest_[0];
    if (const std::optional<char> plain = PlainEscape(letter)) {
      text_ += *plain;
      rest_.remove_prefix(1);
    } else if (letter == '\n') {
      rest_.remove_prefix(1);
    } else if (letter >= '0' && letter <= '7') {
      return Unimplemented("characters by octal number are not supported; use \\x");
    } else if (HexDigitsAfter(letter) > 0) {
      return AppendHex();
    } else if (letter == 'N') {
      return Unimplemented("characters by name, \\N{...}, are not supported; use \\u");
    } else {
      text_ += '\\';
    }
    return Ok();
  }

  Result<char32_t> TakeHex() {
    const char letter = rest_[0];
    const std::string_view digits = rest_.substr(1, HexDigitsAfter(letter));
    uint32_t c = 0;
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), c, 16);
    const bool complete = digits.size() == HexDigitsAfter(letter) && error == std::errc() &&
                          stop == digits.data() + digits.size();
    if (!complete) return InvalidArgument(fmt::format("truncated \\{} escape", letter));
    if (c > kLastCodePoint) return InvalidArgument("illegal Unicode character");
    rest_.remove_prefix(1 + digits.size());
    return c;
  }

  Status AppendHex() {
    char32_t c = TRY(TakeHex());
    // Two escapes may be one character, as in JSON.
    if (IsHighSurrogate(c) && rest_.starts_with("\\u")) {
      rest_.remove_prefix(1);
      const char32_t low = TRY(TakeHex());
      if (!IsLowSurrogate(low)) return LoneSurrogate();
      c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
    } else if (IsHighSurrogate(c) || IsLowSurrogate(c)) {
      return LoneSurrogate();
    }
    AppendUtf8(text_, c);
    return Ok();
  }

  static Error LoneSurrogate() { return InvalidArgument("half of a surrogate pair in a string"); }

  std::string_view rest_;
  std::string text_;
};

}  // namespace

Result<std::string> UnescapeLiteral(std::string_view body) { return Unescaper(body).Run(); }

}  // namespace aster::jinja
