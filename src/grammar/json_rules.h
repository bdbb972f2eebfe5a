// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The rules of JSON itself, for other grammars. Must not know schemas.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "grammar/grammar.h"

namespace aster::grammar {

Sequence Joined(std::initializer_list<Sequence> parts);

// How JSON values are written in another notation: texts unescaped between marks, names of members
// without quotes, and no blanks.
struct BareStyle {
  std::string quote;               // the mark, as in a model's tokens
  std::vector<std::string> marks;  // not allowed in texts
  ByteSet controls = {};           // bytes that are not allowed either
};

// Belongs to the thread that makes the grammar, which outlives it.
class JsonRules {
 public:
  // `bare`: the other notation, or null; outlives it.
  explicit JsonRules(Grammar& grammar, const BareStyle* bare = nullptr);

  const BareStyle* bare() const { return bare_; }

  Element space() const { return space_; }
  Element character() const { return character_; }
  Element number() const { return number_; }
  Element integer() const { return integer_; }
  Element string() const { return string_; }
  // A text of these characters.
  Element String(Element characters);
  // Any name of a member, or this one.
  Element name() const { return name_; }
  Sequence Name(const std::string& name);
  // Whether a name can be written; and a value, with all its texts.
  bool CanName(const std::string& name) const;
  bool CanWrite(const nlohmann::ordered_json& value) const;
  // Exactly this value.
  Sequence Literal(const nlohmann::ordered_json& value);
  Element boolean();
  Element null();
  // Any value: recursive rules.
  Element value();
  // Any members with such keys and values.
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
  void MakeBareString();
  void MakeNumbers();
  std::string Written(const nlohmann::ordered_json& value) const;

  Grammar& grammar_;
  const BareStyle* const bare_;
  Element space_;
  Element character_;
  Element string_;
  Element name_;
  Element number_;
  Element integer_;
  std::pair<bool, Element> boolean_ = {false, {}};
  std::pair<bool, Element> null_ = {false, {}};
  bool has_value_ = false;
  Element value_;
};

}  // namespace aster::grammar
