// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "grammar/schema_merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <unordered_set>

namespace aster::grammar {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kAnnotations[] = {
    "title", "description", "default", "examples", "$schema", "$id", "$comment", "$defs",
    "definitions", "deprecated", "readOnly", "writeOnly", "strict", "$anchor", "name",
    "discriminator",
    // From OpenAPI, editors and other tools; and keywords that do not restrict texts.
    "nullable", "example", "externalDocs", "xml", "contentEncoding", "contentMediaType",
    "contentSchema", "markdownDescription", "enumDescriptions", "markdownEnumDescriptions",
    "enumNames", "deprecationMessage", "errorMessage", "propertyOrdering", "$vocabulary"};

Error CannotMerge(const std::string& at, std::string_view why) {
  return Unimplemented(fmt::format("{}: {}", at, why));
}

bool IsOneOf(std::string_view key, std::initializer_list<std::string_view> keys) {
  return std::ranges::find(keys, key) != keys.end();
}

ordered_json Both(const ordered_json& a, const ordered_json& b) {
  if (a == b || b == true) return a;
  if (a == true) return b;
  if (a == false || b == false) return false;
  return {{"allOf", ordered_json::array({a, b})}};
}

ordered_json AsList(const ordered_json& value) {
  return value.is_array() ? value : ordered_json::array({value});
}

bool Holds(const ordered_json& list, const ordered_json& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// Equal values have equal hashes: 1 equals 1.0.
size_t HashOf(const ordered_json& value) {
  if (value.is_number()) return std::hash<double>()(value.get<double>());
  if (value.is_string()) return std::hash<std::string>()(value.get_ref<const std::string&>());
  size_t hash = static_cast<size_t>(value.is_object()) + value.size();
  const auto add = [&hash](size_t more) { hash = hash * 31 + more; };
  if (value.is_boolean()) add(value.get<bool>() ? 1 : 0);
  if (value.is_object()) {
    for (const auto& [key, inner] : value.items()) add(std::hash<std::string>()(key));
  }
  if (value.is_structured()) {
    for (const ordered_json& inner : value) add(HashOf(inner));
  }
  return hash;
}

// Values of lists that outlive it: lists may be long.
class ValueSet {
 public:
  explicit ValueSet(const ordered_json& list) {
    for (const ordered_json& value : list) values_.insert(&value);
  }
  bool Has(const ordered_json& value) const { return values_.contains(&value); }
  // Whether the value is new.
  bool Insert(const ordered_json& value) { return values_.insert(&value).second; }

 private:
  struct Hash {
    size_t operator()(const ordered_json* value) const { return HashOf(*value); }
  };
  struct Equal {
    bool operator()(const ordered_json* a, const ordered_json* b) const { return *a == *b; }
  };
  std::unordered_set<const ordered_json*, Hash, Equal> values_;
};

// The elements of both lists, in the order of the first.
ordered_json Common(const ordered_json& a, const ordered_json& b) {
  const ValueSet others(b);
  ordered_json common = ordered_json::array();
  for (const ordered_json& one : a) {
    if (others.Has(one)) common.push_back(one);
  }
  return common;
}

// The same for names of types: whole numbers are numbers.
ordered_json CommonTypes(const ordered_json& a, const ordered_json& b) {
  ordered_json common = ordered_json::array();
  for (const ordered_json& one : a) {
    if (Holds(b, one) || (one == "integer" && Holds(b, "number"))) {
      common.push_back(one);
    } else if (one == "number" && Holds(b, "integer")) {
      common.push_back("integer");
    }
  }
  return common;
}

// The elements of the first list, and then those that only the second one has.
ordered_json Union(const ordered_json& a, const ordered_json& b) {
  ordered_json all = a;
  ValueSet known(a);
  for (const ordered_json& one : b) {
    if (known.Insert(one)) all.push_back(one);
  }
  return all;
}

Result<ordered_json> MergeValues(const std::string& key, const ordered_json& a,
                                 const ordered_json& b, const std::string& at) {
  if (a == b) return a;
  if (key == "properties" && a.is_object() && b.is_object()) {
    ordered_json all = a;
    for (const auto& [name, schema] : b.items())
      all[name] = all.contains(name) ? Both(all[name], schema) : schema;
    return all;
  }
  if (key == "required" && a.is_array() && b.is_array()) return Union(a, b);
  if (key == "type" || (key == "enum" && a.is_array() && b.is_array())) {
    ordered_json common = key == "type" ? CommonTypes(AsList(a), AsList(b)) : Common(a, b);
    if (common.empty()) return CannotMerge(at, "no value meets both");
    return common;
  }
  if (key == "items" || key == "additionalProperties") return Both(a, b);
  if (key == "prefixItems" && a.is_array() && b.is_array() && a.size() == b.size()) {
    ordered_json all = ordered_json::array();
    for (size_t i = 0; i < a.size(); ++i) all.push_back(Both(a[i], b[i]));
    return all;
  }
  // Lists of patterns and formats, all of which a text must match.
  if (key == "pattern" || key == "format") return Union(AsList(a), AsList(b));
  if (a.is_number() && b.is_number()) {
    const bool a_is_less = a.get<double>() < b.get<double>();
    if (IsOneOf(key, {"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"}))
      return a_is_less ? b : a;
    if (IsOneOf(key, {"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"}))
      return a_is_less ? a : b;
  }
  if (key == "uniqueItems" && a.is_boolean() && b.is_boolean()) return ordered_json(true);
  return CannotMerge(at, "asks for two different things, which cannot be kept together");
}

// If one allows no other members than its own, the other one must not have any.
Status CheckMembers(const ordered_json& a, const ordered_json& b, const std::string& at) {
  const auto additional = a.find("additionalProperties");
  if (additional == a.end() || *additional == true) return Ok();
  const auto own = a.find("properties");
  const auto others = b.find("properties");
  if (others == b.end() || !others->is_object()) return Ok();
  for (const auto& [name, schema] : others->items()) {
    if (own != a.end() && own->is_object() && own->contains(name)) continue;
    return CannotMerge(at + "/additionalProperties",
                       fmt::format("does not take the member {}, which another part has", name));
  }
  return Ok();
}

// The schema of items also applies to those that only the other one lists: adds these.
void NameItems(ordered_json& schema, const ordered_json& other) {
  const auto others = other.find("prefixItems");
  if (others == other.end() || !others->is_array()) return;
  const auto items = schema.find("items");
  const ordered_json each = items != schema.end() ? *items : ordered_json(true);
  if (!schema.contains("prefixItems") && each == true) return;
  ordered_json& own = schema["prefixItems"];
  if (own.is_null()) own = ordered_json::array();
  while (own.is_array() && own.size() < others->size()) own.push_back(each);
}

}  // namespace

bool IsAnnotation(std::string_view key) {
  return key.starts_with("x-") || std::ranges::find(kAnnotations, key) != std::end(kAnnotations);
}

Result<ordered_json> MergeSchemas(const ordered_json& a, const ordered_json& b,
                                  const std::string& at) {
  if (a == true) return b;
  if (b == true) return a;
  if (!a.is_object() || !b.is_object())
    return CannotMerge(at, "give schemas that some value meets");
  TRY(CheckMembers(a, b, at));
  TRY(CheckMembers(b, a, at));
  ordered_json all = a;
  ordered_json more = b;
  NameItems(all, b);
  NameItems(more, a);
  for (const auto& [key, value] : more.items()) {
    if (!all.contains(key)) {
      all[key] = value;
    } else if (IsOneOf(key, {"anyOf", "oneOf"}) && all[key] != value && all[key].is_array()) {
      // Each of these together with each of those.
      for (ordered_json& one : all[key]) one = Both(one, ordered_json{{key, value}});
    } else if (!IsAnnotation(key)) {
      all[key] = TRY(MergeValues(key, all[key], value, at + "/" + key));
    }
  }
  return all;
}

}  // namespace aster::grammar
