// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "grammar/json_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/check.h"
#include "grammar/json_members.h"
#include "grammar/json_rules.h"
#include "grammar/matcher.h"
#include "grammar/number_grammar.h"
#include "grammar/pattern.h"
#include "grammar/schema_alternatives.h"
#include "grammar/schema_keywords.h"
#include "grammar/schema_merge.h"

namespace aster::grammar {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxSchemaDepth = 64;
constexpr size_t kMaxRules = 100'000;
// Object, array, string, number, integer, boolean, null.
constexpr size_t kMaxTypes = 7;
// Characters of merged schemas and comparisons of their keywords, so that small schemas cannot
// cause endless work.
constexpr size_t kMaxMerged = 8 << 20;
// Grammars of constraints beside values, which are only made to check these.
constexpr size_t kMaxBesides = 64;

// Ignores keywords that restrict nothing.
bool HasOnly(const ordered_json& schema, std::string_view only) {
  for (const auto& [key, value] : schema.items()) {
    if (key != only && !IsAnnotation(key)) return false;
  }
  return true;
}

// Every text of the grammar is valid, so this value is valid, too.
bool Takes(const Grammar& grammar, const ordered_json& value) {
  Matcher matcher(grammar);
  StateId state = matcher.start();
  for (const char c : value.dump()) state = matcher.Next(state, static_cast<uint8_t>(c));
  return !matcher.has_failed() && matcher.CanEnd(state);
}

class SchemaReader {
 public:
  // Shared limits of all grammars of the same schema.
  struct Budget {
    size_t merged = 0;   // characters and comparisons
    size_t besides = 0;  // grammars
  };

  SchemaReader(const ordered_json& root, Grammar& grammar, Budget& budget,
               const BareStyle* bare = nullptr)
      : root_(root), grammar_(grammar), json_(grammar, bare), budget_(budget) {}

  Result<Element> Read(const ordered_json& schema, const std::string& at, size_t depth);

 private:
  Error Refused(const std::string& at, std::string_view why) const {
    return Unimplemented(fmt::format("{}: {}", at, why));
  }
  Result<Element> ReadReference(const ordered_json& schema, const std::string& at, size_t depth);
  // Both, within the budget.
  Result<ordered_json> Merged(const ordered_json& a, const ordered_json& b, const std::string& at);
  // Resolves references and allOf at its top.
  Result<ordered_json> Flat(const ordered_json& schema, const std::string& at, size_t depth);
  Result<Element> ReadMerged(const ordered_json& schema, const std::string& at, size_t depth);
  Result<Element> ReadAny(const ordered_json& schema, const char* key, const std::string& at,
                          size_t depth);
  Result<Element> ReadValues(const ordered_json& schema, const std::string& at, size_t depth);
  Result<std::shared_ptr<const Grammar>> GrammarBeside(const ordered_json& rest,
                                                       const std::string& type,
                                                       const std::string& at, size_t depth);
  Result<ordered_json> TypesOf(const ordered_json& schema, const std::string& at) const;
  Result<Element> ReadType(const std::string& type, const ordered_json& schema,
                           const std::string& at, size_t depth);
  Result<Element> ReadObject(const ordered_json& schema, const std::string& at, size_t depth);
  Result<Element> FreeMembers(Element name, Element value, CountRange count, const std::string& at);
  Result<Element> ReadPatternMembers(const ordered_json& patterns, CountRange count,
                                     const std::string& at, size_t depth);
  Result<Element> ReadArray(const ordered_json& schema, const std::string& at, size_t depth);
  Result<Element> ReadDifferent(const ordered_json& schema, const std::string& at);
  Result<Element> ReadTuple(const std::vector<Element>& first, const std::optional<Element>& item,
                            uint32_t minimum, uint32_t maximum);
  Result<Element> ReadString(const ordered_json& schema, const std::string& at);
  Result<Element> ReadNumber(bool is_integer, const ordered_json& schema, const std::string& at);
  Status CheckKeys(const ordered_json& schema, const std::set<std::string>& known,
                   const std::string& at) const;
  Status CheckTypeCount(const ordered_json& schema, const std::string& at) const;
  Result<uint32_t> Bound(const ordered_json& schema, const char* key, uint32_t absent,
                         const std::string& at) const;

