// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What single keywords of JSON schemas mean. Must not know grammars' rules.
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

// By type: keywords that ask something of its values, and nothing of others.
const std::map<std::string, std::set<std::string>>& KeywordsOfTypes();

// A regular expression whose texts are of a format. Empty where JSON Schema does not know the
// format: then it asks for nothing. An error where it does, and texts of it are not regular.
Result<std::string> PatternOfFormat(const std::string& format);

// Whether a format asks for something: then it is of texts. Those that JSON Schema does not know
// may be of anything.
bool IsOfTexts(const nlohmann::ordered_json& format);

// What texts have to be of by `pattern` and `format`, each of which may be a list where schemas
// were merged.
Result<std::vector<std::string>> PatternsOf(const nlohmann::ordered_json& schema,
                                            const std::string& at);

// `type` is a name, or a list of them.
bool IsOfType(const nlohmann::ordered_json& value, const nlohmann::ordered_json& type);

// The name of a type that the value is of; "number" for whole ones, too.
std::string TypeOf(const nlohmann::ordered_json& value);

// What a reference within `root` is about ("#/$defs/a~1b/0", "#anchor"); an error where that is not
// there, or not within it.
Result<const nlohmann::ordered_json*> TargetOf(const nlohmann::ordered_json& reference,
                                               const nlohmann::ordered_json& root,
                                               const std::string& at);

// Bounds and multiples; nothing where a schema asks for none of them.
Result<std::optional<NumberRange>> NumberRangeOf(const nlohmann::ordered_json& schema,
                                                 bool is_integer, const std::string& at);

}  // namespace aster::grammar
