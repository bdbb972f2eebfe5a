// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Parses a regular expression to a tree. Must not know grammars' rules.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grammar/grammar.h"

namespace aster::grammar {

struct PatternNode {
  enum class Kind : uint8_t { kClass, kSequence, kChoice, kRepeat };

  Kind kind = Kind::kSequence;              // without children: the empty text
  std::vector<CodePointRange> ranges = {};  // of a class; empty: no character
  std::vector<PatternNode> children = {};   // one, for a repeat
  uint32_t minimum = 0;                     // of a repeat
  uint32_t maximum = kNoMaximum;
};

inline constexpr size_t kMaxPatternBytes = 1 << 14;

// The tree of whole texts: where the pattern is not anchored, any text comes before and after.
Result<PatternNode> ParsePattern(std::string_view pattern);

// In order, without overlaps.
std::vector<CodePointRange> Normalised(std::vector<CodePointRange> ranges);
std::vector<CodePointRange> Without(const std::vector<CodePointRange>& ranges,
                                    const std::vector<CodePointRange>& others);

}  // namespace aster::grammar