  const ordered_json& root_;
  Grammar& grammar_;
  JsonRules json_;
  std::map<std::string, RuleId> references_;  // and merged schemas, by their text
  Budget& budget_;
};

Status SchemaReader::CheckKeys(const ordered_json& schema, const std::set<std::string>& known,
                               const std::string& at) const {
  for (const auto& [key, value] : schema.items()) {
    if (!known.contains(key) && !IsAnnotation(key))
      return Refused(at + "/" + key, "is not supported");
  }
  return Ok();
}

// Each value is compared with each type.
Status SchemaReader::CheckTypeCount(const ordered_json& schema, const std::string& at) const {
  const auto types = schema.find("type");
  if (types == schema.end() || types->size() <= kMaxTypes) return Ok();
  return Refused(at + "/type", "names more types than there are");
}

Result<uint32_t> SchemaReader::Bound(const ordered_json& schema, const char* key, uint32_t absent,
                                     const std::string& at) const {
  const auto found = schema.find(key);
  if (found == schema.end()) return absent;
  // 2.0 is a whole number, too.
  const double value = found->is_number() ? found->get<double>() : -1;
  if (!(value >= 0 && value <= kMaxRepeats) || value != std::trunc(value)) {
    return Refused(at + "/" + key, fmt::format("give a whole number up to {}", kMaxRepeats));
  }
  return static_cast<uint32_t>(value);
}

Result<Element> SchemaReader::ReadReference(const ordered_json& schema, const std::string& at,
                                            size_t depth) {
  const ordered_json& target = *TRY(TargetOf(schema["$ref"], root_, at));
  const auto path = schema["$ref"].get<std::string>();
  const auto known = references_.find(path);
  if (known != references_.end()) return Grammar::Rule(known->second);
  // Registered before it is read: it may refer to itself.
  const RuleId rule = grammar_.AddRule();
  references_[path] = rule;
  const Element element = TRY(Read(target, path, depth + 1));
  grammar_.AddAlternative(rule, {element});
  return Grammar::Rule(rule);
}

Result<ordered_json> SchemaReader::Merged(const ordered_json& a, const ordered_json& b,
                                          const std::string& at) {
  // Each keyword and each property of one is looked for among those of the other.
  const auto count = [](const ordered_json& schema, const char* key) {
    const auto found = schema.is_object() ? schema.find(key) : schema.end();
    return found == schema.end() ? 0 : found->size();
  };
  budget_.merged += a.size() * b.size() + count(a, "properties") * count(b, "properties");
  if (budget_.merged <= kMaxMerged) {
    ordered_json all = TRY(MergeSchemas(a, b, at));
    budget_.merged += all.dump().size();
    if (budget_.merged <= kMaxMerged) return all;
  }
  return Refused(at, "there is too much to be merged");
}

Result<ordered_json> SchemaReader::Flat(const ordered_json& schema, const std::string& at,
                                        size_t depth) {
  if (depth > kMaxSchemaDepth) return Refused(at, "the schema is too large");
  if (!schema.is_object()) return schema;
  TRY(CheckTypeCount(schema, at));
  ordered_json all = true;
  if (schema.contains("$ref")) {
    const ordered_json& target = *TRY(TargetOf(schema["$ref"], root_, at));
    all = TRY(Flat(target, schema["$ref"].get<std::string>(), depth + 1));
  }
  if (schema.contains("allOf")) {
    const ordered_json& parts = schema["allOf"];
    if (!parts.is_array() || parts.empty()) return Refused(at + "/allOf", "give a list of schemas");
    for (size_t i = 0; i < parts.size(); ++i) {
      const std::string part_at = fmt::format("{}/allOf/{}", at, i);
      const ordered_json part = TRY(Flat(parts[i], part_at, depth + 1));
      all = TRY(Merged(all, part, part_at));
    }
  }
  ordered_json own = schema;
  own.erase("$ref");
  own.erase("allOf");
  if (!own.empty()) all = TRY(Merged(all, own, at));
  return all;
}

Result<Element> SchemaReader::ReadMerged(const ordered_json& schema, const std::string& at,
                                         size_t depth) {
  // Merged schemas may also refer to themselves.
  const std::string text = schema.dump();
  const auto known = references_.find(text);
  if (known != references_.end()) return Grammar::Rule(known->second);
  const RuleId rule = grammar_.AddRule();
  references_[text] = rule;
  const ordered_json flat = TRY(Flat(schema, at, depth));
  const Element element = TRY(Read(flat, at, depth + 1));
  grammar_.AddAlternative(rule, {element});
  return Grammar::Rule(rule);
}

Result<Element> SchemaReader::ReadAny(const ordered_json& schema, const char* key,
                                      const std::string& at, size_t depth) {
  const ordered_json& list = schema[key];
  if (!list.is_array() || list.empty()) return Refused(at + "/" + key, "give a list of schemas");
  // The keywords beside apply to each of them.
  ordered_json rest = schema;
  rest.erase(key);
  if (std::string_view(key) == "oneOf" && list.size() > 1) {
    ordered_json flat = ordered_json::array();
    for (const ordered_json& one : list) flat.push_back(TRY(Flat(one, at + "/oneOf", depth + 1)));
    const auto tells = FindDiscriminator(flat);
    if (!tells) {
      return Refused(
          at + "/oneOf",
          "is supported where types, values or a member tell the alternatives apart; use anyOf");
    }
    // Without the member a value could be valid for all of them.
    if (!tells->empty()) {
      const ordered_json needed = {{"required", ordered_json::array({*tells})}};
      rest = TRY(MergeSchemas(rest, needed, at));
    }
  }
  const bool has_rest = !HasOnly(rest, "");
  const RuleId rule = grammar_.AddRule();
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string one_at = fmt::format("{}/{}/{}", at, key, i);
    const ordered_json both = {{"allOf", ordered_json::array({rest, list[i]})}};
    const Element one = TRY(Read(has_rest ? both : list[i], one_at, depth + 1));
    grammar_.AddAlternative(rule, {one});
  }
  return Grammar::Rule(rule);
}

