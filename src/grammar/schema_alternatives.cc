// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "grammar/schema_alternatives.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "grammar/schema_keywords.h"

namespace aster::grammar {
namespace {

using nlohmann::ordered_json;

// All pairs are compared.
constexpr size_t kMaxAlternatives = 1024;
constexpr size_t kMaxValues = 4096;

// The known facts about an alternative.
struct Alternative {
  const ordered_json* schema = nullptr;
  std::optional<std::vector<ordered_json>> values = {};  // of const or enum: the only ones
  std::optional<std::set<std::string>> types = {};       // the only ones
};

// Only texts, whole numbers and the like: these are equal if they are written the same.
std::optional<std::vector<ordered_json>> ValuesOf(const ordered_json& schema) {
  if (!schema.is_object()) return std::nullopt;
  std::vector<ordered_json> values;
  if (schema.contains("const")) {
    values = {schema["const"]};
  } else if (schema.contains("enum") && schema["enum"].is_array()) {
    values.assign(schema["enum"].begin(), schema["enum"].end());
  } else {
    return std::nullopt;
  }
  const bool are_plain = std::ranges::none_of(values, [](const ordered_json& value) {
    return value.is_structured() || value.is_number_float();
  });
  if (!are_plain) return std::nullopt;
  return values;
}

// Only if a schema says so itself; otherwise any type is possible.
std::optional<std::set<std::string>> TypesOf(const ordered_json& schema) {
  if (!schema.is_object()) return std::nullopt;
  std::set<std::string> types;
  if (const auto type = schema.find("type"); type != schema.end()) {
    for (const ordered_json& one : type->is_array() ? *type : ordered_json::array({*type})) {
      if (!one.is_string()) return std::nullopt;
      types.insert(one.get<std::string>());
    }
    return types;
  }
  for (const char* key : {"anyOf", "oneOf"}) {
    const auto list = schema.find(key);
    if (list == schema.end() || !list->is_array()) continue;
    for (const ordered_json& one : *list) {
      const auto more = TypesOf(one);
      if (!more) return std::nullopt;
      types.insert(more->begin(), more->end());
    }
    return types;
  }
  return std::nullopt;
}

bool ShareAType(const std::set<std::string>& a, const std::set<std::string>& b) {
  return std::ranges::any_of(a, [&](const std::string& type) {
    return b.contains(type) || (type == "integer" && b.contains("number")) ||
           (type == "number" && b.contains("integer"));
  });
}

bool IsAnyOf(const std::vector<ordered_json>& values, const std::set<std::string>& types) {
  return std::ranges::any_of(values, [&](const ordered_json& value) {
    return std::ranges::any_of(types,
                               [&](const std::string& type) { return IsOfType(value, type); });
  });
}

// One requires a member that the other one forbids.
bool NeedsWhatIsForbidden(const ordered_json& a, const ordered_json& b) {
  if (b.value("additionalProperties", ordered_json()) != false) return false;
  const ordered_json required = a.value("required", ordered_json());
  const ordered_json properties = b.value("properties", ordered_json::object());
  if (!required.is_array() || !properties.is_object()) return false;
  return std::ranges::any_of(required, [&](const ordered_json& name) {
    return name.is_string() && !properties.contains(name.get_ref<const std::string&>());
  });
}

bool Exclude(const Alternative& a, const Alternative& b) {
  if (a.values && b.values) {
    return std::ranges::none_of(*a.values, [&](const ordered_json& value) {
      return std::ranges::find(*b.values, value) != b.values->end();
    });
  }
  if (a.values && b.types) return !IsAnyOf(*a.values, *b.types);
  if (b.values && a.types) return !IsAnyOf(*b.values, *a.types);
  if (!a.types || !b.types) return false;
  if (!ShareAType(*a.types, *b.types)) return true;
  const std::set<std::string> objects = {"object"};
  return a.types == objects && b.types == objects &&
         (NeedsWhatIsForbidden(*a.schema, *b.schema) || NeedsWhatIsForbidden(*b.schema, *a.schema));
}

// Whether the member has different values in all of them.
bool Distinguishes(const std::string& member, const std::vector<const ordered_json*>& schemas) {
  std::set<std::string> seen;
  for (const ordered_json* schema : schemas) {
    const auto properties = schema->find("properties");
    if (properties == schema->end() || !properties->is_object()) return false;
    const auto found = properties->find(member);
    const auto values = found != properties->end() ? ValuesOf(*found) : std::nullopt;
    if (!values) return false;
    std::set<std::string> own;
    for (const ordered_json& value : *values) own.insert(value.dump());
    for (const std::string& value : own) {
      if (!seen.insert(value).second) return false;
    }
  }
  return true;
}

}  // namespace

std::optional<std::string> FindDiscriminator(const ordered_json& list) {
  if (list.size() > kMaxAlternatives) return std::nullopt;
  std::vector<Alternative> all;
  size_t value_count = 0;
  for (const ordered_json& one : list) {
    if (!one.is_object()) return std::nullopt;
    all.push_back({.schema = &one, .values = ValuesOf(one), .types = TypesOf(one)});
    if (all.back().values) value_count += all.back().values->size();
  }
  if (value_count > kMaxValues) return std::nullopt;
  std::set<size_t> open;  // alternatives that are not distinguished yet
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = i + 1; j < all.size(); ++j) {
      if (!Exclude(all[i], all[j])) open.insert({i, j});
    }
  }
  if (open.empty()) return "";
  std::vector<const ordered_json*> schemas;
  for (const size_t i : open) schemas.push_back(all[i].schema);
  const ordered_json members = schemas.front()->value("properties", ordered_json::object());
  for (const auto& [name, schema] : members.items()) {
    if (Distinguishes(name, schemas)) return name;
  }
  return std::nullopt;
}

}  // namespace aster::grammar
