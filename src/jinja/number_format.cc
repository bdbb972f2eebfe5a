// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/number_format.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "jinja/unicode.h"

namespace aster::jinja {
namespace {

std::string Digits(double magnitude, std::chars_format notation, int precision) {
  // The longest: every digit before the point, then the wanted ones after it.
  constexpr size_t kRoom = 320 + kMaxPrecision + 16;
  char buffer[kRoom];
  const auto [end, error] = std::to_chars(buffer, buffer + kRoom, magnitude, notation, precision);
  return std::string(buffer, end);
}

// %#g: as %g, but with all the zeros.
std::string GeneralWithZeros(double magnitude, int precision) {
  const std::string scientific = Digits(magnitude, std::chars_format::scientific, precision - 1);
  const size_t e = scientific.find('e');
  int exponent = 0;
  std::from_chars(scientific.data() + e + 2, scientific.data() + scientific.size(), exponent);
  if (scientific[e + 1] == '-') exponent = -exponent;
  if (exponent >= -4 && exponent < precision) {
    std::string fixed = Digits(magnitude, std::chars_format::fixed, precision - 1 - exponent);
    return fixed.find('.') == std::string::npos ? fixed + "." : fixed;
  }
  return precision == 1 ? scientific.substr(0, e) + "." + scientific.substr(e) : scientific;
}

}  // namespace

Result<std::string> FloatDigits(double value, char type, int64_t precision, bool keep_point) {
  if (precision > kMaxPrecision) {
    return InvalidArgument(fmt::format("a precision of {} is too large", precision));
  }
  const double magnitude = std::abs(value);
  const bool upper = type == 'E' || type == 'F' || type == 'G';
  std::string digits;
  if (!std::isfinite(value)) {
    digits = std::isnan(value) ? "nan" : "inf";
  } else {
    const int wanted = static_cast<int>(precision);
    switch (type) {
      case 'f':
      case 'F':
        digits = Digits(magnitude, std::chars_format::fixed, wanted);
        if (keep_point && wanted == 0) digits += '.';
        break;
      case 'e':
      case 'E':
        digits = Digits(magnitude, std::chars_format::scientific, wanted);
        if (keep_point && wanted == 0) digits.insert(1, ".");
        break;
      default:
        digits = keep_point ? GeneralWithZeros(magnitude, std::max(wanted, 1))
                            : Digits(magnitude, std::chars_format::general, std::max(wanted, 1));
    }
  }
  return upper ? ToUpper(digits) : digits;
}

std::string IntDigits(int64_t value, int base, bool upper) {
  const uint64_t magnitude =
      value < 0 ? ~static_cast<uint64_t>(value) + 1 : static_cast<uint64_t>(value);
  char buffer[64];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), magnitude, base);
  const std::string digits(buffer, end);
  return upper ? ToUpper(digits) : digits;
}

}  // namespace aster::jinja
