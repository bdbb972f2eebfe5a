// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A context-free grammar over bytes, the form of a structured output (grammar-constrained decoding:
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

// A place in an alternative: one byte of a set, or a rule.
struct Element {
  bool is_rule = false;
  uint32_t index = 0;  // of the rule, or of the set of bytes
};
using Sequence = std::vector<Element>;

inline constexpr uint32_t kLastCodePoint = 0x10FFFF;

struct CodePointRange {
  uint32_t first = 0;
  uint32_t last = 0;  // included
};

inline constexpr uint32_t kNoMaximum = UINT32_MAX;
// Of one grammar, so that none takes all memory.
inline constexpr size_t kMaxElements = 1 << 20;
// Copies that a bounded repetition takes.
inline constexpr uint32_t kMaxRepeats = 4096;

// The first rule is where a text begins. Belongs to one thread until Finish, and is constant then.
class Grammar {
 public:
  RuleId AddRule();
  void AddAlternative(RuleId rule, Sequence sequence);
  RuleId AddRule(std::vector<Sequence> alternatives);

  // Pieces of sequences.
  Element Bytes(const ByteSet& set);
  static Element Rule(RuleId rule) { return {.is_rule = true, .index = rule}; }
  Sequence Literal(std::string_view text);
  // One character of any of these ranges; or of none of them.
  Element Characters(std::vector<CodePointRange> ranges, bool is_negated = false);
  // Another grammar, which is finished, as a part of this one.
  Element Include(const Grammar& other);
  // `sequence`, from `minimum` to `maximum` times.
  Result<Element> Repeat(const Sequence& sequence, uint32_t minimum, uint32_t maximum);

  // Whether there is too much already. What is added then is dropped, and Finish refuses the whole.
  bool is_too_large() const { return size_ > kMaxElements; }

  // An error where a text could be read for ever without a byte, where no text ever ends, or where
  // there is too much. Alternatives that never end are left out.
  Status Finish();

  // After Finish: all sequences in a row, each ended by an element whose index is kEnd.
  static constexpr uint32_t kEnd = UINT32_MAX;
  const std::vector<Element>& elements() const { return elements_; }
  std::span<const uint32_t> alternatives(RuleId rule) const { return starts_[rule]; }
  const ByteSet& bytes(uint32_t index) const { return sets_[index]; }
  size_t rule_count() const { return rules_.size(); }
  // Bytes of one class are the same to every set of the grammar.
  size_t class_of(uint8_t byte) const { return classes_[byte]; }
  size_t class_count() const { return class_count_; }

 private:
  std::vector<bool> RulesThatEnd(bool with_bytes) const;
  Status CheckLeftRecursion() const;
  void FindClasses();

  std::vector<std::vector<Sequence>> rules_;
  std::vector<ByteSet> sets_;
  std::unordered_map<ByteSet, uint32_t> set_ids_;
  size_t size_ = 0;  // rules, and elements with the ends of sequences
  std::array<uint8_t, 256> classes_ = {};
  size_t class_count_ = 1;
  std::vector<Element> elements_;
  std::vector<std::vector<uint32_t>> starts_;  // [rules] of alternatives, in elements_
};

}  // namespace aster::grammar
