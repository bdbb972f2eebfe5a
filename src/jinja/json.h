// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Values to JSON and back, with the spacing and escapes of Python's json module.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "jinja/runtime.h"

namespace aster::jinja {

struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  std::optional<std::string> indent;  // of one level; absent: everything on one line
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};

Result<std::string> ToJson(Runtime& runtime, const Value& value, const JsonStyle& style);

// Numbers keep their kind, and integers keep all digits.
Result<Value> ParseJson(Runtime& runtime, std::string_view text);
Result<Value> FromJson(Runtime& runtime, const nlohmann::ordered_json& json);

}  // namespace aster::jinja
