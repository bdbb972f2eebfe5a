// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Truth, equality, order, membership and dict keys, with Python's rules across types.
#pragma once

#include "jinja/runtime.h"

namespace aster::jinja {

bool IsTrue(const Value& value);

Result<bool> Equal(Runtime& runtime, const Value& a, const Value& b);
// `a is b`. Equal small values and strings count as identical, as Python interns most of them.
bool Identical(const Value& a, const Value& b);

enum class Order : uint8_t { kLess, kLessOrEqual, kGreater, kGreaterOrEqual };
Result<bool> Ordered(Runtime& runtime, Order order, const Value& a, const Value& b);

// `item in container`.
Result<bool> Contains(Runtime& runtime, const Value& container, const Value& item);

// A dict's form of the key, valid as long as `key`; an error if it cannot be a key.
Result<DictKey> KeyOf(Runtime& runtime, const Value& key);
bool IsHashable(const Value& key);

}  // namespace aster::jinja
