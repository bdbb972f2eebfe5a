// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "respond/tag_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "grammar/json_rules.h"
#include "grammar/json_schema.h"

namespace aster::respond {
namespace {

using grammar::Element;
using grammar::Grammar;
using grammar::Joined;
using grammar::Sequence;
using nlohmann::ordered_json;

// Supported keywords of an object's schema: those about single members.
constexpr std::string_view kKept[] = {"type",    "properties",  "required", "additionalProperties",
                                      "$defs",   "definitions", "title",    "description",
                                      "$schema", "$id",         "$comment", "default",
                                      "examples"};
// Keywords of a text's schema that are supported or have no effect.
constexpr std::string_view kKeptOfText[] = {"type",        "minLength", "maxLength", "title",
                                            "description", "default",   "examples",  "$comment",
                                            "deprecated",  "readOnly",  "writeOnly"};

constexpr std::string_view kOtherTypes[] = {"null",   "boolean", "integer",
                                            "number", "array",   "object"};
constexpr int kMaxDepth = 8;
constexpr const char* kDefinitions[] = {"$defs", "definitions"};
// Of definitions, which each member's schema gets.
constexpr size_t kMaxCopiedBytes = 8 << 20;

Error CannotKeep(std::string_view what) {
  return Unimplemented(fmt::format("{} is not kept where arguments have tags", what));
}

const ordered_json* Find(const ordered_json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

// The schema that a reference leads to, if it is a plain one within `root`.
const ordered_json& Target(const ordered_json& schema, const ordered_json& root) {
  const ordered_json* at = &schema;
  for (int hops = 0; hops < kMaxDepth && at->is_object() && at->contains("$ref"); ++hops) {
    const ordered_json& reference = (*at)["$ref"];
    if (!reference.is_string()) return *at;
    const ordered_json* next = nullptr;
    for (const char* key : kDefinitions) {
      const std::string prefix = fmt::format("#/{}/", key);
      const ordered_json* definitions = root.is_object() ? Find(root, key) : nullptr;
      const auto& path = reference.get_ref<const std::string&>();
      if (definitions == nullptr || !definitions->is_object() || !path.starts_with(prefix))
        continue;
      next = Find(*definitions, path.substr(prefix.size()).c_str());
    }
    if (next == nullptr) return *at;
    at = next;
  }
  return *at;
}

// Follows schemas to this depth; below it any type is possible.
bool MayBeType(const ordered_json& given, const ordered_json& root, std::string_view type,
               int depth) {
  const ordered_json& schema = Target(given, root);
  if (!schema.is_object() || depth > kMaxDepth) return true;
  const auto is_type = [&](const auto& one) {
    return one == type || (type == "integer" && one == "number");
  };
  if (const ordered_json* said = Find(schema, "type")) {
    if (said->is_string()) return is_type(*said);
    if (said->is_array()) return std::ranges::any_of(*said, is_type);
  }
  if (const ordered_json* values = Find(schema, "enum"); values != nullptr && values->is_array())
    return std::ranges::any_of(*values, [&](const auto& one) { return is_type(TypeOf(one)); });
  if (const ordered_json* value = Find(schema, "const")) return is_type(TypeOf(*value));
  for (const char* key : {"anyOf", "oneOf"}) {
    const ordered_json* ways = Find(schema, key);
    if (ways == nullptr || !ways->is_array()) continue;
    return std::ranges::any_of(
        *ways, [&](const auto& way) { return MayBeType(way, root, type, depth + 1); });
  }
  return true;
}

class TagWriter {
 public:
  TagWriter(const ordered_json& schema, const TagRules& rules, Grammar& grammar)
      : schema_(schema), rules_(rules), grammar_(grammar) {
    const ordered_json* required = Find(schema, "required");
    for (const ordered_json& name : required != nullptr ? *required : ordered_json::array()) {
      if (name.is_string()) required_.insert(name.get<std::string>());
    }
    for (const char* key : kDefinitions) {
      const ordered_json* definitions = Find(schema, key);
      if (definitions != nullptr) definitions_bytes_ += definitions->dump().size();
    }
  }

  Result<Sequence> Write() {
    // Keywords that cannot be supported allow any arguments, unless the schema must be exact.
    for (const auto& [key, value] : schema_.items()) {
      if (std::ranges::find(kKept, key) != std::end(kKept)) continue;
      if (rules_.is_exact) return CannotKeep(key);
      return AnyTagArguments(rules_, grammar_);
    }
    const ordered_json* properties = Find(schema_, "properties");
    const ordered_json* more = Find(schema_, "additionalProperties");
    const bool names_any = properties != nullptr && !properties->empty();
    if (!names_any && (more == nullptr || *more != false)) {
      if (rules_.is_exact && more != nullptr && *more != true)
        return CannotKeep("additionalProperties");
      return AnyTagArguments(rules_, grammar_);
    }
    Sequence all;
    if (!names_any) return all;
    // The members in the schema's order, then required ones without a schema.
    for (const auto& [key, value] : properties->items()) {
      if (!CanName(key)) {
        if (rules_.is_exact) return CannotKeep(fmt::format("a member called {:?}", key));
        continue;
      }
      Sequence one = Key(key);
      auto kept = Value(value);
      if (!kept.ok() && !rules_.is_exact) kept = LooseValue(value);
      one.push_back(TRY(std::move(kept)));
      if (!required_.contains(key))
        one = {Grammar::Rule(grammar_.AddRule({Sequence(), std::move(one)}))};
      all.insert(all.end(), one.begin(), one.end());
    }
    std::set<std::string> named;
    for (const auto& [key, value] : properties->items()) named.insert(key);
    const ordered_json* required = Find(schema_, "required");
    for (const ordered_json& name : required != nullptr ? *required : ordered_json::array()) {
      if (!name.is_string() || !named.insert(name.get<std::string>()).second) continue;
      if (rules_.is_exact) return CannotKeep("a required member without a schema");
      const auto& key = name.get_ref<const std::string&>();
      if (!CanName(key)) continue;
      const Sequence one = Joined({Key(key), Text({rules_.text})});
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }

 private:
  // Tags cannot contain every name.
  static bool CanName(const std::string& key) {
    return !key.empty() && key.find_first_of("<>\"\n\r\t ") == std::string::npos;
  }
  // Names from clients are never control tokens.
  Sequence Key(const std::string& key) {
    return Joined({rules_.write(rules_.form.key_open), grammar_.Literal(key)});
  }

  Sequence Text(Sequence text) const {
    return Joined({rules_.write(rules_.form.value_open), std::move(text),
                   rules_.write(rules_.form.value_close)});
  }
  Sequence Json(Sequence json) const {
    return Joined({rules_.write(rules_.form.json_open), std::move(json),
                   rules_.write(rules_.form.value_close)});
  }

  // The value of one member.
  Result<Element> Value(const ordered_json& given) {
    const ordered_json& schema = Target(given, schema_);
    const ordered_json* values = schema.is_object() ? Find(schema, "enum") : nullptr;
    if (values != nullptr && values->is_array()) return Values(*values);
    if (schema.is_object() && schema.contains("const"))
      return Values(ordered_json::array({schema["const"]}));
    const bool tells = rules_.form.json_open != rules_.form.value_open;
    const bool is_text = MayBe(schema, schema_, "string");
    const bool is_more = std::ranges::any_of(
        kOtherTypes, [&](std::string_view type) { return MayBe(schema, schema_, type); });
    if (is_text && !is_more) return Grammar::Rule(grammar_.AddRule({Text(TRY(TextOf(schema)))}));
    if (is_text && !tells) {
      // The parser takes it for a text, unless it is JSON of another type that the schema allows.
      if (rules_.is_exact && !SaysTypesOnly(schema)) return CannotKeep("a text or something else");
      return Grammar::Rule(grammar_.AddRule({Text({rules_.text})}));
    }
    copied_bytes_ += definitions_bytes_;
    if (copied_bytes_ > kMaxCopiedBytes) return CannotKeep("so large a schema");
    return Grammar::Rule(
        grammar_.AddRule({Json({TRY(AddJsonSchema(WithDefinitions(schema), grammar_))})}));
  }
  Result<Element> LooseValue(const ordered_json& schema) {
    if (MayBe(schema, schema_, "string"))
      return Grammar::Rule(grammar_.AddRule({Text({rules_.text})}));
    return Grammar::Rule(
        grammar_.AddRule({Json({TRY(AddJsonSchema(ordered_json::object(), grammar_))})}));
  }

  static bool SaysTypesOnly(const ordered_json& schema) {
    if (!schema.is_object()) return false;
    return std::ranges::all_of(schema.items(), [](const auto& item) {
      return item.key() != "minLength" && item.key() != "maxLength" &&
             std::ranges::find(kKeptOfText, item.key()) != std::end(kKeptOfText);
    });
  }

  Result<Element> Values(const ordered_json& values) {
    std::vector<Sequence> ways;
    for (const ordered_json& value : values) {
      if (!value.is_string()) {
        ways.push_back(Json(grammar_.Literal(value.dump())));
        continue;
      }
      const auto& text = value.get_ref<const std::string&>();
      if (text.find('<') != std::string::npos) return CannotKeep("a value with < in it");
      ways.push_back(Text(grammar_.Literal(text)));
    }
    if (ways.empty()) return CannotKeep("an empty enum");
    return Grammar::Rule(grammar_.AddRule(std::move(ways)));
  }

  Result<Sequence> TextOf(const ordered_json& schema) {
    for (const auto& [key, value] : schema.items()) {
      if (std::ranges::find(kKeptOfText, key) == std::end(kKeptOfText)) return CannotKeep(key);
    }
    if (!schema.contains("minLength") && !schema.contains("maxLength"))
      return Sequence{rules_.text};
    const auto length = [&](const char* key, uint32_t otherwise) -> Result<uint32_t> {
      const ordered_json* found = Find(schema, key);
      if (found == nullptr) return otherwise;
      if (!found->is_number_unsigned() || found->get<uint64_t>() > grammar::kMaxRepeats)
        return CannotKeep(key);
      return found->get<uint32_t>();
    };
    // A tag could begin within the counted characters.
    const Element character = grammar_.Characters({{'<', '<'}}, /*is_negated=*/true);
    const uint32_t minimum = TRY(length("minLength", 0));
    const uint32_t maximum = TRY(length("maxLength", grammar::kNoMaximum));
    return Sequence{TRY(grammar_.Repeat({character}, minimum, maximum))};
  }

  // Adds the definitions that references of a member's schema need.
  ordered_json WithDefinitions(const ordered_json& schema) const {
    if (!schema.is_object()) return schema;
    ordered_json whole = schema;
    for (const char* key : kDefinitions) {
      if (schema_.contains(key) && !whole.contains(key)) whole[key] = schema_[key];
    }
    return whole;
  }

  const ordered_json& schema_;
  const TagRules& rules_;
  Grammar& grammar_;
  std::set<std::string> required_;
  size_t definitions_bytes_ = 0;
  size_t copied_bytes_ = 0;  // of definitions, so far
};

}  // namespace

std::string_view TypeOf(const ordered_json& value) {
  if (value.is_number_integer()) return "integer";
  return value.type_name();
}

bool MayBe(const ordered_json& schema, const ordered_json& root, std::string_view type) {
  return MayBeType(schema, root, type, /*depth=*/0);
}

Result<Sequence> TagArguments(const ordered_json& schema, const TagRules& rules, Grammar& grammar) {
  return TagWriter(schema, rules, grammar).Write();
}

Sequence AnyTagArguments(const TagRules& rules, Grammar& grammar) {
  const Element letter = grammar.Characters({{'a', 'z'}, {'A', 'Z'}, {'_', '_'}});
  const Element more = grammar.Characters({{'a', 'z'}, {'A', 'Z'}, {'_', '_'}, {'0', '9'}});
  const grammar::RuleId name = grammar.AddRule();
  grammar.AddAlternative(name, {});
  grammar.AddAlternative(name, {more, Grammar::Rule(name)});
  const grammar::RuleId all = grammar.AddRule();
  grammar.AddAlternative(all, {});
  grammar.AddAlternative(all, Joined({rules.write(rules.form.key_open),
                                      {letter, Grammar::Rule(name)},
                                      rules.write(rules.form.value_open),
                                      {rules.text},
                                      rules.write(rules.form.value_close),
                                      {Grammar::Rule(all)}}));
  return {Grammar::Rule(all)};
}

}  // namespace aster::respond
