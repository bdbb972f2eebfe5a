// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Merges two JSON schemas into one that requires both. Must not know grammars.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace aster::grammar {

// Keywords that restrict nothing.
bool IsAnnotation(std::string_view key);

// Their schemas for the same member are joined by allOf, and merged later. The error names the
// keyword that cannot be merged, below `at`.
Result<nlohmann::ordered_json> MergeSchemas(const nlohmann::ordered_json& a,
                                            const nlohmann::ordered_json& b, const std::string& at);

}  // namespace aster::grammar
