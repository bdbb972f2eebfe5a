// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "grammar/schema_keywords.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/percent.h"

namespace aster::grammar {
namespace {

using nlohmann::ordered_json;

Error Refused(const std::string& at, std::string_view why) {
  return Unimplemented(fmt::format("{}: {}", at, why));
}

std::string Group(const std::string& pattern) { return "(?:" + pattern + ")"; }

std::string DurationPattern() {
  const std::string number = "[0-9]{1,9}";
  const std::string minutes = number + "M" + Group(number + "S") + "?";
  const std::string hours = number + "H" + Group(minutes) + "?";
  const std::string time = "T" + Group(hours + "|" + minutes + "|" + number + "S");
  const std::string months = number + "M" + Group(number + "D") + "?";
  const std::string years = number + "Y" + Group(months) + "?";
  const std::string date = Group(years + "|" + months + "|" + number + "D");
  return "^P" + Group(date + Group(time) + "?|" + time + "|" + number + "W") + "$";
}

// All eight groups, or fewer and "::" for zeros.
std::string Ipv6Pattern() {
  const std::string group = "[0-9a-fA-F]{1,4}";
  std::string all = Group(group + ":") + "{7}" + group;
  all += "|" + Group(group + ":") + "{1,7}:|:" + Group(":" + group) + "{1,7}|::";
  for (int before = 1; before <= 6; ++before) {
    all += fmt::format("|(?:{0}:){{{1}}}(?::{0}){{1,{2}}}", group, before, 7 - before);
  }
  return "^" + Group(all) + "$";
}

struct UriPatterns {
  std::string whole;
  std::string reference;
};

// RFC 3986 without rare forms: user names, addresses of version 6, and paths without a host, except
// for a few schemes that consist of them.
UriPatterns MakeUriPatterns() {
  const std::string one = "(?:[A-Za-z0-9._~!$&'()*+,;=@-]|%[0-9A-Fa-f]{2})";
  const std::string any = "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})";
  const std::string rest = "(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})";
  const std::string tail = "(?:\\?" + rest + "*)?(?:#" + rest + "*)?";
  const std::string label = "[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?";
  const std::string host = label + "(?:\\." + label + ")*(?::[0-9]{1,5})?";
  const std::string path = "(?:/" + any + "*)*";
  const std::string uri = Group("[A-Za-z][A-Za-z0-9+.-]*://" + host + path +
                                "|(?:urn|mailto|tel|data|news):" + any + "+") +
                          tail;
  const std::string relative =
      Group("//" + host + path + "|/(?:" + any + "+" + path + ")?|" + one + "+" + path) + "?" +
      tail;
  return {.whole = "^" + uri + "$", .reference = "^(?:" + uri + "|" + relative + ")$"};
}

// Regular expressions whose texts are valid for the format; they need not match every valid text.
std::map<std::string, std::string> MakeFormats() {
  const std::string date =
      "[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|"
      "30)|02-(?:0[1-9]|1[0-9]|2[0-8]))";
  const std::string time =
      "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3]):"
      "[0-5][0-9])";
  const std::string byte = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
  const std::string label = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
  const std::string host = "^" + label + "(?:\\." + label + "){0,3}$";
  const std::string mail =
      "^[A-Za-z0-9_%+-]{1,32}(?:\\.[A-Za-z0-9_%+-]{1,31})?@" + label + "(?:\\." + label + "){1,3}$";
  const std::string step = "(?:[^/~]|~[01])";
  const std::string pointer = "(?:/" + step + "*)*";
  const UriPatterns uri = MakeUriPatterns();
  return {{"date", "^" + date + "$"},
          {"time", "^" + time + "$"},
          {"date-time", "^" + date + "T" + time + "$"},
          {"duration", DurationPattern()},
          {"uuid", "^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$"},
          {"ipv4", "^(?:" + byte + "\\.){3}" + byte + "$"},
          {"ipv6", Ipv6Pattern()},
          {"hostname", host},
          {"idn-hostname", host},
          {"email", mail},
          {"idn-email", mail},
          {"uri", uri.whole},
          {"iri", uri.whole},
          {"uri-reference", uri.reference},
          {"iri-reference", uri.reference},
          {"uri-template",
           "^(?:[A-Za-z0-9._~:/?#@!$&()*+,;=-]|%[0-9A-Fa-f]{2}|"
           "\\{[+#./;?&]?[A-Za-z0-9_]+(?:,[A-Za-z0-9_]+)*\\})*$"},
          {"json-pointer", "^" + pointer + "$"},
          {"relative-json-pointer", "^(?:0|[1-9]{1,8}0?)(?:#|/" + step + "*" + pointer + ")$"}};
}

const std::map<std::string, std::string>& Formats() {
  static const std::map<std::string, std::string> kFormats = MakeFormats();
  return kFormats;
}

// A bound, which older schemas exclude by a flag.
Result<std::optional<NumberBound>> NumberAt(const ordered_json& schema, const char* key,
                                            const char* exclusive_key, const std::string& at) {
  const auto found = schema.find(key);
  if (found == schema.end()) return std::optional<NumberBound>();
  const auto value = found->is_number() ? ParseDecimal(found->dump()) : std::nullopt;
  if (!value) return Refused(at + "/" + key, "give a number of fewer digits");
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
    // 0.1, 0.01 and so on: a number of decimal places.
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
      {"object",
       {"properties", "required", "additionalProperties", "patternProperties", "minProperties",
        "maxProperties"}},
      {"array", {"items", "prefixItems", "minItems", "maxItems", "uniqueItems"}},
      {"string", {"minLength", "maxLength", "pattern"}},
      {"number", kOfNumbers},
      {"integer", kOfNumbers},
      {"boolean", {}},
      {"null", {}}};
  return kKeywords;
}

Result<std::string> PatternOfFormat(const std::string& format) {
  const auto found = Formats().find(format);
  if (found != Formats().end()) return found->second;
  // Nested brackets are not regular.
  if (format == "regex") return Unimplemented("regex is not supported");
  return std::string();
}

bool IsOfTexts(const ordered_json& format) {
  if (!format.is_string()) return true;
  const auto pattern = PatternOfFormat(format.get<std::string>());
  return !pattern.ok() || !pattern->empty();
}

Result<std::vector<std::string>> PatternsOf(const ordered_json& schema, const std::string& at) {
  std::vector<std::string> patterns;
  for (const char* key : {"pattern", "format"}) {
    const ordered_json given = schema.value(key, ordered_json::array());
    // In merged schemas this is a list.
    for (const ordered_json& one : given.is_array() ? given : ordered_json::array({given})) {
      if (!one.is_string()) return Refused(at + "/" + key, "give a text");
      auto pattern = one.get<std::string>();
      if (std::string_view(key) == "format") {
        auto known = PatternOfFormat(pattern);
        if (!known.ok()) return Refused(at + "/format", known.error().message());
        pattern = *std::move(known);
        if (pattern.empty()) continue;
      }
      patterns.push_back(std::move(pattern));
    }
  }
  return patterns;
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

std::string TypeOf(const ordered_json& value) {
  for (const char* type : {"object", "array", "string", "boolean", "null"}) {
    if (IsOfType(value, type)) return type;
  }
  return "number";
}

namespace {

// The schema with this anchor, anywhere.
const ordered_json* WithAnchor(const ordered_json& root, const std::string& name) {
  std::vector<const ordered_json*> left = {&root};
  while (!left.empty()) {
    const ordered_json& at = *left.back();
    left.pop_back();
    if (at.is_object() && at.value("$anchor", ordered_json()) == name) return &at;
    for (const ordered_json& inner : at) {
      if (inner.is_structured()) left.push_back(&inner);
    }
  }
  return nullptr;
}

}  // namespace

// Follows an anchor, or a path of escaped keys and indices.
Result<const ordered_json*> TargetOf(const ordered_json& reference, const ordered_json& root,
                                     const std::string& at) {
  if (!reference.is_string() || !reference.get_ref<const std::string&>().starts_with('#')) {
    return Refused(at + "/$ref", "only references within the schema (#/…) are supported");
  }
  const auto& given = reference.get_ref<const std::string&>();
  const std::string path = WithoutPercents(given.substr(1));
  const auto is_lost = [&] { return Refused(at + "/$ref", given + " is not there"); };
  if (!path.empty() && path[0] != '/') {
    const ordered_json* const target = WithAnchor(root, path);
    if (target == nullptr) return is_lost();
    return target;
  }
  const ordered_json* target = &root;
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find('/', begin + 1), path.size());
    std::string key = path.substr(begin + 1, end - begin - 1);
    begin = end;
    for (const auto& [escape, character] : {std::pair("~1", "/"), std::pair("~0", "~")}) {
      for (size_t i = key.find(escape); i != std::string::npos; i = key.find(escape, i + 1))
        key.replace(i, 2, character);
    }
    size_t index = 0;
    const auto number = std::from_chars(key.data(), key.data() + key.size(), index);
    if (target->is_object() && target->contains(key)) {
      target = &(*target)[key];
    } else if (target->is_array() && number.ec == std::errc() &&
               number.ptr == key.data() + key.size() && index < target->size()) {
      target = &(*target)[index];
    } else {
      return is_lost();
    }
  }
  return target;
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
