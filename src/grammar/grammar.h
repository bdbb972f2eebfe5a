// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A context-free grammar over bytes, for structured output (grammar-constrained decoding:
// token_mask.h). Must not know tokens, nor where grammars come from.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace aster::grammar {

using RuleId = uint32_t;
using ByteSet = std::bitset<256>;

// An element of an alternative: one byte of a set, or a rule.
struct Element {
  bool is_rule = false;
  uint32_t index = 0;  // of the rule, or of the set of bytes
};
using Sequence = std::vector<Element>;

inline constexpr uint32_t kLastCodePoint = 0x10FFFF;

struct CodePointRange {
  uint32_t first = 0;
  uint32_t last = 0;  // inclusive
};

inline constexpr uint32_t kNoMaximum = UINT32_MAX;
// Limit of one grammar, so that none takes all memory.
inline constexpr size_t kMaxElements = 1 << 20;
// The most copies of a bounded repetition.
inline constexpr uint32_t kMaxRepeats = 4096;

// The first rule is a whole text. Belongs to one thread until Finish, and is constant afterwards.
class Grammar {
 public:
  RuleId AddRule();
  void AddAlternative(RuleId rule, Sequence sequence);
  RuleId AddRule(std::vector<Sequence> alternatives);

  // Elements of sequences.
  Element Bytes(const ByteSet& set);
  static Element Rule(RuleId rule) { return {.is_rule = true, .index = rule}; }
  Sequence Literal(std::string_view text);
  // One character in any of these ranges; negated: in none of them.
  Element Characters(std::vector<CodePointRange> ranges, bool is_negated = false);
  // Another, finished grammar as a part of this one.
  Element Include(const Grammar& other);
  // `sequence`, from `minimum` to `maximum` times.
  Result<Element> Repeat(const Sequence& sequence, uint32_t minimum, uint32_t maximum);

  // Whether it is too large. Then further elements are dropped, and Finish returns an error.
  bool is_too_large() const { return size_ > kMaxElements; }

  // An error for left recursion (a loop without a byte), if no text ever ends, or if the grammar is
  // too large. Alternatives that never end are left out.
  Status Finish();

  // After Finish: all sequences in a row, each ended by an element with index kEnd.
  static constexpr uint32_t kEnd = UINT32_MAX;
  const std::vector<Element>& elements() const { return elements_; }
  std::span<const uint32_t> alternatives(RuleId rule) const { return starts_[rule]; }
  const ByteSet& bytes(uint32_t index) const { return sets_[index]; }
  size_t rule_count() const { return rules_.size(); }
  // Bytes of one class are equivalent in every set of the grammar.
  size_t class_of(uint8_t byte) const { return classes_[byte]; }
  size_t class_count() const { return class_count_; }

 private:
  std::vector<bool> RulesThatEnd(bool with_bytes) const;
  Status CheckLeftRecursion() const;
  void FindClasses();

  std::vector<std::vector<Sequence>> rules_;
  std::vector<ByteSet> sets_;
  std::unordered_map<ByteSet, uint32_t> set_ids_;
  size_t size_ = 0;  // rules, and elements including the ends of sequences
  std::array<uint8_t, 256> classes_ = {};
  size_t class_count_ = 1;
  std::vector<Element> elements_;
  std::vector<std::vector<uint32_t>> starts_;  // [rules] of alternatives, in elements_
};

}  // namespace aster::grammar
