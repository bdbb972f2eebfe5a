// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Going through values one after the other, as Python's for does, lazily where Python is lazy.
// Must not know filters or statements.
#pragma once

#include <string>

#include "jinja/runtime.h"

namespace aster::jinja {

class Iterator : public Special {
 public:
  static constexpr Kind kKind = Kind::kIterator;

  // The next item; missing at the end, and ever after.
  virtual Result<Value> Next(Runtime& runtime) = 0;

  std::string Repr() const override { return "<generator object>"; }
};

bool IsIterable(const Value& value);
// An error where the value cannot be gone through. An iterator goes through itself, once.
Result<Ref<Iterator>> Iterate(Runtime& runtime, const Value& value);
// Backwards; missing (not an error) where Python's reversed() refuses the value.
Result<Value> IterateBackwards(Runtime& runtime, const Value& value);

// All items, as list(value) has them.
Result<Values> ItemsOf(Runtime& runtime, const Value& value);
// len(value), or an error for what has no length.
Result<size_t> LengthOf(const Value& value);
bool HasLength(const Value& value);

}  // namespace aster::jinja
