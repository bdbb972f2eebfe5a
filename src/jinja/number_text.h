// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Numbers from text and from other numbers, as by Python's int(), float() and round().
#pragma once

#include <optional>
#include <string_view>

#include "jinja/runtime.h"

namespace aster::jinja {

// The number of Python's int(text), or nothing.
std::optional<Value> ParseInt(Runtime& runtime, std::string_view text);
std::optional<double> ParseFloat(std::string_view text);
// round(value, digits) of a float, not to tens or hundreds: to the nearest, to even if the exact
// value is in the middle.
double Rounded(double value, int64_t digits);
// int(value) of a float: an error for infinities, NaN and numbers beyond 64 bits.
Result<Value> Truncated(double value);

Error IntegerTooLarge();

}  // namespace aster::jinja