// Of values of one type, with the keywords beside them; null if there are none.
Result<std::shared_ptr<const Grammar>> SchemaReader::GrammarBeside(const ordered_json& rest,
                                                                   const std::string& type,
                                                                   const std::string& at,
                                                                   size_t depth) {
  if (++budget_.besides > kMaxBesides) return Refused(at, "too much stands beside values");
  ordered_json typed = rest;
  typed["type"] = type;
  auto alone = std::make_shared<Grammar>();
  const RuleId root = alone->AddRule();
  auto element = SchemaReader(root_, *alone, budget_).Read(typed, at, depth + 1);
  if (!element.ok() && element.error().code() == Code::kInvalidArgument)
    return std::shared_ptr<const Grammar>();
  alone->AddAlternative(root, {TRY(std::move(element))});
  const Status finished = alone->Finish();
  if (!finished.ok() && finished.error().code() == Code::kInvalidArgument)
    return std::shared_ptr<const Grammar>();
  TRY(finished);
  return std::shared_ptr<const Grammar>(std::move(alone));
}

// const and enum.
Result<Element> SchemaReader::ReadValues(const ordered_json& schema, const std::string& at,
                                         size_t depth) {
  ordered_json list = ordered_json::array();
  if (schema.contains("const")) list.push_back(schema["const"]);
  if (schema.contains("enum")) {
    const ordered_json& values = schema["enum"];
    if (!values.is_array() || values.empty()) return Refused(at + "/enum", "give a list of values");
    if (!schema.contains("const")) {
      list = values;
    } else if (std::find(values.begin(), values.end(), schema["const"]) == values.end()) {
      list.clear();
    }
  }
  ordered_json rest = schema;
  for (const char* key : {"const", "enum", "type"}) rest.erase(key);
  const bool has_rest = !HasOnly(rest, "");
  std::map<std::string, std::shared_ptr<const Grammar>> besides;  // by type
  const RuleId rule = grammar_.AddRule();
  bool has_any = false;
  for (const ordered_json& value : list) {
    if (schema.contains("type") && !IsOfType(value, schema["type"])) continue;
    if (has_rest) {
      const std::string type = TypeOf(value);
      if (!besides.contains(type)) besides[type] = TRY(GrammarBeside(rest, type, at, depth));
      if (besides[type] == nullptr || !Takes(*besides[type], value)) continue;
    }
    if (!json_.CanWrite(value)) return Refused(at, "a value that calls cannot hold");
    grammar_.AddAlternative(rule, json_.Literal(value));
    has_any = true;
  }
  if (!has_any) return Refused(at, "no value is left of all that is asked for");
  return Grammar::Rule(rule);
}

