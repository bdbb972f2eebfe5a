// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "grammar/json_rules.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "grammar/free_text.h"

namespace aster::grammar {

Sequence Joined(std::initializer_list<Sequence> parts) {
  Sequence whole;
  for (const Sequence& part : parts) whole.insert(whole.end(), part.begin(), part.end());
  return whole;
}

JsonRules::JsonRules(Grammar& grammar, const BareStyle* bare) : grammar_(grammar), bare_(bare) {
  if (bare != nullptr) {
    space_ = Grammar::Rule(grammar.AddRule({Sequence()}));
    MakeBareString();
    MakeNumbers();
    return;
  }
  // Enough for readability, and too little to write white space for ever.
  ByteSet blank;
  blank.set(' ').set('\t');
  const Element indent = grammar.Repeat({grammar.Bytes(blank)}, 0, 16).value();
  space_ = Grammar::Rule(
      grammar.AddRule({{}, grammar.Literal(" "), Joined({grammar.Literal("\n"), {indent}})}));
  MakeString();
  MakeNumbers();
}

Element JsonRules::boolean() {
  return Once(boolean_, [&] {
    return std::vector<Sequence>{grammar_.Literal("true"), grammar_.Literal("false")};
  });
}

Element JsonRules::null() {
  return Once(null_, [&] { return std::vector<Sequence>{grammar_.Literal("null")}; });
}

Element JsonRules::value() {
  if (!has_value_) {
    has_value_ = true;
    const RuleId rule = grammar_.AddRule();
    value_ = Grammar::Rule(rule);
    const Element object = Object(name_, value_);
    const Element array = Array(value_, 0, kNoMaximum).value();
    for (const Element& one : {object, array, string_, number_, boolean(), null()}) {
      grammar_.AddAlternative(rule, {one});
    }
  }
  return value_;
}

Element JsonRules::Object(Element key, Element value) {
  const Sequence member = {key, space_, Char(':'), space_, value};
  const Sequence more = Joined({{space_, Char(','), space_}, member});
  const Element rest = grammar_.Repeat(more, 0, kNoMaximum).value();
  const RuleId rule = grammar_.AddRule();
  grammar_.AddAlternative(rule, {Char('{'), space_, Char('}')});
  grammar_.AddAlternative(rule, Joined({{Char('{'), space_}, member, {rest, space_, Char('}')}}));
  return Grammar::Rule(rule);
}

Result<Element> JsonRules::Array(Element item, uint32_t minimum, uint32_t maximum) {
  const RuleId rule = grammar_.AddRule();
  if (minimum == 0) grammar_.AddAlternative(rule, {Char('['), space_, Char(']')});
  if (maximum > 0) {
    const Element rest =
        TRY(grammar_.Repeat({space_, Char(','), space_, item}, minimum == 0 ? 0 : minimum - 1,
                            maximum == kNoMaximum ? kNoMaximum : maximum - 1));
    grammar_.AddAlternative(rule, {Char('['), space_, item, rest, space_, Char(']')});
  }
  return Grammar::Rule(rule);
}

void JsonRules::MakeString() {
  ByteSet hex;
  for (const char c : std::string_view("0123456789abcdefABCDEF")) hex.set(static_cast<uint8_t>(c));
  ByteSet hex_not_d = hex;
  hex_not_d.reset('d').reset('D');
  ByteSet low;
  for (const char c : std::string_view("01234567")) low.set(static_cast<uint8_t>(c));
  ByteSet escaped;
  for (const char c : std::string_view("\"\\/bfnrt")) escaped.set(static_cast<uint8_t>(c));
  ByteSet d;
  d.set('d').set('D');
  const Element any = grammar_.Bytes(hex);
  // No half surrogate pairs: they are not characters.
  const RuleId escape = grammar_.AddRule();
  grammar_.AddAlternative(escape, {grammar_.Bytes(escaped)});
  grammar_.AddAlternative(escape, {Char('u'), grammar_.Bytes(hex_not_d), any, any, any});
  grammar_.AddAlternative(escape, {Char('u'), grammar_.Bytes(d), grammar_.Bytes(low), any, any});
  const Element plain =
      grammar_.Characters({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}}, /*is_negated=*/true);
  character_ = Grammar::Rule(grammar_.AddRule({{plain}, {Char('\\'), Grammar::Rule(escape)}}));
  const Element characters = grammar_.Repeat({character_}, 0, kNoMaximum).value();
  string_ = name_ = String(characters);
}

