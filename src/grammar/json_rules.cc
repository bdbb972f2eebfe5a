// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "grammar/json_rules.h"

#include <string_view>

namespace aster::grammar {

Sequence Joined(std::initializer_list<Sequence> parts) {
  Sequence whole;
  for (const Sequence& part : parts) whole.insert(whole.end(), part.begin(), part.end());
  return whole;
}

JsonRules::JsonRules(Grammar& grammar) : grammar_(grammar) {
  // Enough for people who read it, and too little to write nothing else for ever.
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
    const Element object = Object(string_, value_);
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
  // No halves of pairs: they stand for no character.
  const RuleId escape = grammar_.AddRule();
  grammar_.AddAlternative(escape, {grammar_.Bytes(escaped)});
  grammar_.AddAlternative(escape, {Char('u'), grammar_.Bytes(hex_not_d), any, any, any});
  grammar_.AddAlternative(escape, {Char('u'), grammar_.Bytes(d), grammar_.Bytes(low), any, any});
  const Element plain =
      grammar_.Characters({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}}, /*is_negated=*/true);
  character_ = Grammar::Rule(grammar_.AddRule({{plain}, {Char('\\'), Grammar::Rule(escape)}}));
  const Element characters = grammar_.Repeat({character_}, 0, kNoMaximum).value();
  string_ = Grammar::Rule(grammar_.AddRule({{Char('"'), characters, Char('"')}}));
}

void JsonRules::MakeNumbers() {
  ByteSet digits;
  for (char c = '0'; c <= '9'; ++c) digits.set(static_cast<uint8_t>(c));
  ByteSet first = digits;
  first.reset('0');
  const Element digit = grammar_.Bytes(digits);
  // Longer ones than any program reads are not written.
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
