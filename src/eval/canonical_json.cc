// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "eval/canonical_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>

#include "base/float_text.h"
#include "base/utf8.h"

namespace aster::eval {
namespace {

// Python refuses integers with more digits.
constexpr size_t kMaxIntegerDigits = 4300;
constexpr std::string_view kNull = "null";
constexpr std::string_view kNan = "nan";

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Strings have their length in front, which distinguishes them from everything else.
std::string CanonicalString(std::string_view text) {
  return fmt::format("\"{}:{}", text.size(), text);
}

// The value of a float's text that is too large or too small: the exponent of its first digit that
// is not zero decides.
double BeyondRange(std::string_view text) {
  const bool negative = text.front() == '-';
  const size_t exponent_at = std::min(text.find_first_of("eE"), text.size());
  const std::string_view mantissa = text.substr(0, exponent_at);
  const bool negative_exponent = exponent_at + 1 < text.size() && text[exponent_at + 1] == '-';
  const size_t first = mantissa.find_first_of("123456789");
  const size_t point = std::min(mantissa.find('.'), mantissa.size());
  int64_t power = 0;
  if (exponent_at < text.size()) {
    const bool has_sign = !IsDigit(text[exponent_at + 1]);
    const char* const begin = text.data() + exponent_at + 1 + (has_sign ? 1 : 0);
    const auto parsed = std::from_chars(begin, text.data() + text.size(), power);
    if (parsed.ec != std::errc()) power = std::numeric_limits<int32_t>::max();
    power = std::min<int64_t>(power, std::numeric_limits<int32_t>::max());
    if (negative_exponent) power = -power;
  }
  power += static_cast<int64_t>(point) - static_cast<int64_t>(first);
  const double size = power > 0 ? std::numeric_limits<double>::infinity() : 0;
  return negative ? -size : size;
}

std::string CanonicalFloat(double value) {
  if (std::isnan(value)) return std::string(kNan);
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (value == 0) return "0";
  // Whole numbers look like integers, with all digits.
  if (value == std::floor(value)) return fmt::format("{:.0f}", value);
  return fmt::format("{}", value);
}

// An unpaired surrogate, which UTF-8 cannot express, becomes three bytes that no other text has.
void AppendCharacter(std::string& text, char32_t code) {
  if (code < 0xD800 || code >= 0xE000) return AppendUtf8(text, code);
  for (const uint32_t byte :
       {0xE0 | (code >> 12), 0x80 | ((code >> 6) & 0x3F), 0x80 | (code & 0x3F)}) {
    text += static_cast<char>(byte);
  }
}

// Appends what it reads to `out`. Every function returns whether its element was there.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool ReadDocument(std::string& out) {
    SkipSpace();
    if (!ReadValue(out, 0)) return false;
    SkipSpace();
    return text_.empty();
  }

 private:
  void SkipSpace() {
    text_.remove_prefix(std::min(text_.find_first_not_of(" \t\n\r"), text_.size()));
  }

  bool Take(std::string_view word) {
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }

  bool ReadValue(std::string& out, size_t depth) {
    if (depth > kMaxJsonDepth || text_.empty()) return false;
    switch (text_.front()) {
      case '"':
        return ReadString(out);
      case '{':
        return ReadObject(out, depth);
      case '[':
        return ReadArray(out, depth);
      default:
        return ReadWord(out) || ReadNumber(out);
    }
  }

  bool ReadWord(std::string& out) {
    constexpr std::pair<std::string_view, std::string_view> kWords[] = {
        {"null", kNull},     {"true", "1"}, {"false", "0"},
        {"Infinity", "inf"}, {"NaN", kNan}, {"-Infinity", "-inf"}};
    for (const auto& [word, canonical] : kWords) {
      if (!Take(word)) continue;
      out += canonical;
      return true;
    }
    return false;
  }

  // The number of digits from `offset` on.
  size_t DigitsAt(size_t offset) const {
    size_t end = offset;
    while (end < text_.size() && IsDigit(text_[end])) ++end;
    return end - offset;
  }

