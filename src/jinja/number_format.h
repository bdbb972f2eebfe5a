// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Numbers in the notations that format strings ask for, without sign or padding.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace aster::jinja {

// More digits than this are refused: no float has so many that are not zero.
constexpr int64_t kMaxPrecision = 1100;

// A float's magnitude in the notation of printf's `type`, one of e E f F g G. `keep_point` keeps
// the decimal point, and the zeros of g, where they would go.
Result<std::string> FloatDigits(double value, char type, int64_t precision, bool keep_point);

// An integer's magnitude in base 2, 8, 10 or 16.
std::string IntDigits(int64_t value, int base, bool upper);

}  // namespace aster::jinja
