// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Grammars of arguments that are written with a tag for each: texts literally, everything else as
// JSON. Must not know the markup around the arguments.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "chat/call_form.h"
#include "grammar/grammar.h"

namespace aster::respond {

// Whether values under the schema, which is a part of `root`, may be of that type: JSON's names and
// "integer"; true if the schema does not say.
bool MayBe(const nlohmann::ordered_json& schema, const nlohmann::ordered_json& root,
           std::string_view type);
// The type of a value, by the same names.
std::string_view TypeOf(const nlohmann::ordered_json& value);

struct TagRules {
  const chat::CallForm& form;
  // Turns markup into a sequence.
  std::function<grammar::Sequence(std::string_view markup)> write;
  grammar::Element text;  // text that cannot end a tag
  bool is_exact = false;  // unsupported keywords are errors; otherwise they are ignored
};
Result<grammar::Sequence> TagArguments(const nlohmann::ordered_json& schema, const TagRules& rules,
                                       grammar::Grammar& grammar);
// Any arguments.
grammar::Sequence AnyTagArguments(const TagRules& rules, grammar::Grammar& grammar);

}  // namespace aster::respond
