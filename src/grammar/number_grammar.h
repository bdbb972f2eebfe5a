// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Numbers between bounds, as texts: digits, optionally a fraction, no exponent. Must not know JSON
// schemas.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "grammar/grammar.h"

namespace aster::grammar {

// Digits without redundant zeros: -12.5 is {true, "12", "5"}. Zero is not negative.
struct Decimal {
  bool is_negative = false;
  std::string whole = "0";
  std::string fraction = {};
};
// "12", "-0.5", "1e-7"; nothing if it is not a number, or has too many digits.
std::optional<Decimal> ParseDecimal(std::string_view text);
// Negative, zero or positive.
int Compare(const Decimal& a, const Decimal& b);

struct NumberBound {
  Decimal value;
  bool is_excluded = false;
};

struct NumberRange {
  std::optional<NumberBound> low = {};
  std::optional<NumberBound> high = {};
  bool is_integer = false;
  uint32_t multiple = 1;        // for integers: they are multiples of it
  size_t fraction_digits = 15;  // at most

  // Narrow the range, if the bound is narrower than its own.
  void RaiseLow(NumberBound bound);
  void LowerHigh(NumberBound bound);
};

inline constexpr uint32_t kMaxMultiple = 256;

// An error if there is no such number with at most 16 digits before the point.
Result<Element> AddNumbers(const NumberRange& range, Grammar& grammar);

}  // namespace aster::grammar
