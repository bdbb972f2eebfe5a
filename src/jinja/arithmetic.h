// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The operators + - * / // %, with Python's meaning for numbers, strings, lists and tuples.
#pragma once

#include "jinja/runtime.h"

namespace aster::jinja {

enum class Operator : uint8_t { kAdd, kSubtract, kMultiply, kDivide, kFloorDivide, kRemainder };

Result<Value> Combine(Runtime& runtime, Operator op, const Value& a, const Value& b);
Result<Value> Negate(const Value& value);
// Unary plus: numbers unchanged, bools as ints.
Result<Value> Affirm(const Value& value);

}  // namespace aster::jinja