Result<Element> SchemaReader::ReadObject(const ordered_json& schema, const std::string& at,
                                         size_t depth) {
  const ordered_json properties = schema.value("properties", ordered_json::object());
  const ordered_json required = schema.value("required", ordered_json::array());
  if (!properties.is_object()) return Refused(at + "/properties", "give an object");
  if (!required.is_array()) return Refused(at + "/required", "give a list of names");
  const CountRange count = {TRY(Bound(schema, "minProperties", 0, at)),
                            TRY(Bound(schema, "maxProperties", kNoMaximum, at))};
  std::set<std::string> needed;
  for (const ordered_json& one : required) {
    if (!one.is_string()) return Refused(at + "/required", "give a list of names");
    needed.insert(one.get<std::string>());
  }
  std::vector<Member> members;
  std::set<std::string> names;
  for (const auto& [name, inner] : properties.items()) {
    names.insert(name);
    // Never written, so it must not be required.
    if (inner == false && !needed.contains(name)) continue;
    if (!json_.CanName(name)) return Refused(at + "/properties/" + name, "no name in calls");
    members.push_back({name, TRY(Read(inner, at + "/properties/" + name, depth + 1))});
  }
  // For members that are not named above.
  const auto additional = schema.find("additionalProperties");
  const bool has_others = additional == schema.end() || *additional != false;
  Element other = json_.value();
  if (additional != schema.end() && additional->is_object()) {
    other = TRY(Read(*additional, at + "/additionalProperties", depth + 1));
  }
  for (const ordered_json& one : required) {
    const auto name = one.get<std::string>();
    if (!names.insert(name).second) continue;
    if (!json_.CanName(name)) return Refused(at + "/required", name + " is no name in calls");
    if (!has_others)
      return Refused(at + "/required", fmt::format("{} may not be there at all", name));
    members.push_back({name, other});
  }
  if (schema.contains("patternProperties") && !schema["patternProperties"].empty()) {
    // It is not checked which of the names the pattern matches.
    if (!names.empty())
      return Refused(at + "/patternProperties", "is not supported beside properties");
    return ReadPatternMembers(schema["patternProperties"], count, at, depth);
  }
  // Named members that must not exist are excluded, too.
  if (members.empty() && has_others && names.empty())
    return FreeMembers(json_.name(), other, count, at);
  for (Member& member : members) member.is_needed = needed.contains(member.name);
  const auto object = AddMembers(members, count, json_, grammar_);
  if (!object) return Refused(at + "/minProperties", "no object of the named members has as many");
  return *object;
}

// A free name may be written twice but counts once, so a minimum above 1 cannot be guaranteed.
Result<Element> SchemaReader::FreeMembers(Element name, Element value, CountRange count,
                                          const std::string& at) {
  if (count.minimum > 1)
    return Refused(at + "/minProperties", "above 1 is supported of named properties only");
  if (count.minimum > count.maximum)
    return Refused(at + "/minProperties", "is more than there may be");
  return AddFreeMembers(name, value, count, json_, grammar_);
}

// Only members whose names match a pattern.
Result<Element> SchemaReader::ReadPatternMembers(const ordered_json& patterns, CountRange count,
                                                 const std::string& at, size_t depth) {
  const std::string place = at + "/patternProperties";
  if (!patterns.is_object()) return Refused(place, "give an object");
  if (json_.bare() != nullptr) return Refused(place, "is not kept in calls of this model");
  if (patterns.size() > 1) return Refused(place, "is supported of one pattern");
  const std::string pattern = patterns.begin().key();
  const Element value = TRY(Read(*patterns.begin(), place + "/" + pattern, depth + 1));
  const Element name = TRY(ReadString({{"pattern", pattern}}, place));
  return FreeMembers(name, value, count, at);
}

