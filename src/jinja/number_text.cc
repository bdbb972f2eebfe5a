// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/number_text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "jinja/number_format.h"
#include "jinja/unicode.h"

namespace aster::jinja {
namespace {

std::string_view Stripped(std::string_view text) {
  while (!text.empty()) {
    size_t offset = 0;
    if (!IsSpace(DecodeNext(text, offset))) break;
    text.remove_prefix(offset);
  }
  while (!text.empty()) {
    size_t offset = text.size();
    if (!IsSpace(DecodePrevious(text, offset))) break;
    text.remove_suffix(text.size() - offset);
  }
  return text;
}

// The value of a digit, up to 35; 36 for what is none.
int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
  return 36;
}

// Takes 0x, 0o or 0b off, where `base` agrees, and settles base 0.
void TakePrefix(std::string_view& text, int64_t& base) {
  int64_t named = 0;
  if (text.size() > 1 && text[0] == '0') {
    const char letter = static_cast<char>(text[1] | 0x20);
    named = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
  }
  if (named != 0 && (base == 0 || base == named)) {
    base = named;
    text.remove_prefix(2);
    if (text.starts_with('_')) text.remove_prefix(1);
  } else if (base == 0) {
    base = 10;
    // A leading zero means nothing there but zero itself.
    if (text.starts_with('0') && text.find_first_not_of("0_") != std::string_view::npos) text = {};
  }
}

// The digits without underscores; nothing if an underscore stands elsewhere than between digits.
std::optional<std::string> DigitsOf(std::string_view text, int64_t base) {
  std::string digits;
  bool after_digit = false;
  for (const char c : text) {
    if (c == '_' && after_digit) {
      after_digit = false;
      continue;
    }
    if (DigitOf(c) >= base) return std::nullopt;
    digits += c;
    after_digit = true;
  }
  if (!after_digit) return std::nullopt;
  return digits;
}

}  // namespace

Error IntegerTooLarge() { return TemplateError("an integer beyond 64 bits; use a float"); }

std::optional<Value> ParseInt(Runtime& runtime, std::string_view text, int64_t base) {
  if (base != 0 && (base < 2 || base > 36)) return std::nullopt;
  text = Stripped(text);
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  TakePrefix(text, base);
  std::optional<std::string> digits = DigitsOf(text, base);
  if (!digits) return std::nullopt;
  digits->erase(0, std::min(digits->find_first_not_of('0'), digits->size() - 1));
  if (is_negative) digits->insert(0, "-");
  int64_t value = 0;
  const char* end = digits->data() + digits->size();
  const auto [stop, error] = std::from_chars(digits->data(), end, value, static_cast<int>(base));
  if (error == std::errc() && stop == end) return Value::Int(value);
  if (base != 10) return std::nullopt;
  return Value(runtime.heap().New<BigInt>(std::move(*digits)));
}

std::optional<double> ParseFloat(std::string_view text) {
  text = Stripped(text);
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '_') {
      const bool between_digits =
          i > 0 && i + 1 < text.size() && DigitOf(text[i - 1]) < 10 && DigitOf(text[i + 1]) < 10;
      if (!between_digits) return std::nullopt;
      continue;
    }
    plain += text[i];
  }
  // from_chars also takes "nan(...)", which Python does not.
  if (plain.find('(') != std::string::npos) return std::nullopt;
  double value = 0;
  const char* end = plain.data() + plain.size();
  const auto [stop, error] = std::from_chars(plain.data(), end, value);
  if (stop != end || plain.empty()) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    // Too large or too small: which of them shows in the sign of the exponent.
    const size_t e = plain.find_first_of("eE");
    const bool is_tiny = e == std::string::npos ? plain.find_first_of("123456789") > plain.find('.')
                                                : plain[e + 1] == '-';
    const double magnitude = is_tiny ? 0.0 : HUGE_VAL;
    return plain[0] == '-' ? -magnitude : magnitude;
  }
  return value;
}

Result<Value> Truncated(double value) {
  if (std::isnan(value)) return TemplateError("cannot convert float NaN to integer");
  if (std::isinf(value)) return TemplateError("cannot convert float infinity to integer");
  constexpr double kTwoTo63 = 9223372036854775808.0;
  if (value >= kTwoTo63 || value < -kTwoTo63) return IntegerTooLarge();
  return Value::Int(static_cast<int64_t>(value));
}

double Rounded(double value, int64_t digits) {
  if (!std::isfinite(value) || digits > 323) return value;
  if (digits < -308) return std::copysign(0.0, value);
  if (digits >= 0) {
    const std::string text = FloatDigits(value, 'f', digits, false).value();
    double magnitude = std::abs(value);
    std::from_chars(text.data(), text.data() + text.size(), magnitude);
    return std::copysign(magnitude, value);
  }
  // Before the point: round the exact decimal digits of the whole number to even.
  const double power = std::pow(10.0, static_cast<double>(-digits));
  return std::nearbyint(value / power) * power;
}

}  // namespace aster::jinja