void JsonRules::MakeBareString() {
  // A counted character could begin a mark in its middle, so the mark's first one is excluded.
  character_ = grammar_.Characters({{'<', '<'}}, /*is_negated=*/true);
  string_ = String(TextWithout(bare_->marks, bare_->controls, grammar_));
  const Element first = grammar_.Characters({{'a', 'z'}, {'A', 'Z'}, {'_', '_'}});
  const Element more = grammar_.Characters({{'a', 'z'}, {'A', 'Z'}, {'_', '_'}, {'0', '9'}});
  const RuleId rest = grammar_.AddRule();
  grammar_.AddAlternative(rest, {});
  grammar_.AddAlternative(rest, {more, Grammar::Rule(rest)});
  name_ = Grammar::Rule(grammar_.AddRule({{first, Grammar::Rule(rest)}}));
}

Element JsonRules::String(Element characters) {
  const Sequence quote = grammar_.Literal(bare_ == nullptr ? "\"" : bare_->quote);
  return Grammar::Rule(grammar_.AddRule({Joined({quote, {characters}, quote})}));
}

Sequence JsonRules::Name(const std::string& name) {
  return grammar_.Literal(bare_ == nullptr ? nlohmann::ordered_json(name).dump() : name);
}

bool JsonRules::CanName(const std::string& name) const {
  if (bare_ == nullptr) return true;
  return !name.empty() && name.front() != ' ' && name.back() != ' ' &&
         name.find_first_of("\t\r\n:,{}[]<>\"") == std::string::npos;
}

bool JsonRules::CanWrite(const nlohmann::ordered_json& value) const {
  if (bare_ == nullptr) return true;
  if (value.is_string()) return value.get_ref<const std::string&>().find('<') == std::string::npos;
  return std::ranges::all_of(value.items(), [&](const auto& item) {
    if (value.is_object() && !CanName(item.key())) return false;
    return !value.is_structured() || CanWrite(item.value());
  });
}

Sequence JsonRules::Literal(const nlohmann::ordered_json& value) {
  return grammar_.Literal(bare_ == nullptr ? value.dump() : Written(value));
}

std::string JsonRules::Written(const nlohmann::ordered_json& value) const {
  if (value.is_string()) return bare_->quote + value.get<std::string>() + bare_->quote;
  if (!value.is_structured()) return value.dump();
  std::string all(1, value.is_object() ? '{' : '[');
  for (const auto& item : value.items()) {
    if (all.size() > 1) all += ',';
    if (value.is_object()) all += item.key() + ":";
    all += Written(item.value());
  }
  return all + (value.is_object() ? '}' : ']');
}

void JsonRules::MakeNumbers() {
  ByteSet digits;
  for (char c = '0'; c <= '9'; ++c) digits.set(static_cast<uint8_t>(c));
  ByteSet first = digits;
  first.reset('0');
  const Element digit = grammar_.Bytes(digits);
  // Longer numbers than any program reads are not written.
  const Element more = grammar_.Repeat({digit}, 0, 15).value();
  const Element some = grammar_.Repeat({digit}, 1, 16).value();
  const RuleId whole = grammar_.AddRule({{Char('0')}, {grammar_.Bytes(first), more}});
  const RuleId sign = grammar_.AddRule({{}, {Char('-')}});
  integer_ = Grammar::Rule(grammar_.AddRule({{Grammar::Rule(sign), Grammar::Rule(whole)}}));
  ByteSet e;
  e.set('e').set('E');
  ByteSet signs;
  signs.set('+').set('-');
  const RuleId exponent_sign = grammar_.AddRule({{}, {grammar_.Bytes(signs)}});
  const Element exponent_digits = grammar_.Repeat({digit}, 1, 2).value();
  const RuleId fraction = grammar_.AddRule({{}, {Char('.'), some}});
  const RuleId exponent =
      grammar_.AddRule({{}, {grammar_.Bytes(e), Grammar::Rule(exponent_sign), exponent_digits}});
  number_ = Grammar::Rule(
      grammar_.AddRule({{integer_, Grammar::Rule(fraction), Grammar::Rule(exponent)}}));
}

}  // namespace aster::grammar
