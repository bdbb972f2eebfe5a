// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Grammars in GBNF: name ::= "text" [a-z] other* (a
// b)? x{2,3}; a text is a `root`. Must not know tokens.
#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"
#include "grammar/grammar.h"

namespace aster::grammar {

inline constexpr size_t kMaxGbnfBytes = 64 << 10;

// The error names the line.
Result<std::shared_ptr<const Grammar>> ParseGbnf(std::string_view text);

}  // namespace aster::grammar