// The first items have schemas of their own.
Result<Element> SchemaReader::ReadTuple(const std::vector<Element>& first,
                                        const std::optional<Element>& item, uint32_t minimum,
                                        uint32_t maximum) {
  const Sequence end = {json_.space(), json_.Char(']')};
  const Sequence comma = {json_.space(), json_.Char(','), json_.space()};
  const auto count = static_cast<uint32_t>(first.size());
  RuleId rest = grammar_.AddRule();
  if (!item || maximum <= count) {
    if (count >= minimum) grammar_.AddAlternative(rest, end);
  } else {
    const Element more =
        TRY(grammar_.Repeat(Joined({comma, {*item}}), minimum - std::min(minimum, count),
                            maximum == kNoMaximum ? kNoMaximum : maximum - count));
    grammar_.AddAlternative(rest, Joined({{more}, end}));
  }
  for (uint32_t i = count; i-- > 0;) {
    const RuleId from = grammar_.AddRule();
    if (i >= minimum) grammar_.AddAlternative(from, end);
    if (i < maximum) {
      const Sequence before = i == 0 ? Sequence{json_.space()} : comma;
      grammar_.AddAlternative(from, Joined({before, {first[i], Grammar::Rule(rest)}}));
    }
    rest = from;
  }
  return Grammar::Rule(grammar_.AddRule({{json_.Char('['), Grammar::Rule(rest)}}));
}

Result<Element> SchemaReader::ReadArray(const ordered_json& schema, const std::string& at,
                                        size_t depth) {
  const bool is_unique = schema.contains("uniqueItems") && schema["uniqueItems"] != false;
  const bool may_have_two = TRY(Bound(schema, "maxItems", kNoMaximum, at)) > 1;
  if (is_unique && may_have_two) return ReadDifferent(schema, at);
  const uint32_t minimum = TRY(Bound(schema, "minItems", 0, at));
  uint32_t maximum = TRY(Bound(schema, "maxItems", kNoMaximum, at));
  std::vector<Element> first;
  const ordered_json prefix = schema.value("prefixItems", ordered_json::array());
  if (!prefix.is_array()) return Refused(at + "/prefixItems", "give a list of schemas");
  // Items that must not exist need not be read.
  for (size_t i = 0; i < prefix.size() && i < maximum; ++i) {
    // A list has to end before an impossible item.
    if (prefix[i] == false) {
      maximum = static_cast<uint32_t>(i);
      break;
    }
    first.push_back(TRY(Read(prefix[i], fmt::format("{}/prefixItems/{}", at, i), depth + 1)));
  }
  std::optional<Element> item = json_.value();
  if (schema.contains("items") && schema["items"] == false) {
    item.reset();
    maximum = std::min(maximum, static_cast<uint32_t>(first.size()));
  } else if (schema.contains("items")) {
    item = TRY(Read(schema["items"], at + "/items", depth + 1));
  }
  if (maximum < minimum) return Refused(at + "/minItems", "is more than there may be");
  if (!first.empty()) return ReadTuple(first, item, minimum, maximum);
  return json_.Array(item.value_or(json_.null()), minimum, maximum);
}

// Different items must be from a list of values, some of which are written.
Result<Element> SchemaReader::ReadDifferent(const ordered_json& schema, const std::string& at) {
  const ordered_json items = schema.value("items", ordered_json());
  const bool is_list = items.is_object() && items.contains("enum") && items["enum"].is_array();
  if (!is_list || schema.contains("prefixItems"))
    return Refused(at + "/uniqueItems", "is supported where items is an enum");
  TRY(CheckKeys(items, {"enum", "type"}, at + "/items"));
  TRY(CheckTypeCount(items, at + "/items"));
  std::vector<ordered_json> values;
  for (const ordered_json& value : items["enum"]) {
    if (items.contains("type") && !IsOfType(value, items["type"])) continue;
    if (std::find(values.begin(), values.end(), value) != values.end()) continue;
    if (values.size() == kMaxDifferentItems) {
      return Refused(at + "/uniqueItems",
                     fmt::format("is supported of up to {} values", kMaxDifferentItems));
    }
    values.push_back(value);
  }
  const auto list = AddDifferentItems(
      values,
      {TRY(Bound(schema, "minItems", 0, at)), TRY(Bound(schema, "maxItems", kNoMaximum, at))},
      json_, grammar_);
  if (!list) return Refused(at + "/minItems", "is more than there may be");
  return *list;
}

