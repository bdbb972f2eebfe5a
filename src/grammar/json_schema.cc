// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "grammar/json_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "base/check.h"

namespace aster::grammar {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxDepth = 64;
constexpr size_t kMaxRules = 100'000;
constexpr std::string_view kAnnotations[] = {
    "title",       "description", "default",  "examples",  "$schema", "$id",    "$comment", "$defs",
    "definitions", "deprecated",  "readOnly", "writeOnly", "format",  "strict", "$anchor",  "name"};

bool IsAnnotation(std::string_view key) {
  return std::ranges::find(kAnnotations, key) != std::end(kAnnotations);
}

Sequence Joined(std::initializer_list<Sequence> parts) {
  Sequence whole;
  for (const Sequence& part : parts) whole.insert(whole.end(), part.begin(), part.end());
  return whole;
}

// The rules of JSON itself.
class JsonRules {
 public:
  explicit JsonRules(Grammar& grammar) : grammar_(grammar) {
    // Enough for people who read it, and too little to write nothing else for ever.
    ByteSet blank;
    blank.set(' ').set('\t');
    const Element indent = grammar.Repeat({grammar.Bytes(blank)}, 0, 16).value();
    space_ = Grammar::Rule(
        grammar.AddRule({{}, grammar.Literal(" "), Joined({grammar.Literal("\n"), {indent}})}));
    MakeString();
    MakeNumbers();
  }

  Element space() const { return space_; }
  Element character() const { return character_; }
  Element number() const { return number_; }
  Element integer() const { return integer_; }
  Element string() const { return string_; }
  Element boolean() {
    return Once(boolean_, [&] {
      return std::vector<Sequence>{grammar_.Literal("true"), grammar_.Literal("false")};
    });
  }
  Element null() {
    return Once(null_, [&] { return std::vector<Sequence>{grammar_.Literal("null")}; });
  }

