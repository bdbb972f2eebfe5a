// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What single keywords of JSON schemas mean. Must not know grammars' rules.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "grammar/number_grammar.h"

namespace aster::grammar {

// By type: keywords that ask something of its values, and nothing of others.
const std::map<std::string, std::set<std::string>>& KeywordsOfTypes();

// A regular expression for texts of a format; nothing where the format is not regular, or not
// known: then it asks for nothing.
std::optional<std::string> PatternOfFormat(const std::string& format);

// `type` is a name, or a list of them.
bool IsOfType(const nlohmann::ordered_json& value, const nlohmann::ordered_json& type);

// Why no value can be of two of the schemas: "type", or "/NAME" of a member that is another
// constant in each of them, where it is there. Nothing where neither is so.
std::optional<std::string> WhatTellsApart(const nlohmann::ordered_json& list);

// Bounds and multiples; nothing where a schema asks for none of them.
Result<std::optional<NumberRange>> NumberRangeOf(const nlohmann::ordered_json& schema,
                                                 bool is_integer, const std::string& at);

}  // namespace aster::grammar