Result<Element> SchemaReader::ReadString(const ordered_json& schema, const std::string& at) {
  const uint32_t minimum = TRY(Bound(schema, "minLength", 0, at));
  const uint32_t maximum = TRY(Bound(schema, "maxLength", kNoMaximum, at));
  if (maximum < minimum) return Refused(at + "/maxLength", "is below minLength");
  const std::vector<std::string> patterns = TRY(PatternsOf(schema, at));
  Element characters = json_.string();
  if (!patterns.empty()) {
    if (json_.bare() != nullptr)
      return Refused(at, "a pattern or format is not kept in calls of this model");
    auto added = AddPatterns(patterns, {.minimum = minimum, .maximum = maximum}, grammar_);
    const char* const keyword = schema.contains("pattern") ? "pattern" : "format";
    if (!added.ok())
      return Error(added.error().code(),
                   fmt::format("{}/{}: {}", at, keyword, added.error().message()));
    characters = *added;
  } else if (minimum > 0 || maximum != kNoMaximum) {
    characters = TRY(grammar_.Repeat({json_.character()}, minimum, maximum));
  } else {
    return json_.string();
  }
  return json_.String(characters);
}

Result<Element> SchemaReader::ReadNumber(bool is_integer, const ordered_json& schema,
                                         const std::string& at) {
  const auto range = TRY(NumberRangeOf(schema, is_integer, at));
  if (!range) return is_integer ? json_.integer() : json_.number();
  auto numbers = AddNumbers(*range, grammar_);
  if (!numbers.ok()) return Refused(at, numbers.error().message());
  return numbers;
}

Result<Element> SchemaReader::ReadType(const std::string& type, const ordered_json& schema,
                                       const std::string& at, size_t depth) {
  if (type == "object") return ReadObject(schema, at, depth);
  if (type == "array") return ReadArray(schema, at, depth);
  if (type == "string") return ReadString(schema, at);
  if (type == "integer") return ReadNumber(/*is_integer=*/true, schema, at);
  if (type == "number") return ReadNumber(/*is_integer=*/false, schema, at);
  if (type == "boolean") return json_.boolean();
  if (type == "null") return json_.null();
  return Refused(at + "/type", fmt::format("{} is no type", type));
}

// As a list; empty if nothing says so. Without a type, keywords tell it.
Result<ordered_json> SchemaReader::TypesOf(const ordered_json& schema,
                                           const std::string& at) const {
  ordered_json types = ordered_json::array();
  const auto given = schema.find("type");
  if (given != schema.end()) {
    types = given->is_array() ? *given : ordered_json::array({*given});
    const bool is_list = !types.empty() && std::ranges::all_of(types, [](const ordered_json& one) {
      return one.is_string();
    });
    if (!is_list) return Refused(at + "/type", "give a type or a list of types");
    return types;
  }
  for (const char* type : {"object", "array", "string", "number"}) {
    for (const std::string& keyword : KeywordsOfTypes().at(type)) {
      if (!schema.contains(keyword)) continue;
      types.push_back(type);
      break;
    }
  }
  if (schema.contains("format") && IsOfTexts(schema["format"]) &&
      std::find(types.begin(), types.end(), "string") == types.end())
    types.push_back("string");
  return types;
}

Result<Element> SchemaReader::Read(const ordered_json& schema, const std::string& at,
                                   size_t depth) {
  if (depth > kMaxSchemaDepth || grammar_.rule_count() > kMaxRules)
    return Refused(at, "the schema is too large");
  if (schema == true) return json_.value();
  if (!schema.is_object()) return Refused(at, "give a schema");
  TRY(CheckTypeCount(schema, at));
  if (schema.contains("$ref")) {
    return HasOnly(schema, "$ref") ? ReadReference(schema, at, depth)
                                   : ReadMerged(schema, at, depth);
  }
  if (schema.contains("allOf")) return ReadMerged(schema, at, depth);
  for (const char* key : {"anyOf", "oneOf"}) {
    if (schema.contains(key)) return ReadAny(schema, key, at, depth);
  }
  if (schema.contains("const") || schema.contains("enum")) return ReadValues(schema, at, depth);
  std::set<std::string> known = {"type", "format"};
  for (const auto& [type, keywords] : KeywordsOfTypes())
    known.insert(keywords.begin(), keywords.end());
  TRY(CheckKeys(schema, known, at));
  const ordered_json types = TRY(TypesOf(schema, at));
  if (types.empty()) return json_.value();
  // Each type has its own keywords.
  const RuleId rule = grammar_.AddRule();
  for (const ordered_json& type : types)
    grammar_.AddAlternative(rule, {TRY(ReadType(type.get<std::string>(), schema, at, depth))});
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

Result<Element> AddJsonSchema(const ordered_json& schema, Grammar& grammar, const BareStyle* bare) {
  SchemaReader::Budget budget;
  SchemaReader reader(schema, grammar, budget, bare);
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