  // Any value: rules that need each other.
  Element value() {
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
  // Any members with such values.
  Element Object(Element key, Element value) {
    const Sequence member = {key, space_, Char(':'), space_, value};
    const Sequence more = Joined({{space_, Char(','), space_}, member});
    const Element rest = grammar_.Repeat(more, 0, kNoMaximum).value();
    const RuleId rule = grammar_.AddRule();
    grammar_.AddAlternative(rule, {Char('{'), space_, Char('}')});
    grammar_.AddAlternative(rule, Joined({{Char('{'), space_}, member, {rest, space_, Char('}')}}));
    return Grammar::Rule(rule);
  }
  Result<Element> Array(Element item, uint32_t minimum, uint32_t maximum) {
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

  Element Char(char c) { return grammar_.Literal({&c, 1}).front(); }

 private:
  template <typename Make>
  Element Once(std::pair<bool, Element>& made, const Make& make) {
    if (!made.first) made = {true, Grammar::Rule(grammar_.AddRule(make()))};
    return made.second;
  }

  void MakeString() {
    ByteSet hex;
    for (const char c : std::string_view("0123456789abcdefABCDEF"))
      hex.set(static_cast<uint8_t>(c));
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

  void MakeNumbers() {
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

class SchemaReader {
 public:
  SchemaReader(const ordered_json& root, Grammar& grammar)
      : root_(root), grammar_(grammar), json_(grammar) {}

  Result<Element> Read(const ordered_json& schema, const std::string& at, size_t depth);

 private:
  Error Refused(const std::string& at, std::string_view why) const {
    return Unimplemented(fmt::format("{}: {}", at, why));
  }
  Result<Element> ReadReference(const ordered_json& schema, const std::string& at, size_t depth);
  Result<Element> ReadAny(const ordered_json& schema, const char* key, const std::string& at,
                          size_t depth);
  Result<Element> ReadType(const std::string& type, const ordered_json& schema,
                           const std::string& at, size_t depth);
  Result<Element> ReadObject(const ordered_json& schema, const std::string& at, size_t depth);
  Result<Element> ReadArray(const ordered_json& schema, const std::string& at, size_t depth);
  Result<Element> ReadString(const ordered_json& schema, const std::string& at);
  Status CheckKeys(const ordered_json& schema, std::set<std::string> known,
                   const std::string& at) const;
  Result<uint32_t> Bound(const ordered_json& schema, const char* key, uint32_t absent,
                         const std::string& at) const;
  Result<Element> ReadValues(const ordered_json& schema, const std::string& at);

  const ordered_json& root_;
  Grammar& grammar_;
  JsonRules json_;
  std::map<std::string, RuleId> references_;
};

Status SchemaReader::CheckKeys(const ordered_json& schema, std::set<std::string> known,
                               const std::string& at) const {
  for (const auto& [key, value] : schema.items()) {
    if (!known.contains(key) && !IsAnnotation(key))
      return Refused(at + "/" + key, "is not supported");
  }
  return Ok();
}

Result<uint32_t> SchemaReader::Bound(const ordered_json& schema, const char* key, uint32_t absent,
                                     const std::string& at) const {
  const auto found = schema.find(key);
  if (found == schema.end()) return absent;
  if (!found->is_number_unsigned() || found->get<uint64_t>() > kMaxRepeats) {
    return Refused(at + "/" + key, fmt::format("give a whole number up to {}", kMaxRepeats));
  }
  return found->get<uint32_t>();
}

Result<Element> SchemaReader::ReadReference(const ordered_json& schema, const std::string& at,
                                            size_t depth) {
  const ordered_json& reference = schema["$ref"];
  if (!reference.is_string() || !reference.get_ref<const std::string&>().starts_with('#')) {
    return Refused(at + "/$ref", "only references within the schema (#/…) are supported");
  }
  TRY(CheckKeys(schema, {"$ref"}, at));
  const auto path = reference.get<std::string>();
  const auto known = references_.find(path);
  if (known != references_.end()) return Grammar::Rule(known->second);
  const ordered_json* target = &root_;
  std::string rest = path.substr(1);
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('/', 1), rest.size());
    const std::string key = rest.substr(1, end - 1);
    rest.erase(0, end);
    if (!target->is_object() || !target->contains(key))
      return Refused(at + "/$ref", path + " is not there");
    target = &(*target)[key];
  }
  // Known before it is read: it may speak of itself.
  const RuleId rule = grammar_.AddRule();
  references_[path] = rule;
  const Element element = TRY(Read(*target, path, depth + 1));
  grammar_.AddAlternative(rule, {element});
  return Grammar::Rule(rule);
}

bool IsOfType(const ordered_json& value, const std::string& type) {
  if (type == "integer") {
    return value.is_number_integer() ||
           (value.is_number_float() && std::trunc(value.get<double>()) == value.get<double>());
  }
  return type == value.type_name();
}

// The value of a constant, or the values of an enumeration, that are of the type beside it.
Result<Element> SchemaReader::ReadValues(const ordered_json& schema, const std::string& at) {
  const std::string key = schema.contains("const") ? "const" : "enum";
  TRY(CheckKeys(schema, {key, "type"}, at));
  const ordered_json list =
      key == "const" ? ordered_json::array({schema["const"]}) : schema["enum"];
  if (!list.is_array() || list.empty()) return Refused(at + "/enum", "give a list of values");
  std::vector<std::string> types;
  if (const auto type = schema.find("type"); type != schema.end()) {
    const ordered_json given = type->is_array() ? *type : ordered_json::array({*type});
    for (const ordered_json& one : given) {
      if (!one.is_string()) return Refused(at + "/type", "give a type or a list of types");
      types.push_back(one.get<std::string>());
    }
  }
  const RuleId rule = grammar_.AddRule();
  bool has_any = false;
  for (const ordered_json& value : list) {
    const auto fits = [&](const std::string& type) { return IsOfType(value, type); };
    if (schema.contains("type") && std::ranges::none_of(types, fits)) continue;
    grammar_.AddAlternative(rule, grammar_.Literal(value.dump()));
    has_any = true;
  }
  if (!has_any) return Refused(at + "/" + key, "has no value of the type beside it");
  return Grammar::Rule(rule);
}

// Whether an object of this schema has a member of that name.
bool Requires(const ordered_json& schema, const std::string& name) {
  const auto required = schema.find("required");
  return required != schema.end() && required->is_array() &&
         std::ranges::find(*required, ordered_json(name)) != required->end();
}

// Whether no value can be of two of the alternatives: their types differ, or a member tells that
// all of them have.
bool AreApart(const ordered_json& list) {
  std::set<std::string> types;
  const bool by_type = std::ranges::all_of(list, [&](const ordered_json& one) {
    return one.is_object() && one.contains("type") && one["type"].is_string() &&
           one["type"] != "integer" && types.insert(one["type"].get<std::string>()).second;
  });
  if (by_type) return true;
  if (!list.front().is_object()) return false;
  const ordered_json members = list.front().value("properties", ordered_json::object());
  for (const auto& [key, value] : members.items()) {
    std::set<std::string> constants;
    const bool tells = std::ranges::all_of(list, [&](const ordered_json& one) {
      if (!one.is_object() || !one.contains("properties")) return false;
      const ordered_json& properties = one["properties"];
      if (!properties.is_object() || !properties.contains(key) || !properties[key].is_object())
        return false;
      return properties[key].contains("const") && Requires(one, key) &&
             constants.insert(properties[key]["const"].dump()).second;
    });
    if (tells) return true;
  }
  return false;
}

Result<Element> SchemaReader::ReadAny(const ordered_json& schema, const char* key,
                                      const std::string& at, size_t depth) {
  TRY(CheckKeys(schema, {key}, at));
  const ordered_json& list = schema[key];
  if (!list.is_array() || list.empty()) return Refused(at + "/" + key, "give a list of schemas");
  if (std::string_view(key) == "oneOf" && !AreApart(list)) {
    return Refused(
        at + "/oneOf",
        "is supported where types or a constant member tell the alternatives apart; use anyOf");
  }
  if (std::string_view(key) == "allOf" && list.size() > 1)
    return Refused(at + "/allOf", "of several is not supported");
  const RuleId rule = grammar_.AddRule();
  for (size_t i = 0; i < list.size(); ++i) {
    const Element one = TRY(Read(list[i], fmt::format("{}/{}/{}", at, key, i), depth + 1));
    grammar_.AddAlternative(rule, {one});
  }
  return Grammar::Rule(rule);
}

Result<Element> SchemaReader::ReadObject(const ordered_json& schema, const std::string& at,
                                         size_t depth) {
  TRY(CheckKeys(schema, {"type", "properties", "required", "additionalProperties"}, at));
  const ordered_json properties = schema.value("properties", ordered_json::object());
  const ordered_json required = schema.value("required", ordered_json::array());
  if (!properties.is_object()) return Refused(at + "/properties", "give an object");
  if (!required.is_array()) return Refused(at + "/required", "give a list of names");
  std::vector<std::pair<std::string, Element>> members;
  std::set<std::string> names;
  for (const auto& [name, inner] : properties.items()) {
    members.emplace_back(name, TRY(Read(inner, at + "/properties/" + name, depth + 1)));
    names.insert(name);
  }
  // Of members that are not named above.
  const auto additional = schema.find("additionalProperties");
  const bool has_others = additional == schema.end() || *additional != false;
  Element other = json_.value();
  if (additional != schema.end() && additional->is_object()) {
    other = TRY(Read(*additional, at + "/additionalProperties", depth + 1));
  }
  std::set<std::string> needed;
  for (const ordered_json& one : required) {
    if (!one.is_string()) return Refused(at + "/required", "give a list of names");
    const auto name = one.get<std::string>();
    needed.insert(name);
    if (!names.insert(name).second) continue;
    if (!has_others)
      return Refused(at + "/required", fmt::format("{} may not be there at all", name));
    members.emplace_back(name, other);
  }
  if (members.empty()) {
    if (has_others) return json_.Object(json_.string(), other);
    return Grammar::Rule(grammar_.AddRule({{json_.Char('{'), json_.space(), json_.Char('}')}}));
  }
  // From the last member to the first: what may follow where none stands before, and where one
  // does.
  const Sequence end = {json_.space(), json_.Char('}')};
  Element first = Grammar::Rule(grammar_.AddRule({end}));
  Element later = first;
  for (auto member = members.rbegin(); member != members.rend(); ++member) {
    const Sequence written =
        Joined({grammar_.Literal(ordered_json(member->first).dump()),
                {json_.space(), json_.Char(':'), json_.space(), member->second}});
    const bool is_needed = needed.contains(member->first);
    const RuleId as_first = grammar_.AddRule({Joined({{json_.space()}, written, {later}})});
    const RuleId as_later = grammar_.AddRule(
        {Joined({{json_.space(), json_.Char(','), json_.space()}, written, {later}})});
    if (!is_needed) {
      grammar_.AddAlternative(as_first, {first});
      grammar_.AddAlternative(as_later, {later});
    }
    first = Grammar::Rule(as_first);
    later = Grammar::Rule(as_later);
  }
  return Grammar::Rule(grammar_.AddRule({{json_.Char('{'), first}}));
}

Result<Element> SchemaReader::ReadArray(const ordered_json& schema, const std::string& at,
                                        size_t depth) {
  TRY(CheckKeys(schema, {"type", "items", "minItems", "maxItems"}, at));
  const uint32_t minimum = TRY(Bound(schema, "minItems", 0, at));
  const uint32_t maximum = TRY(Bound(schema, "maxItems", kNoMaximum, at));
  Element item = json_.value();
  if (schema.contains("items")) item = TRY(Read(schema["items"], at + "/items", depth + 1));
  if (maximum < minimum) return Refused(at + "/maxItems", "is below minItems");
  return json_.Array(item, minimum, maximum);
}

Result<Element> SchemaReader::ReadString(const ordered_json& schema, const std::string& at) {
  TRY(CheckKeys(schema, {"type", "minLength", "maxLength"}, at));
  const uint32_t minimum = TRY(Bound(schema, "minLength", 0, at));
  const uint32_t maximum = TRY(Bound(schema, "maxLength", kNoMaximum, at));
  if (minimum == 0 && maximum == kNoMaximum) return json_.string();
  if (maximum < minimum) return Refused(at + "/maxLength", "is below minLength");
  const Element characters = TRY(grammar_.Repeat({json_.character()}, minimum, maximum));
  return Grammar::Rule(grammar_.AddRule({{json_.Char('"'), characters, json_.Char('"')}}));
}

Result<Element> SchemaReader::ReadType(const std::string& type, const ordered_json& schema,
                                       const std::string& at, size_t depth) {
  if (type == "object") return ReadObject(schema, at, depth);
  if (type == "array") return ReadArray(schema, at, depth);
  if (type == "string") return ReadString(schema, at);
  TRY(CheckKeys(schema, {"type"}, at));
  if (type == "integer") return json_.integer();
  if (type == "number") return json_.number();
  if (type == "boolean") return json_.boolean();
  if (type == "null") return json_.null();
  return Refused(at + "/type", fmt::format("{} is no type", type));
}

Result<Element> SchemaReader::Read(const ordered_json& schema, const std::string& at,
                                   size_t depth) {
  if (depth > kMaxDepth || grammar_.rule_count() > kMaxRules)
    return Refused(at, "the schema is too large");
  if (schema == true) return json_.value();
  if (!schema.is_object()) return Refused(at, "give a schema");
  if (schema.contains("$ref")) return ReadReference(schema, at, depth);
  for (const char* key : {"anyOf", "oneOf", "allOf"}) {
    if (schema.contains(key)) return ReadAny(schema, key, at, depth);
  }
  if (schema.contains("const") || schema.contains("enum")) return ReadValues(schema, at);
  const auto type = schema.find("type");
  if (type == schema.end()) {
    if (schema.contains("properties") || schema.contains("required"))
      return ReadObject(schema, at, depth);
    if (schema.contains("items")) return ReadArray(schema, at, depth);
    TRY(CheckKeys(schema, {}, at));
    return json_.value();
  }
  if (type->is_string()) return ReadType(type->get<std::string>(), schema, at, depth);
  if (!type->is_array() || type->empty())
    return Refused(at + "/type", "give a type or a list of types");
  // Each type has its own keywords.
  const RuleId rule = grammar_.AddRule();
  for (const ordered_json& one : *type) {
    if (!one.is_string()) return Refused(at + "/type", "give a type or a list of types");
    const bool has_keywords = one == "object" || one == "array" || one == "string";
    ordered_json inner = schema;
    if (!has_keywords) inner = {{"type", one}};
    grammar_.AddAlternative(rule, {TRY(ReadType(one.get<std::string>(), inner, at, depth))});
  }
  return Grammar::Rule(rule);
}

}  // namespace

std::shared_ptr<const Grammar> JsonObjectGrammar() {
  auto grammar = std::make_shared<Grammar>();
  const RuleId root = grammar->AddRule();
  JsonRules json(*grammar);
  const Element object = json.Object(json.string(), json.value());
  grammar->AddAlternative(root, {object});
  const Status finished = grammar->Finish();
  CHECK_NOTE(finished.ok(), finished.ok() ? "" : finished.error().message());
  return grammar;
}

Result<Element> AddJsonSchema(const ordered_json& schema, Grammar& grammar) {
  SchemaReader reader(schema, grammar);
  return reader.Read(schema, "#", 0);
}

Result<std::shared_ptr<const Grammar>> JsonSchemaGrammar(const ordered_json& schema) {
  auto grammar = std::make_shared<Grammar>();
  const RuleId root = grammar->AddRule();
  const Element value = TRY(AddJsonSchema(schema, *grammar));
  grammar->AddAlternative(root, {value});
  TRY(grammar->Finish());
  return std::shared_ptr<const Grammar>(std::move(grammar));
}

}  // namespace aster::grammar
