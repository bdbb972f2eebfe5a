// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "grammar/schema_keywords.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace aster::grammar {
namespace {

using nlohmann::ordered_json;

Error Refused(const std::string& at, std::string_view why) {
  return Unimplemented(fmt::format("{}: {}", at, why));
}

// Texts of formats that are regular; of others nothing is asked.
const std::map<std::string, std::string>& Formats() {
  static const std::string kDate =
      "[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|"
      "30)|02-(?:0[1-9]|1[0-9]|2[0-8]))";
  static const std::string kTime =
      "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3]):"
      "[0-5][0-9])";
  static const std::string kByte = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
  static const std::string kHostPart = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
  static const std::map<std::string, std::string> kFormats = {
      {"date", "^" + kDate + "$"},
      {"time", "^" + kTime + "$"},
      {"date-time", "^" + kDate + "T" + kTime + "$"},
      {"uuid", "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"},
      {"ipv4", "^(?:" + kByte + "\\.){3}" + kByte + "$"},
      {"hostname", "^" + kHostPart + "(?:\\." + kHostPart + "){0,3}$"},
      {"email", "^[A-Za-z0-9_%+-]{1,32}(?:\\.[A-Za-z0-9_%+-]{1,31})?@" + kHostPart + "(?:\\." +
                    kHostPart + "){1,3}$"}};
  return kFormats;
}

// A bound, which older schemas exclude by a flag.
Result<std::optional<NumberBound>> NumberAt(const ordered_json& schema, const char* key,
                                            const char* exclusive_key, const std::string& at) {
  const auto found = schema.find(key);
  if (found == schema.end()) return std::optional<NumberBound>();
  const auto value = found->is_number() ? ParseDecimal(found->dump()) : std::nullopt;
  if (!value) return Refused(at + "/" + key, "give a number of not so many digits");
  const bool is_excluded =
      exclusive_key == nullptr || (schema.contains(exclusive_key) && schema[exclusive_key] == true);
  return std::optional(NumberBound{.value = *value, .is_excluded = is_excluded});
}

Status ReadMultiple(const ordered_json& schema, const std::string& at, NumberRange& range) {
  const auto found = schema.find("multipleOf");
  if (found == schema.end()) return Ok();
  const auto value = found->is_number() ? ParseDecimal(found->dump()) : std::nullopt;
  if (!value || value->is_negative) return Refused(at + "/multipleOf", "give a number above 0");
  if (value->fraction.empty()) {
    uint32_t multiple = 0;
    const std::string& digits = value->whole;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), multiple);
    if (parsed.ec == std::errc() && multiple > 0 && multiple <= kMaxMultiple) {
      range.is_integer = true;
      range.multiple = multiple;
      return Ok();
    }
  } else if (value->whole == "0" &&
             value->fraction.find_first_not_of('0') == value->fraction.size() - 1 &&
             value->fraction.back() == '1') {
    // A part of ten: so many digits.
    if (!range.is_integer)
      range.fraction_digits = std::min(range.fraction_digits, value->fraction.size());
    return Ok();
  }
  return Refused(at + "/multipleOf",
                 fmt::format("is supported of whole numbers up to {}, and of 0.1, 0.01 and so on",
                             kMaxMultiple));
}

}  // namespace

const std::map<std::string, std::set<std::string>>& KeywordsOfTypes() {
  static const std::set<std::string> kOfNumbers = {"minimum", "maximum", "exclusiveMinimum",
                                                   "exclusiveMaximum", "multipleOf"};
  static const std::map<std::string, std::set<std::string>> kKeywords = {
      {"object", {"properties", "required", "additionalProperties"}},
      {"array", {"items", "prefixItems", "minItems", "maxItems", "uniqueItems"}},
      {"string", {"minLength", "maxLength", "pattern"}},
      {"number", kOfNumbers},
      {"integer", kOfNumbers},
      {"boolean", {}},
      {"null", {}}};
  return kKeywords;
}

std::optional<std::string> PatternOfFormat(const std::string& format) {
  const auto found = Formats().find(format);
  if (found == Formats().end()) return std::nullopt;
  return found->second;
}

bool IsOfType(const ordered_json& value, const ordered_json& type) {
  if (type.is_array())
    return std::ranges::any_of(type, [&](const ordered_json& one) { return IsOfType(value, one); });
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  if (type == "integer") {
    return value.is_number_integer() ||
           (value.is_number_float() && std::trunc(value.get<double>()) == value.get<double>());
  }
  return type == "number" && value.is_number();
}

std::optional<std::string> WhatTellsApart(const ordered_json& list) {
  std::set<std::string> types;
  const bool by_type = std::ranges::all_of(list, [&](const ordered_json& one) {
    return one.is_object() && one.contains("type") && one["type"].is_string() &&
           one["type"] != "integer" && types.insert(one["type"].get<std::string>()).second;
  });
  if (by_type) return "type";
  if (!list.front().is_object()) return std::nullopt;
  const ordered_json members = list.front().value("properties", ordered_json::object());
  for (const auto& [key, value] : members.items()) {
    std::set<std::string> constants;
    const bool tells = std::ranges::all_of(list, [&](const ordered_json& one) {
      if (!one.is_object() || !one.contains("properties")) return false;
      const ordered_json& properties = one["properties"];
      if (!properties.is_object() || !properties.contains(key) || !properties[key].is_object())
        return false;
      return properties[key].contains("const") &&
             constants.insert(properties[key]["const"].dump()).second;
    });
    if (tells) return "/" + key;
  }
  return std::nullopt;
}

Result<std::optional<NumberRange>> NumberRangeOf(const ordered_json& schema, bool is_integer,
                                                 const std::string& at) {
  NumberRange range{.is_integer = is_integer};
  const auto low = TRY(NumberAt(schema, "minimum", "exclusiveMinimum", at));
  const auto high = TRY(NumberAt(schema, "maximum", "exclusiveMaximum", at));
  if (low) range.RaiseLow(*low);
  if (high) range.LowerHigh(*high);
  bool is_plain = !low && !high && !schema.contains("multipleOf");
  for (const char* key : {"exclusiveMinimum", "exclusiveMaximum"}) {
    if (!schema.contains(key) || schema[key].is_boolean()) continue;
    const auto bound = TRY(NumberAt(schema, key, nullptr, at));
    if (std::string_view(key) == "exclusiveMinimum") {
      range.RaiseLow(*bound);
    } else {
      range.LowerHigh(*bound);
    }
    is_plain = false;
  }
  if (is_plain) return std::optional<NumberRange>();
  TRY(ReadMultiple(schema, at, range));
  return std::optional<NumberRange>(range);
}

}  // namespace aster::grammar
