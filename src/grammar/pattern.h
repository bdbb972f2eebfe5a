// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Regular expressions of JSON schemas (ECMA-262) as rules of a grammar: the texts in which one has
// a match, between the quotes of a JSON string. Irregular features and lookarounds are refused by
// name. Must not know JSON schemas.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "grammar/grammar.h"

namespace aster::grammar {

// In characters.
struct LengthRange {
  uint32_t minimum = 0;
  uint32_t maximum = kNoMaximum;
};

// Characters that JSON has to escape are escaped in one way, and no others. The error names the
// unsupported part of the pattern, or says that no matching text has such a length.
Result<Element> AddPattern(std::string_view pattern, LengthRange length, Grammar& grammar);
// The texts that match all of these; at least one pattern is given.
Result<Element> AddPatterns(std::span<const std::string> patterns, LengthRange length,
                            Grammar& grammar);

}  // namespace aster::grammar
