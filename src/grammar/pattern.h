// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Regular expressions as JSON schemas write them (ECMA-262), as rules of a grammar: the texts in
// which one finds something, between the quotes of a JSON string. What is not regular, or looks
// around, is refused by name. Must not know JSON schemas.
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

// Characters that JSON has to escape are escaped in one way, and no others. An error says what of
// the pattern is not supported, or that no text is of it and so long.
Result<Element> AddPattern(std::string_view pattern, LengthRange length, Grammar& grammar);
// The texts that are of all of these; there is at least one.
Result<Element> AddPatterns(std::span<const std::string> patterns, LengthRange length,
                            Grammar& grammar);

}  // namespace aster::grammar
