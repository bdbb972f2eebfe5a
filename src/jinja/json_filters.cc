// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// tojson, with the parameters of chat templates, which differ from plain Jinja's, and from_json.
#include "jinja/compare.h"
#include "jinja/filters.h"
#include "jinja/iterate.h"
#include "jinja/json.h"

namespace aster::jinja {
namespace {

bool IsGiven(const Value& value) { return !value.is_missing() && !value.is_none(); }

Result<JsonStyle> StyleOf(const Call& call) {
  JsonStyle style;
  style.ensure_ascii = FlagOf(call[0]);
  style.sort_keys = FlagOf(call[3]);
  if (IsGiven(call[1])) {
    style.item_separator = ",";
    if (call[1].is_string()) {
      style.indent = std::string(call[1].text());
    } else {
      const int64_t spaces = std::max<int64_t>(TRY(WantInt(call[1])), 0);
      TRY(call.runtime.CheckBytes(static_cast<uint64_t>(spaces)));
      style.indent = std::string(static_cast<size_t>(spaces), ' ');
    }
  }
  if (IsGiven(call[2])) {
    const Values separators = TRY(ItemsOf(call.runtime, call[2]));
    if (separators.size() != 2) return TemplateError("tojson wants two separators");
    style.item_separator = TRY(WantString(separators[0], "the separator of items"));
    style.key_separator = TRY(WantString(separators[1], "the separator of keys and values"));
  }
  return style;
}

Result<Value> ToJsonFilter(const Call& call) {
  const JsonStyle style = TRY(StyleOf(call));
  return Value(call.runtime.NewString(TRY(ToJson(call.runtime, call.self, style))));
}

Result<Value> FromJsonFilter(const Call& call) {
  return ParseJson(call.runtime, TRY(WantString(call.self, "what to read as JSON")));
}

constexpr Builtin kJsonFilters[] = {
    {"from_json", "", FromJsonFilter},
    {"tojson", "ensure_ascii? indent? separators? sort_keys?", ToJsonFilter},
};

}  // namespace

std::span<const Builtin> JsonFilters() { return kJsonFilters; }

}  // namespace aster::jinja
