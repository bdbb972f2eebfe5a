// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Iterates over values like Python's for, lazily if Python is lazy. Must not know filters or
// statements.
#pragma once

#include <string>

#include "jinja/runtime.h"

namespace aster::jinja {

class Iterator : public Special {
 public:
  static constexpr Kind kKind = Kind::kIterator;

  // The next item; missing at the end, also in later calls.
  virtual Result<Value> Next(Runtime& runtime) = 0;

  std::string Repr() const override { return "<generator object>"; }
};

bool IsIterable(const Value& value);
// An error if the value is not iterable. An iterator returns itself, and can be used once.
Result<Ref<Iterator>> Iterate(Runtime& runtime, const Value& value);
// Backwards; missing (not an error) if Python's reversed() refuses the value.
Result<Value> IterateBackwards(Runtime& runtime, const Value& value);

// All items, as in list(value).
Result<Values> ItemsOf(Runtime& runtime, const Value& value);
// len(value), or an error if it has no length.
Result<size_t> LengthOf(const Value& value);
bool HasLength(const Value& value);

}  // namespace aster::jinja
