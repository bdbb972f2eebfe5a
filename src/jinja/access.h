// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// value.name, value[key] and value[a:b:c]: attributes before items, items before attributes, and
// undefined if there is neither.
#pragma once

#include <string_view>

#include "jinja/runtime.h"

namespace aster::jinja {

Result<Value> AttributeOf(Runtime& runtime, const Value& value, std::string_view name);
Result<Value> ItemOf(Runtime& runtime, const Value& value, const Value& key);
// Each bound is missing, none or an integer.
Result<Value> SliceOf(Runtime& runtime, const Value& value, const Value& start, const Value& stop,
                      const Value& step);

// Only the attribute, not items; missing if there is none.
Result<Value> OwnAttributeOf(Runtime& runtime, const Value& value, std::string_view name);

// A path such as "address.city" or "items.0", as in the parameter `attribute` of filters.
class AttributePath {
 public:
  // From a string or an integer; none means the value itself.
  static Result<AttributePath> From(Runtime& runtime, const Value& attribute);
  static AttributePath FromText(Runtime& runtime, std::string_view text);

  // `default_value` (missing: none) replaces undefined values on the path.
  Result<Value> Get(Runtime& runtime, const Value& value,
                    const Value& default_value = Value()) const;
  void DropReferences() { parts_.clear(); }

 private:
  Values parts_;
};

}  // namespace aster::jinja
