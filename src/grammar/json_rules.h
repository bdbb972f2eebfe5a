// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The rules of JSON itself, for grammars that are made of them. Must not know schemas.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "base/result.h"
#include "grammar/grammar.h"

namespace aster::grammar {

Sequence Joined(std::initializer_list<Sequence> parts);

// Belongs to the thread that makes the grammar, which outlives it.
class JsonRules {
 public:
  explicit JsonRules(Grammar& grammar);

  Element space() const { return space_; }
  Element character() const { return character_; }
  Element number() const { return number_; }
  Element integer() const { return integer_; }
  Element string() const { return string_; }
  Element boolean();
  Element null();
  // Any value: rules that need each other.
  Element value();
  // Any members with such values.
  Element Object(Element key, Element value);
  Result<Element> Array(Element item, uint32_t minimum, uint32_t maximum);

  Element Char(char c) { return grammar_.Literal({&c, 1}).front(); }

 private:
  template <typename Make>
  Element Once(std::pair<bool, Element>& made, const Make& make) {
    if (!made.first) made = {true, Grammar::Rule(grammar_.AddRule(make()))};
    return made.second;
  }
  void MakeString();
  void MakeNumbers();

  Grammar& grammar_;
  Element space_;
  Element character_;
  Element string_;
  Element number_;
  Element integer_;
  std::pair<bool, Element> boolean_ = {false, {}};
  std::pair<bool, Element> null_ = {false, {}};
  bool has_value_ = false;
  Element value_;
};

}  // namespace aster::grammar