  bool ReadNumber(std::string& out) {
    const size_t sign = text_.front() == '-' ? 1 : 0;
    size_t size = DigitsAt(sign);
    if (size == 0) return false;
    if (text_[sign] == '0') size = 1;  // further digits do not belong to the number
    size_t end = sign + size;
    const size_t integer_end = end;
    if (end < text_.size() && text_[end] == '.' && DigitsAt(end + 1) > 0) {
      end += 1 + DigitsAt(end + 1);
    }
    if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      const bool has_sign =
          end + 1 < text_.size() && (text_[end + 1] == '-' || text_[end + 1] == '+');
      const size_t digits_at = end + 1 + (has_sign ? 1 : 0);
      if (DigitsAt(digits_at) > 0) end = digits_at + DigitsAt(digits_at);
    }
    const std::string_view number = text_.substr(0, end);
    text_.remove_prefix(end);
    if (end == integer_end) return AppendInteger(number, size, out);
    double value = 0;
    const auto parsed = FloatFromChars(number.data(), number.data() + number.size(), value);
    if (parsed.ec == std::errc::result_out_of_range) value = BeyondRange(number);
    out += CanonicalFloat(value);
    return true;
  }

  static bool AppendInteger(std::string_view number, size_t digits, std::string& out) {
    if (digits > kMaxIntegerDigits) return false;
    out += number == "-0" ? "0" : number;
    return true;
  }

  // The number of four hexadecimal digits.
  bool TakeHex(char32_t& code) {
    uint32_t value = 0;
    if (text_.size() < 4) return false;
    const auto parsed = std::from_chars(text_.data(), text_.data() + 4, value, 16);
    if (parsed.ec != std::errc() || parsed.ptr != text_.data() + 4) return false;
    text_.remove_prefix(4);
    code = value;
    return true;
  }

  // After \u. Unpaired surrogates are characters of their own.
  bool ReadUnicodeEscape(std::string& text) {
    char32_t code = 0;
    if (!TakeHex(code)) return false;
    if (code >= 0xD800 && code < 0xDC00 && text_.starts_with("\\u")) {
      const std::string_view before = text_;
      text_.remove_prefix(2);
      char32_t low = 0;
      if (!TakeHex(low)) return false;
      if (low >= 0xDC00 && low < 0xE000) {
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      } else {
        text_ = before;
      }
    }
    AppendCharacter(text, code);
    return true;
  }

  bool ReadEscape(std::string& text) {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
    if (text_.empty()) return false;
    const char letter = text_.front();
    text_.remove_prefix(1);
    if (letter == 'u') return ReadUnicodeEscape(text);
    const size_t index = kLetters.find(letter);
    if (index == std::string_view::npos) return false;
    text += kMeant[index];
    return true;
  }

  bool ReadString(std::string& out) {
    text_.remove_prefix(1);
    std::string text;
    for (;;) {
      const auto* special = std::ranges::find_if(
          text_, [](char c) { return c == '"' || c == '\\' || static_cast<uint8_t>(c) < 0x20; });
      if (special == text_.end()) return false;
      const char what = *special;
      const auto plain = static_cast<size_t>(special - text_.begin());
      text += text_.substr(0, plain);
      text_.remove_prefix(plain + 1);
      if (what == '"') break;
      if (what != '\\' || !ReadEscape(text)) return false;
    }
    out += CanonicalString(text);
    return true;
  }

  bool ReadArray(std::string& out, size_t depth) {
    text_.remove_prefix(1);
    out += '[';
    SkipSpace();
    if (Take("]")) {
      out += ']';
      return true;
    }
    for (;;) {
      SkipSpace();
      if (!ReadValue(out, depth + 1)) return false;
      out += ',';
      SkipSpace();
      if (Take("]")) break;
      if (!Take(",")) return false;
    }
    out += ']';
    return true;
  }

  bool ReadObject(std::string& out, size_t depth) {
    text_.remove_prefix(1);
    std::map<std::string, std::string> members;  // canonical; the last of equal keys counts
    SkipSpace();
    bool ended = Take("}");
    while (!ended) {
      SkipSpace();
      std::string key;
      if (!text_.starts_with('"') || !ReadString(key)) return false;
      SkipSpace();
      if (!Take(":")) return false;
      SkipSpace();
      std::string value;
      if (!ReadValue(value, depth + 1)) return false;
      members.insert_or_assign(std::move(key), std::move(value));
      SkipSpace();
      ended = Take("}");
      if (!ended && !Take(",")) return false;
    }
    out += '{';
    for (const auto& [key, value] : members) out += key + ":" + value + ",";
    out += '}';
    return true;
  }

  std::string_view text_;  // unread
};

}  // namespace

std::optional<std::string> CanonicalJson(std::string_view text) {
  std::string canonical;
  if (!Reader(text).ReadDocument(canonical)) return std::nullopt;
  return canonical;
}

bool SameJson(std::string_view a, std::string_view b) {
  const auto first = CanonicalJson(a);
  return first && *first != kNull && *first != kNan && first == CanonicalJson(b);
}

}  // namespace aster::eval
