// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// One JSON schema out of two: what both ask for. Must not know grammars.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace aster::grammar {

// Keywords that ask for nothing.
bool IsAnnotation(std::string_view key);

// What they say of the same member is left to be merged there (allOf). An error names the keyword
// that cannot be merged, below `at`.
Result<nlohmann::ordered_json> MergeSchemas(const nlohmann::ordered_json& a,
                                            const nlohmann::ordered_json& b, const std::string& at);

}  // namespace aster::grammar
