// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Grammars of JSON: of any value, and of those that a JSON schema describes. What a schema asks for
// and cannot be kept is refused by name, never ignored. Must not know tokens.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "grammar/grammar.h"
#include "grammar/json_rules.h"

namespace aster::grammar {

// Any JSON object.
std::shared_ptr<const Grammar> JsonObjectGrammar();

// An error names the keyword and where it stands: "#/properties/a/pattern: …". Texts of the grammar
// are valid under the schema; not every valid text is one of it (members come in the schema's
// order, and none that it does not name where it names any).
Result<std::shared_ptr<const Grammar>> JsonSchemaGrammar(const nlohmann::ordered_json& schema);
// The same as a part of another grammar, which is not finished yet; perhaps of values that are not
// written in JSON, where no patterns can be kept.
Result<Element> AddJsonSchema(const nlohmann::ordered_json& schema, Grammar& grammar,
                              const BareStyle* bare = nullptr);

}  // namespace aster::grammar
