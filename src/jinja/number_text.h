// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Numbers from text and from each other, as Python's int(), float() and round() make them.
#pragma once

#include <optional>
#include <string_view>

#include "jinja/runtime.h"

namespace aster::jinja {

// The number that Python's int(text) reads, or nothing.
std::optional<Value> ParseInt(Runtime& runtime, std::string_view text);
std::optional<double> ParseFloat(std::string_view text);
// round(value, digits) of a float, not to tens or hundreds: to the nearest, to even where the exact
// value stands between.
double Rounded(double value, int64_t digits);
// int(value) of a float: an error for infinities, NaN and what is beyond 64 bits.
Result<Value> Truncated(double value);

Error IntegerTooLarge();

}  // namespace aster::jinja
