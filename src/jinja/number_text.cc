// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/number_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/float_text.h"
#include "jinja/string_methods.h"

namespace aster::jinja {
namespace {

bool IsDecimalDigit(char c) { return c >= '0' && c <= '9'; }

// Nothing if an underscore is not between digits.
std::optional<std::string> WithoutUnderscores(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool between_digits =
        i > 0 && i + 1 < text.size() && IsDecimalDigit(text[i - 1]) && IsDecimalDigit(text[i + 1]);
    if (text[i] == '_' && !between_digits) return std::nullopt;
    if (text[i] != '_') plain += text[i];
  }
  return plain;
}

}  // namespace

Error IntegerTooLarge() { return TemplateError("an integer beyond 64 bits; use a float"); }

std::optional<Value> ParseInt(Runtime& runtime, std::string_view text) {
  text = Strip(text, Side::kBoth);
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  std::optional<std::string> digits = WithoutUnderscores(text);
  if (!digits || digits->empty() || !std::ranges::all_of(*digits, IsDecimalDigit)) {
    return std::nullopt;
  }
  digits->erase(0, std::min(digits->find_first_not_of('0'), digits->size() - 1));
  if (is_negative) digits->insert(0, "-");
  int64_t value = 0;
  const char* end = digits->data() + digits->size();
  if (std::from_chars(digits->data(), end, value).ec == std::errc()) return Value::Int(value);
  return Value(runtime.heap().New<BigInt>(std::move(*digits)));
}

std::optional<double> ParseFloat(std::string_view text) {
  text = Strip(text, Side::kBoth);
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  const std::optional<std::string> stripped = WithoutUnderscores(text);
  if (!stripped) return std::nullopt;
  const std::string& plain = *stripped;
  // FloatFromChars also accepts "nan(...)", which Python does not.
  if (plain.find('(') != std::string::npos) return std::nullopt;
  double value = 0;
  const char* end = plain.data() + plain.size();
  const auto [stop, error] = FloatFromChars(plain.data(), end, value);
  if (stop != end || plain.empty()) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    // Too large or too small: the sign of the exponent tells which.
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
  // No float has more nonzero digits than this.
  constexpr int64_t kMostDigits = 323;
  if (!std::isfinite(value) || digits > kMostDigits) return value;
  const std::string text = fmt::format("{:.{}f}", value, digits);
  double rounded = value;
  FloatFromChars(text.data(), text.data() + text.size(), rounded);
  return rounded;
}

}  // namespace aster::jinja
