// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The meaning of single keywords of JSON schemas. Must not know grammars' rules.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "grammar/number_grammar.h"

namespace aster::grammar {

// By type: keywords that restrict its values, and no others.
const std::map<std::string, std::set<std::string>>& KeywordsOfTypes();

// A regular expression for a format. Empty if JSON Schema does not define the format: then it
// restricts nothing. An error if it does, and the format is not regular.
Result<std::string> PatternOfFormat(const std::string& format);

// Whether a format restricts values: then these are texts. Undefined formats may be of anything.
bool IsOfTexts(const nlohmann::ordered_json& format);

// The patterns for texts by `pattern` and `format`; each may be a list in merged schemas.
Result<std::vector<std::string>> PatternsOf(const nlohmann::ordered_json& schema,
                                            const std::string& at);

// `type` is a name, or a list of names.
bool IsOfType(const nlohmann::ordered_json& value, const nlohmann::ordered_json& type);

// The name of the value's type; "number" for whole ones, too.
std::string TypeOf(const nlohmann::ordered_json& value);

// The target of a reference within `root` ("#/$defs/a~1b/0", "#anchor"); an error if there is none.
Result<const nlohmann::ordered_json*> TargetOf(const nlohmann::ordered_json& reference,
                                               const nlohmann::ordered_json& root,
                                               const std::string& at);

// Bounds and multiples; nothing if a schema has none.
Result<std::optional<NumberRange>> NumberRangeOf(const nlohmann::ordered_json& schema,
                                                 bool is_integer, const std::string& at);

}  // namespace aster::grammar
