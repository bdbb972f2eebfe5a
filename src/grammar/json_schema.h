// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Grammars of JSON: of any value, and of those that a JSON schema describes. Unsupported parts of a
// schema are refused by name, never ignored. Must not know tokens.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "grammar/grammar.h"
#include "grammar/json_rules.h"

namespace aster::grammar {

// Any JSON object.
std::shared_ptr<const Grammar> JsonObjectGrammar();

// The error names the keyword and its place: "#/properties/a/pattern: …". Texts of the grammar are
// valid under the schema, but not all valid texts are in it: members are in the schema's order, and
// if it names any, there are no others.
Result<std::shared_ptr<const Grammar>> JsonSchemaGrammar(const nlohmann::ordered_json& schema);
// The same as a part of another grammar, which is not finished yet; also for values in another
// notation than JSON, for which patterns are not supported.
Result<Element> AddJsonSchema(const nlohmann::ordered_json& schema, Grammar& grammar,
                              const BareStyle* bare = nullptr);

}  // namespace aster::grammar
