// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/float_text.h"

#include <clocale>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>
#include <type_traits>

#if defined(__APPLE__)
#include <xlocale.h>
#endif

namespace aster {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

size_t DigitsAt(std::string_view text, size_t begin) {
  size_t end = begin;
  while (end < text.size() && IsDigit(text[end])) ++end;
  return end - begin;
}

bool IsLetter(char c) { return Lower(c) >= 'a' && Lower(c) <= 'z'; }

bool HasWordAt(std::string_view text, size_t begin, std::string_view word) {
  if (text.size() - begin < word.size()) return false;
  for (size_t i = 0; i < word.size(); ++i) {
    if (Lower(text[begin + i]) != word[i]) return false;
  }
  return true;
}

// "(...)" behind nan, of letters, digits and underscores.
size_t PayloadAt(std::string_view text, size_t begin) {
  if (begin == text.size() || text[begin] != '(') return 0;
  size_t end = begin + 1;
  while (end < text.size() && (IsDigit(text[end]) || IsLetter(text[end]) || text[end] == '_'))
    ++end;
  return end < text.size() && text[end] == ')' ? end + 1 - begin : 0;
}

// The length of the number at the beginning; 0: none.
size_t LengthOfNumber(std::string_view text, std::chars_format format) {
  const size_t sign = text.starts_with('-') ? 1 : 0;
  if (HasWordAt(text, sign, "infinity")) return sign + 8;
  if (HasWordAt(text, sign, "inf")) return sign + 3;
  if (HasWordAt(text, sign, "nan")) return sign + 3 + PayloadAt(text, sign + 3);
  const size_t whole = DigitsAt(text, sign);
  size_t end = sign + whole;
  if (end < text.size() && text[end] == '.') {
    const size_t fraction = DigitsAt(text, end + 1);
    if (whole + fraction == 0) return 0;
    end += 1 + fraction;
  } else if (whole == 0) {
    return 0;
  }
  if (format == std::chars_format::fixed || end == text.size() || Lower(text[end]) != 'e')
    return end;
  const bool has_sign = end + 1 < text.size() && (text[end + 1] == '-' || text[end + 1] == '+');
  const size_t digits_begin = end + 1 + (has_sign ? 1 : 0);
  const size_t digits = DigitsAt(text, digits_begin);
  return digits > 0 ? digits_begin + digits : end;
}

// The decimal point is '.', whatever the locale of the process.
template <typename Float>
Float ByC(const std::string& text) {
  static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
  if constexpr (std::is_same_v<Float, float>) {
    return strtof_l(text.c_str(), nullptr, plain);
  } else {
    return strtod_l(text.c_str(), nullptr, plain);
  }
}

template <typename Float>
std::from_chars_result Read(const char* begin, const char* end, Float& value,
                            std::chars_format format) {
  const std::string_view text(begin, static_cast<size_t>(end - begin));
  const size_t length = LengthOfNumber(text, format);
  if (length == 0) return {begin, std::errc::invalid_argument};
  const std::string number(text.substr(0, length));
  const auto read = ByC<Float>(number);
  const std::string_view digits = std::string_view(number).substr(0, number.find_first_of("eE"));
  const bool is_too_large = std::isinf(read) && !HasWordAt(text, text[0] == '-' ? 1 : 0, "inf");
  const bool is_too_small = read == 0 && digits.find_first_of("123456789") != std::string::npos;
  if (is_too_large || is_too_small) return {begin + length, std::errc::result_out_of_range};
  value = read;
  return {begin + length, std::errc()};
}

}  // namespace

std::from_chars_result FloatFromChars(const char* begin, const char* end, double& value,
                                      std::chars_format format) {
  return Read(begin, end, value, format);
}

std::from_chars_result FloatFromChars(const char* begin, const char* end, float& value,
                                      std::chars_format format) {
  return Read(begin, end, value, format);
}

}  // namespace aster
