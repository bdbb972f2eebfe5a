// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "grammar/json_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "grammar/matcher.h"

namespace aster::grammar {
namespace {

using nlohmann::ordered_json;

bool Matches(const Grammar& grammar, std::string_view text) {
  Matcher matcher(grammar);
  StateId state = matcher.start();
  for (const char c : text) {
    if (state == kDead) return false;
    state = matcher.Next(state, static_cast<uint8_t>(c));
  }
  return state != kDead && matcher.CanEnd(state);
}

bool Matches(std::string_view schema, std::string_view text) {
  const auto grammar = JsonSchemaGrammar(ordered_json::parse(schema));
  EXPECT_TRUE(grammar.ok()) << (grammar.ok() ? "" : grammar.error().message());
  return grammar.ok() && Matches(**grammar, text);
}

std::string ErrorOf(std::string_view schema) {
  const auto grammar = JsonSchemaGrammar(ordered_json::parse(schema));
  return grammar.ok() ? "" : grammar.error().message();
}

TEST(JsonGrammar, AnyObject) {
  const auto grammar = JsonObjectGrammar();
  for (const std::string_view text :
       {"{}", "{ }", R"({"a": 1})", R"({"a":[],"b":[1,-2.5e+3,true,false,null,"x\n\u00e9\uE000"]})",
        R"({"ä€😀": {"b": {"c": [[{}]]}}})", "{\n  \"a\": 0\n}"}) {
    EXPECT_TRUE(Matches(*grammar, text)) << text;
  }
  for (const std::string_view text :
       {"", "[]", "1", "{", "{}}", R"({"a"})", R"({"a":})", R"({"a":1,})", R"({a:1})",
        R"({"a":01})", R"({"a":.5})", R"({"a":1.})", R"({"a":tru})", R"({"a":"\x"})",
        R"({"a":"\ud83d"})", "{\"a\":\"\n\"}", "{\"a\":\"\xff\"}", "{\"a\":\"\xc0\x80\"}",
        "{\"a\":\"\xed\xa0\x80\"}"}) {
    EXPECT_FALSE(Matches(*grammar, text)) << text;
  }
}

TEST(JsonGrammar, Members) {
  constexpr std::string_view kSchema = R"({"type": "object", "properties": {"a": {"type": "string"},
    "b": {"type": "integer"}, "c": {"type": "boolean"}}, "required": ["b"]})";
  EXPECT_TRUE(Matches(kSchema, R"({"b": 1})"));
  EXPECT_TRUE(Matches(kSchema, R"({"a": "x", "b": -10, "c": true})"));
  EXPECT_TRUE(Matches(kSchema, R"({"b":1,"c":false})"));
  EXPECT_FALSE(Matches(kSchema, "{}"));
  EXPECT_FALSE(Matches(kSchema, R"({"a": "x"})"));
  EXPECT_FALSE(Matches(kSchema, R"({"b": 1.5})"));
  EXPECT_FALSE(Matches(kSchema, R"({"b": 1, "d": 2})"));
  EXPECT_FALSE(Matches(kSchema, R"({, "b": 1})"));
  EXPECT_TRUE(Matches(R"({"type": "object", "required": ["x"]})", R"({"x": [1, {}]})"));
  EXPECT_TRUE(
      Matches(R"({"type": "object", "additionalProperties": {"type": "null"}})", R"({"q": null})"));
  EXPECT_FALSE(
      Matches(R"({"type": "object", "additionalProperties": {"type": "null"}})", R"({"q": 1})"));
  EXPECT_FALSE(Matches(R"({"type": "object", "additionalProperties": false})", R"({"q": 1})"));
}

TEST(JsonGrammar, ListsAndTexts) {
  constexpr std::string_view kList =
      R"({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3})";
  EXPECT_FALSE(Matches(kList, "[]"));
  EXPECT_TRUE(Matches(kList, "[1]"));
  EXPECT_TRUE(Matches(kList, "[1, 2,3]"));
  EXPECT_FALSE(Matches(kList, "[1,2,3,4]"));
  EXPECT_TRUE(Matches(R"({"type": "array", "maxItems": 0})", "[]"));
  EXPECT_FALSE(Matches(R"({"type": "array", "maxItems": 0})", "[1]"));
  constexpr std::string_view kText = R"({"type": "string", "minLength": 2, "maxLength": 3})";
  EXPECT_FALSE(Matches(kText, R"("a")"));
  EXPECT_TRUE(Matches(kText, R"("aé")"));
  EXPECT_TRUE(Matches(kText, R"("a\n😀")"));
  EXPECT_FALSE(Matches(kText, R"("abcd")"));
}

TEST(JsonGrammar, Choices) {
  EXPECT_TRUE(Matches(R"({"enum": ["a", 1, null, {"x": 1}]})", R"({"x":1})"));
  EXPECT_FALSE(Matches(R"({"enum": ["a", 1]})", R"("b")"));
  EXPECT_TRUE(Matches(R"({"const": "a\"b"})", R"("a\"b")"));
  EXPECT_TRUE(Matches(R"({"type": ["string", "null"]})", "null"));
  EXPECT_TRUE(Matches(R"({"anyOf": [{"type": "integer"}, {"type": "string"}]})", R"("x")"));
  constexpr std::string_view kTagged = R"({"oneOf": [
    {"type": "object", "properties": {"k": {"const": "a"}, "n": {"type": "integer"}},
     "required": ["k", "n"]},
    {"type": "object", "properties": {"k": {"const": "b"}}, "required": ["k"]}]})";
  EXPECT_TRUE(Matches(kTagged, R"({"k": "b"})"));
  EXPECT_FALSE(Matches(kTagged, R"({"k": "a"})"));
}

TEST(JsonGrammar, TypesBesideAValueHold) {
  EXPECT_TRUE(Matches(R"({"type": "string", "enum": ["a", 1]})", R"("a")"));
  EXPECT_FALSE(Matches(R"({"type": "string", "enum": ["a", 1]})", "1"));
  EXPECT_TRUE(Matches(R"({"type": ["integer", "null"], "enum": [1, null, "x"]})", "null"));
  EXPECT_FALSE(Matches(R"({"type": ["integer", "null"], "enum": [1, null, "x"]})", R"("x")"));
  EXPECT_TRUE(Matches(R"({"type": "number", "const": 1})", "1"));
  EXPECT_TRUE(Matches(R"({"type": "integer", "enum": [2.0, 2.5]})", "2.0"));
  EXPECT_FALSE(Matches(R"({"type": "integer", "enum": [2.0, 2.5]})", "2.5"));
  EXPECT_NE(ErrorOf(R"({"type": "string", "enum": [1, 2]})"), "");
  EXPECT_NE(ErrorOf(R"({"type": "string", "const": 1})"), "");
  EXPECT_NE(ErrorOf(R"({"type": 7, "const": 1})"), "");
}

TEST(JsonGrammar, RequiredMembersThatHaveNoSchema) {
  constexpr std::string_view kNumbers =
      R"({"type": "object", "properties": {"a": {"type": "null"}}, "required": ["b", "b"],
          "additionalProperties": {"type": "integer"}})";
  EXPECT_TRUE(Matches(kNumbers, R"({"a": null, "b": 1})"));
  EXPECT_FALSE(Matches(kNumbers, R"({"b": "x"})"));
  EXPECT_FALSE(Matches(kNumbers, R"({"b": 1, "b": 1})"));
  EXPECT_THAT(ErrorOf(R"({"type": "object", "properties": {"a": {}}, "required": ["b"],
                          "additionalProperties": false})"),
              testing::HasSubstr("#/required"));
}

TEST(JsonGrammar, WhatIsTooLargeIsRefusedBeforeItIsMade) {
  ordered_json list = ordered_json::array();
  for (int i = 0; i < 24'000; ++i) {
    list.push_back({{"type", "array"}, {"items", {{"type", "null"}}}, {"minItems", 4096U}});
  }
  const auto grammar = JsonSchemaGrammar({{"anyOf", std::move(list)}});
  ASSERT_FALSE(grammar.ok());
  EXPECT_THAT(grammar.error().message(), testing::HasSubstr("too large"));
  // Repeated names in `required` cost no more than once each.
  ordered_json names = ordered_json::array();
  for (int i = 0; i < 200'000; ++i) names.push_back("a");
  EXPECT_TRUE(JsonSchemaGrammar({{"type", "object"}, {"required", std::move(names)}}).ok());
}

TEST(JsonGrammar, SchemasThatSpeakOfThemselves) {
  constexpr std::string_view kTree =
      R"({"$ref": "#/$defs/node", "$defs": {"node": {"type": "object",
    "properties": {"v": {"type": "integer"}, "kids": {"type": "array",
      "items": {"$ref": "#/$defs/node"}}},
    "required": ["v"]}}})";
  EXPECT_TRUE(Matches(kTree, R"({"v": 1, "kids": [{"v": 2, "kids": []}, {"v": 3}]})"));
  EXPECT_FALSE(Matches(kTree, R"({"v": 1, "kids": [{"w": 2}]})"));
}

TEST(JsonGrammar, Numbers) {
  constexpr std::string_view kAge = R"({"type": "integer", "minimum": 0, "maximum": 120})";
  EXPECT_TRUE(Matches(kAge, "0"));
  EXPECT_TRUE(Matches(kAge, "120"));
  EXPECT_FALSE(Matches(kAge, "121"));
  EXPECT_FALSE(Matches(kAge, "-1"));
  EXPECT_FALSE(Matches(kAge, "1.0"));
  constexpr std::string_view kPart =
      R"({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1})";
  EXPECT_TRUE(Matches(kPart, "0.5"));
  EXPECT_TRUE(Matches(kPart, "0.001"));
  EXPECT_FALSE(Matches(kPart, "0"));
  EXPECT_FALSE(Matches(kPart, "0.0"));
  EXPECT_FALSE(Matches(kPart, "1"));
  EXPECT_FALSE(Matches(kPart, "1.5"));
  EXPECT_TRUE(Matches(R"({"type": "integer", "multipleOf": 5})", "-15"));
  EXPECT_FALSE(Matches(R"({"type": "integer", "multipleOf": 5})", "12"));
  EXPECT_TRUE(Matches(R"({"type": "number", "multipleOf": 0.01, "minimum": 0})", "19.99"));
  EXPECT_FALSE(Matches(R"({"type": "number", "multipleOf": 0.01, "minimum": 0})", "19.999"));
  // Drafts before the sixth.
  constexpr std::string_view kOld =
      R"({"type": "integer", "minimum": 3, "exclusiveMinimum": true})";
  EXPECT_FALSE(Matches(kOld, "3"));
  EXPECT_TRUE(Matches(kOld, "4"));
  EXPECT_TRUE(Matches(R"({"type": ["integer", "string"], "minimum": 3, "minLength": 1})", "7"));
  EXPECT_FALSE(Matches(R"({"type": ["integer", "string"], "minimum": 3, "minLength": 1})", "2"));
  EXPECT_FALSE(
      Matches(R"({"type": ["integer", "string"], "minimum": 3, "minLength": 1})", R"("")"));
}

TEST(JsonGrammar, PatternsAndFormats) {
  constexpr std::string_view kCode = R"({"type": "string", "pattern": "^[A-Z]{2}-[0-9]+$"})";
  EXPECT_TRUE(Matches(kCode, R"("AB-12")"));
  EXPECT_FALSE(Matches(kCode, R"("AB-")"));
  EXPECT_FALSE(Matches(kCode, R"("xAB-1")"));
  constexpr std::string_view kShort =
      R"({"type": "string", "pattern": "^[a-z]+$", "minLength": 2, "maxLength": 3})";
  EXPECT_FALSE(Matches(kShort, R"("a")"));
  EXPECT_TRUE(Matches(kShort, R"("ab")"));
  EXPECT_TRUE(Matches(kShort, R"("abc")"));
  EXPECT_FALSE(Matches(kShort, R"("abcd")"));
  constexpr std::string_view kDate = R"({"type": "string", "format": "date"})";
  EXPECT_TRUE(Matches(kDate, R"("2026-11-30")"));
  EXPECT_FALSE(Matches(kDate, R"("2026-11-31")"));
  EXPECT_FALSE(Matches(kDate, R"("yesterday")"));
  EXPECT_TRUE(Matches(R"({"type": "string", "format": "of the heart"})", R"("yesterday")"));
  for (const auto& [format, text] : {std::pair("uuid", "123e4567-e89b-12d3-a456-426614174000"),
                                     std::pair("ipv4", "192.168.0.1"),
                                     std::pair("email", "a.b@example.org"),
                                     std::pair("date-time", "2026-01-02T03:04:05Z"),
                                     std::pair("time", "23:59:59+01:00"),
                                     std::pair("hostname", "a-b.example"),
                                     std::pair("duration", "P1Y2M3DT4H5M6S"),
                                     std::pair("duration", "PT36H"),
                                     std::pair("duration", "P2W"),
                                     std::pair("ipv6", "2001:db8::8a2e:370:7334"),
                                     std::pair("ipv6", "::1"),
                                     std::pair("ipv6", "::"),
                                     std::pair("ipv6", "1:2:3:4:5:6:7:8"),
                                     std::pair("uri", "https://example.org:8080/a/b%20c?q=1#part"),
                                     std::pair("uri", "urn:isbn:0451450523"),
                                     std::pair("iri", "http://localhost/"),
                                     std::pair("uri-template", "https://a.example/{id}{?q,r}"),
                                     std::pair("json-pointer", "/a~1b/0"),
                                     std::pair("relative-json-pointer", "1/a"),
                                     std::pair("uuid", "123E4567-e89b-12d3-a456-426614174000")}) {
    const std::string schema = std::string(R"({"type": "string", "format": ")") + format + "\"}";
    EXPECT_TRUE(Matches(schema, std::string("\"") + text + "\"")) << format;
    const bool takes_words = std::set<std::string>{"hostname", "uri-template"}.contains(format);
    EXPECT_EQ(Matches(schema, R"("what")"), takes_words) << format;
  }
  for (const std::string_view text : {"P", "PT", "P1H", "P1YT", "1D", "P1W1D"}) {
    EXPECT_FALSE(Matches(R"({"format": "duration"})", '"' + std::string(text) + '"')) << text;
  }
  for (const std::string_view text : {"1:2:3:4:5:6:7", "1::2::3", ":::", "1:2:3:4:5:6:7:8:9",
                                      "g::", "1:2:3:4:5:6:7::8", ":1:2:3:4:5:6:7:8"}) {
    EXPECT_FALSE(Matches(R"({"format": "ipv6"})", '"' + std::string(text) + '"')) << text;
  }
  for (const std::string_view text :
       {"", "a", "/a/b?c#d", "../x", "//host/x", "https://a.example"}) {
    EXPECT_TRUE(Matches(R"({"format": "uri-reference"})", '"' + std::string(text) + '"')) << text;
  }
  for (const std::string_view text : {"a b", "%zz", "https://a b", "a:b c"}) {
    EXPECT_FALSE(Matches(R"({"format": "uri-reference"})", '"' + std::string(text) + '"')) << text;
  }
}

TEST(JsonGrammar, ListsWhoseFirstItemsDiffer) {
  constexpr std::string_view kPair = R"({"type": "array", "prefixItems": [{"type": "string"},
    {"type": "integer"}], "items": false, "minItems": 2})";
  EXPECT_TRUE(Matches(kPair, R"(["a", 1])"));
  EXPECT_FALSE(Matches(kPair, R"(["a"])"));
  EXPECT_FALSE(Matches(kPair, R"(["a", 1, 2])"));
  constexpr std::string_view kOpen = R"({"prefixItems": [{"type": "string"}],
    "items": {"type": "null"}, "maxItems": 3})";
  EXPECT_TRUE(Matches(kOpen, "[]"));
  EXPECT_TRUE(Matches(kOpen, R"(["a", null, null])"));
  EXPECT_FALSE(Matches(kOpen, R"(["a", null, null, null])"));
  EXPECT_FALSE(Matches(kOpen, "[null]"));
  EXPECT_TRUE(Matches(R"({"type": "array", "items": false})", "[]"));
  EXPECT_FALSE(Matches(R"({"type": "array", "items": false})", "[1]"));
}

TEST(JsonGrammar, WhatAllAskFor) {
  constexpr std::string_view kBoth = R"({"allOf": [
    {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}, "required": ["a"]},
    {"$ref": "#/$defs/b"}],
    "$defs": {"b": {"properties": {"a": {"maximum": 3}, "b": {"type": "string"}},
                    "required": ["b"]}}})";
  EXPECT_TRUE(Matches(kBoth, R"({"a": 2, "b": "x"})"));
  EXPECT_FALSE(Matches(kBoth, R"({"a": 2})"));
  EXPECT_FALSE(Matches(kBoth, R"({"a": 4, "b": "x"})"));
  EXPECT_FALSE(Matches(kBoth, R"({"a": 0, "b": "x"})"));
  // Beside a reference, and beside alternatives.
  constexpr std::string_view kBeside = R"({"properties": {"p": {"$ref": "#/$defs/n", "maximum": 5}},
    "required": ["p"], "$defs": {"n": {"type": "integer", "minimum": 4}}})";
  EXPECT_TRUE(Matches(kBeside, R"({"p": 5})"));
  EXPECT_FALSE(Matches(kBeside, R"({"p": 6})"));
  EXPECT_FALSE(Matches(kBeside, R"({"p": 3})"));
  constexpr std::string_view kEither = R"({"type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "anyOf": [{"required": ["a"]}, {"required": ["b"]}]})";
  EXPECT_TRUE(Matches(kEither, R"({"a": 1})"));
  EXPECT_TRUE(Matches(kEither, R"({"b": 1})"));
  EXPECT_FALSE(Matches(kEither, "{}"));
  // Both have alternatives.
  constexpr std::string_view kTwice = R"({"allOf": [
    {"anyOf": [{"enum": [1, 2]}, {"enum": [3]}]},
    {"anyOf": [{"enum": [2, 4]}, {"enum": [3, 5]}]}]})";
  EXPECT_THAT(ErrorOf(kTwice), testing::HasSubstr("no value meets both"));
  // Recursive.
  constexpr std::string_view kTree = R"({"allOf": [{"$ref": "#/$defs/t"}, {"$ref": "#/$defs/u"}],
    "$defs": {"t": {"type": "object", "properties": {"v": {"type": "integer"},
      "kids": {"type": "array", "items": {"$ref": "#"}}}}, "u": {"required": ["v"]}}})";
  EXPECT_TRUE(Matches(kTree, R"({"v": 1, "kids": [{"v": 2}]})"));
  EXPECT_FALSE(Matches(kTree, R"({"v": 1, "kids": [{"kids": []}]})"));
  EXPECT_THAT(ErrorOf(R"({"allOf": [{"type": "string"}, {"type": "null"}]})"),
              testing::HasSubstr("/type"));
  EXPECT_THAT(ErrorOf(R"({"allOf": [{"properties": {"a": {}}, "additionalProperties": false},
                                    {"properties": {"b": {}}}]})"),
              testing::HasSubstr("additionalProperties"));
}

TEST(JsonGrammar, TextsThatAreOfSeveralThings) {
  constexpr std::string_view kBoth =
      R"({"allOf": [{"type": "string", "pattern": "^[a-m]+[0-9]?$"}, {"pattern": "^[h-z]{2}"}]})";
  EXPECT_TRUE(Matches(kBoth, R"("hi7")"));
  EXPECT_TRUE(Matches(kBoth, R"("khaki")"));
  EXPECT_FALSE(Matches(kBoth, R"("ha")"));
  EXPECT_FALSE(Matches(kBoth, R"("zz")"));
  constexpr std::string_view kDay = R"({"type": "string", "pattern": "^2026-0", "format": "date"})";
  EXPECT_TRUE(Matches(kDay, R"("2026-02-28")"));
  EXPECT_FALSE(Matches(kDay, R"("2026-02-30")"));
  EXPECT_FALSE(Matches(kDay, R"("2025-02-28")"));
  EXPECT_THAT(ErrorOf(R"({"type": "string", "pattern": "^[a-z]{3}$", "format": "date"})"),
              testing::HasSubstr("no text"));
  EXPECT_THAT(ErrorOf(R"({"allOf": [{"type": "string", "format": "date"}, {"format": "email"}]})"),
              testing::HasSubstr("/format"));
  EXPECT_NE(ErrorOf(R"({"format": "date",
                        "anyOf": [{"type": "string", "maxLength": 4}, {"type": "null"}]})"),
            "");
  constexpr std::string_view kEither =
      R"({"format": "date", "anyOf": [{"type": "string", "minLength": 4}, {"type": "null"}]})";
  EXPECT_TRUE(Matches(kEither, "null"));
  EXPECT_FALSE(Matches(kEither, R"(", am.")"));
  // Without a type, a format means texts, except unknown formats.
  EXPECT_TRUE(Matches(R"({"format": "date"})", R"("2026-11-30")"));
  EXPECT_FALSE(Matches(R"({"format": "date"})", "[1]"));
  EXPECT_TRUE(Matches(R"({"format": "int32"})", "1"));
  EXPECT_TRUE(Matches(R"({"type": "integer", "format": "int32"})", "1"));
}

TEST(JsonGrammar, WhatNeverEndsIsRefusedOrLeftOut) {
  EXPECT_THAT(ErrorOf(R"({"type": "array", "items": {"$ref": "#"}, "minItems": 1})"),
              testing::HasSubstr("can end"));
  EXPECT_THAT(ErrorOf(R"({"type": "object", "properties": {"next": {"$ref": "#"}},
                          "required": ["next"]})"),
              testing::HasSubstr("can end"));
  constexpr std::string_view kSome = R"({"anyOf": [{"$ref": "#/$defs/endless"}, {"const": 1}],
    "$defs": {"endless": {"type": "array", "items": {"$ref": "#/$defs/endless"}, "minItems": 1}}})";
  EXPECT_TRUE(Matches(kSome, "1"));
  EXPECT_FALSE(Matches(kSome, "[[]]"));
  constexpr std::string_view kList =
      R"({"type": "object", "properties": {"next": {"$ref": "#"}}, "additionalProperties": false})";
  EXPECT_TRUE(Matches(kList, R"({"next":{"next":{}}})"));
}

TEST(JsonGrammar, ValuesBesideOtherKeywords) {
  EXPECT_THAT(ErrorOf(R"({"enum": ["x"], "format": "date"})"), testing::HasSubstr("no value"));
  constexpr std::string_view kSome = R"({"enum": ["x", "2026-11-30", 5, 11, null, ["a"], ["a", 1]],
    "format": "date", "minimum": 6, "minItems": 2})";
  EXPECT_TRUE(Matches(kSome, R"("2026-11-30")"));
  EXPECT_TRUE(Matches(kSome, "11"));
  EXPECT_TRUE(Matches(kSome, "null"));
  EXPECT_TRUE(Matches(kSome, R"(["a",1])"));
  EXPECT_FALSE(Matches(kSome, R"("x")"));
  EXPECT_FALSE(Matches(kSome, "5"));
  EXPECT_FALSE(Matches(kSome, R"(["a"])"));
  EXPECT_THAT(ErrorOf(R"({"enum": [1], "not": {}})"), testing::HasSubstr("not"));
  // Many levels of keywords beside values.
  std::string schema = R"({"$ref": "#/$defs/d0", "$defs": {)";
  for (int i = 0; i < 40; ++i) {
    const std::string next = R"({"$ref": "#/$defs/d)" + std::to_string(i + 1) + R"("})";
    schema += "\"d" + std::to_string(i) + R"(": {"enum": [{}, []], "properties": {"a": )" + next +
              R"(}, "items": )" + next + "}, ";
  }
  EXPECT_NE(ErrorOf(schema + R"("d40": {}}})"), "");
}

TEST(JsonGrammar, ItemsOfOneAndFirstItemsOfAnother) {
  constexpr std::string_view kFirst = R"({"allOf": [{"type": "array",
    "items": {"type": "integer", "minimum": 0, "maximum": 9}, "minItems": 2, "maxItems": 2},
    {"prefixItems": [{"enum": ["z", 5]}]}]})";
  EXPECT_TRUE(Matches(kFirst, "[5, 0]"));
  EXPECT_FALSE(Matches(kFirst, R"(["z",0])"));
  EXPECT_FALSE(Matches(kFirst, R"([5,"z"])"));
  EXPECT_NE(ErrorOf(R"({"allOf": [{"type": "array", "prefixItems": [{"const": 1}]},
                                  {"items": false}], "minItems": 1})"),
            "");
  constexpr std::string_view kNone =
      R"({"allOf": [{"type": "array", "prefixItems": [{"const": 1}]}, {"items": false}]})";
  EXPECT_TRUE(Matches(kNone, "[]"));
  EXPECT_FALSE(Matches(kNone, "[1]"));
  constexpr std::string_view kBothFirst = R"({"allOf": [
    {"prefixItems": [{"type": "string"}], "items": {"type": "null"}},
    {"prefixItems": [{"minLength": 2}, true, {"type": ["null", "array"]}]}]})";
  EXPECT_TRUE(Matches(kBothFirst, R"(["ab", null, null, null])"));
  EXPECT_FALSE(Matches(kBothFirst, R"(["a"])"));
  EXPECT_FALSE(Matches(kBothFirst, R"(["ab", 1])"));
  EXPECT_FALSE(Matches(kBothFirst, R"(["ab", null, []])"));
}

TEST(JsonGrammar, AlternativesThatExcludeEachOther) {
  for (const std::string_view schema : {
           R"({"oneOf": [{"const": "a", "description": "first"}, {"const": "b"}]})",
           R"({"oneOf": [{"type": "string", "enum": ["a", "c"]}, {"const": "b"}]})",
           R"({"oneOf": [{"type": "integer"}, {"type": "string"}]})",
           R"({"oneOf": [{"type": ["string", "null"]}, {"type": "integer"}]})",
           R"({"oneOf": [{"anyOf": [{"type": "string"}, {"type": "null"}]}, {"type": "array"}]})",
           R"({"oneOf": [{"const": "b"}, {"type": "integer"}, {"enum": ["a"]}]})",
       }) {
    EXPECT_EQ(ErrorOf(schema), "") << schema;
  }
  EXPECT_TRUE(Matches(R"({"oneOf": [{"const": "a"}, {"const": "b"}]})", R"("b")"));
  EXPECT_TRUE(Matches(R"({"oneOf": [{"type": "integer"}, {"type": "null"}]})", "null"));
  constexpr std::string_view kTags = R"({"oneOf": [
    {"type": "object", "properties": {"k": {"enum": ["a"]}, "n": {"type": "integer"}}},
    {"type": "object", "properties": {"k": {"enum": ["b", "c"]}}}, {"type": "null"}]})";
  EXPECT_TRUE(Matches(kTags, R"({"k": "c"})"));
  EXPECT_TRUE(Matches(kTags, "null"));
  EXPECT_FALSE(Matches(kTags, "{}"));
  // Like Rust's enumerations: each has a member that the others cannot have.
  constexpr std::string_view kShapes = R"({"oneOf": [
    {"type": "object", "properties": {"A": {"type": "integer"}}, "required": ["A"],
     "additionalProperties": false},
    {"type": "object", "properties": {"B": {"type": "null"}}, "required": ["B"],
     "additionalProperties": false}, {"type": "string", "enum": ["C"]}]})";
  EXPECT_TRUE(Matches(kShapes, R"({"A": 1})"));
  EXPECT_TRUE(Matches(kShapes, R"({"B": null})"));
  EXPECT_TRUE(Matches(kShapes, R"("C")"));
  for (const std::string_view schema : {
           R"({"oneOf": [{"const": 1}, {"const": 1.0}]})",
           R"({"oneOf": [{"type": "integer"}, {"type": "number"}]})",
           R"({"oneOf": [{"type": "integer"}, {"const": 3}]})",
           R"({"oneOf": [{"type": "string"}, {"minimum": 3}]})",
           R"({"oneOf": [{"enum": ["a", "b"]}, {"enum": ["b", "c"]}]})",
           R"({"oneOf": [{"type": "object", "required": ["a"]},
                         {"type": "object", "properties": {"b": {}}}]})",
       }) {
    EXPECT_THAT(ErrorOf(schema), testing::HasSubstr("oneOf")) << schema;
  }
}

TEST(JsonGrammar, WaysToNameAPlace) {
  for (const std::string_view reference : {"#/$defs/a%20b", "#here", "#/$defs/a b"}) {
    const std::string schema = R"({"$ref": ")" + std::string(reference) +
                               R"(", "$defs": {"a b": {"$anchor": "here", "type": "null"}}})";
    EXPECT_TRUE(Matches(schema, "null")) << reference;
    EXPECT_FALSE(Matches(schema, "1")) << reference;
  }
  for (const std::string_view reference : {"#X$defs/a", "#/$defs/a%2", "#there", "#/$defs/0x"}) {
    const std::string schema =
        R"({"$ref": ")" + std::string(reference) + R"(", "$defs": {"a": true, "0": true}})";
    EXPECT_THAT(ErrorOf(schema), testing::HasSubstr("is not there")) << reference;
  }
  EXPECT_TRUE(Matches(R"({"type": "string", "minLength": 2.0, "nullable": true, "x-order": 1,
                          "markdownDescription": "d", "contentEncoding": "base64"})",
                      R"("ab")"));
  EXPECT_NE(ErrorOf(R"({"type": "string", "minLength": 2.5})"), "");
  EXPECT_NE(ErrorOf(R"({"type": "string", "minLength": -1})"), "");
}

// The member that distinguishes alternatives is required.
TEST(JsonGrammar, AlternativesWithADiscriminator) {
  constexpr std::string_view kShapes = R"({"oneOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}],
    "discriminator": {"propertyName": "k"},
    "$defs": {"a": {"type": "object", "properties": {"k": {"const": "a"}, "r": {"type": "number"}}},
              "b": {"type": "object", "properties": {"k": {"const": "b"}}}}})";
  EXPECT_TRUE(Matches(kShapes, R"({"k": "a", "r": 1.5})"));
  EXPECT_TRUE(Matches(kShapes, R"({"k": "b"})"));
  EXPECT_FALSE(Matches(kShapes, "{}"));
}

// Small schemas that cause endless work are refused quickly.
TEST(JsonGrammar, SchemasThatGrow) {
  std::string schema = R"({"$ref": "#/$defs/d0", "$defs": {)";
  for (int i = 0; i < 40; ++i) {
    const std::string next = "{\"$ref\": \"#/$defs/d" + std::to_string(i + 1) + "\"}";
    schema += "\"d" + std::to_string(i) + "\": {\"allOf\": [" + next + ", " + next +
              "], \"title\": \"x\"}, ";
  }
  schema += R"("d40": {"type": "object", "properties": {"a": {}}}}})";
  EXPECT_NE(ErrorOf(schema), "");
  EXPECT_NE(ErrorOf(R"({"allOf": [{"$ref": "#"}]})"), "");
}

TEST(JsonGrammar, NumbersOfMembers) {
  constexpr std::string_view kSome = R"({"type": "object", "minProperties": 1, "maxProperties": 2,
    "properties": {"a": {"type": "null"}, "b": {"type": "null"}, "c": {"type": "null"}}})";
  EXPECT_FALSE(Matches(kSome, "{}"));
  EXPECT_TRUE(Matches(kSome, R"({"a": null})"));
  EXPECT_TRUE(Matches(kSome, R"({"b": null, "c": null})"));
  EXPECT_FALSE(Matches(kSome, R"({"a": null, "b": null, "c": null})"));
  constexpr std::string_view kTwo = R"({"type": "object", "minProperties": 2, "required": ["c"],
    "properties": {"a": {"type": "null"}, "b": {"type": "null"}, "c": {"type": "null"}}})";
  EXPECT_FALSE(Matches(kTwo, R"({"c": null})"));
  EXPECT_FALSE(Matches(kTwo, R"({"a": null, "b": null})"));
  EXPECT_TRUE(Matches(kTwo, R"({"a": null, "c": null})"));
  EXPECT_TRUE(Matches(kTwo, R"({"a": null, "b": null, "c": null})"));
  constexpr std::string_view kFree = R"({"type": "object", "minProperties": 1, "maxProperties": 2,
    "additionalProperties": {"type": "null"}})";
  EXPECT_FALSE(Matches(kFree, "{}"));
  EXPECT_TRUE(Matches(kFree, R"({"x": null})"));
  EXPECT_TRUE(Matches(kFree, R"({"x": null, "y": null})"));
  EXPECT_FALSE(Matches(kFree, R"({"x": null, "y": null, "z": null})"));
  constexpr std::string_view kNone = R"({"type": "object", "maxProperties": 0})";
  EXPECT_TRUE(Matches(kNone, "{}"));
  EXPECT_FALSE(Matches(kNone, R"({"x": 1})"));
  // The narrower bounds of two schemas apply.
  constexpr std::string_view kBoth = R"({"allOf": [{"type": "object", "maxProperties": 3},
    {"maxProperties": 1, "additionalProperties": {"type": "null"}}]})";
  EXPECT_TRUE(Matches(kBoth, R"({"x": null})"));
  EXPECT_FALSE(Matches(kBoth, R"({"x": null, "y": null})"));
}

TEST(JsonGrammar, NamesOfAPattern) {
  constexpr std::string_view kSchema = R"({"type": "object", "additionalProperties": false,
    "maxProperties": 2, "patternProperties": {"^x-[a-z]+$": {"type": "integer"}}})";
  EXPECT_TRUE(Matches(kSchema, "{}"));
  EXPECT_TRUE(Matches(kSchema, R"({"x-a": 1, "x-bc": 2})"));
  EXPECT_FALSE(Matches(kSchema, R"({"x-a": "1"})"));
  EXPECT_FALSE(Matches(kSchema, R"({"y": 1})"));
  EXPECT_FALSE(Matches(kSchema, R"({"x-a": 1, "x-b": 2, "x-c": 3})"));
  EXPECT_TRUE(Matches(R"({"type": "object", "patternProperties": {}})", R"({"any": [1]})"));
}

TEST(JsonGrammar, ItemsThatDiffer) {
  constexpr std::string_view kSchema = R"({"type": "array", "uniqueItems": true, "minItems": 1,
    "maxItems": 2, "items": {"type": "string", "enum": ["a", "b", 7, "c", "a"]}})";
  EXPECT_TRUE(Matches(kSchema, R"(["a"])"));
  EXPECT_TRUE(Matches(kSchema, R"(["c", "a"])"));
  EXPECT_FALSE(Matches(kSchema, "[]"));
  EXPECT_FALSE(Matches(kSchema, R"(["b", "b"])"));
  EXPECT_FALSE(Matches(kSchema, R"(["a", "b", "c"])"));
  EXPECT_FALSE(Matches(kSchema, "[7]"));
  EXPECT_TRUE(
      Matches(R"({"type": "array", "uniqueItems": true, "items": {"enum": [1, 2]}})", "[]"));
  EXPECT_TRUE(Matches(R"({"type": "array", "uniqueItems": true, "maxItems": 1})", R"([{"a": 1}])"));
}

TEST(JsonGrammar, WhatCannotBeKeptIsRefusedByName) {
  EXPECT_THAT(
      ErrorOf(
          R"({"type": "object", "properties": {"a": {"type": "string", "pattern": "\\p{L}"}}})"),
      testing::HasSubstr("#/properties/a/pattern"));
  EXPECT_THAT(ErrorOf(R"({"type": "integer", "minimum": 3, "maximum": 2})"),
              testing::HasSubstr("no number"));
  EXPECT_THAT(ErrorOf(R"({"type": "integer", "multipleOf": 0.3})"),
              testing::HasSubstr("#/multipleOf"));
  EXPECT_THAT(ErrorOf(R"({"type": "string", "pattern": "^abc$", "maxLength": 2})"),
              testing::HasSubstr("no text"));
  EXPECT_THAT(
      ErrorOf(R"({"type": "object", "properties": {"a": {}}, "patternProperties": {"b": {}}})"),
      testing::HasSubstr("#/patternProperties"));
  EXPECT_THAT(ErrorOf(R"({"type": "object", "patternProperties": {"a": {}, "b": {}}})"),
              testing::HasSubstr("one pattern"));
  EXPECT_THAT(ErrorOf(R"({"type": "object", "minProperties": 2})"),
              testing::HasSubstr("#/minProperties"));
  EXPECT_THAT(ErrorOf(R"({"type": "object", "properties": {"a": {}}, "minProperties": 2})"),
              testing::HasSubstr("#/minProperties"));
  EXPECT_THAT(ErrorOf(R"({"type": "object", "properties": {"a": {}, "b": {}},
                          "required": ["a", "b"], "maxProperties": 1})"),
              testing::HasSubstr("#/minProperties"));
  EXPECT_THAT(ErrorOf(R"({"type": "array", "uniqueItems": true,
                          "items": {"enum": [1, 2, 3, 4, 5, 6, 7, 8, 9]}})"),
              testing::HasSubstr("up to 8"));
  EXPECT_THAT(ErrorOf(R"({"type": "array", "uniqueItems": true, "minItems": 3,
                          "items": {"enum": [1, 2, 1.0]}})"),
              testing::HasSubstr("#/minItems"));
  EXPECT_THAT(ErrorOf(R"({"type": "array", "uniqueItems": true})"),
              testing::HasSubstr("uniqueItems"));
  EXPECT_THAT(ErrorOf(R"({"not": {}})"), testing::HasSubstr("#/not"));
  EXPECT_THAT(ErrorOf(R"({"type": "thing"})"), testing::HasSubstr("#/type"));
  EXPECT_THAT(ErrorOf(R"({"$ref": "#/nowhere"})"), testing::HasSubstr("#/nowhere"));
  EXPECT_THAT(ErrorOf(R"({"oneOf": [{"minLength": 1}, {"maxLength": 3}]})"),
              testing::HasSubstr("oneOf"));
  EXPECT_THAT(ErrorOf(R"({"type": "string", "format": "regex"})"),
              testing::HasSubstr("#/format: regex is not supported"));
  EXPECT_THAT(ErrorOf(R"({"$ref": "#"})"), testing::HasSubstr("begins with itself"));
  EXPECT_THAT(ErrorOf(R"({"type": "string", "maxLength": 1000000000})"),
              testing::HasSubstr("maxLength"));
  EXPECT_NE(ErrorOf("false"), "");
  EXPECT_NE(ErrorOf("[]"), "");
}

// Comparing all of these values with each other would take minutes.
TEST(JsonGrammar, DifferentItemsOfALongList) {
  ordered_json schema = {{"type", "array"}, {"uniqueItems", true}};
  for (int i = 0; i < 300'000; ++i) schema["items"]["enum"].push_back(i);
  EXPECT_THAT(ErrorOf(schema.dump()), testing::HasSubstr("up to 8"));
}

}  // namespace
}  // namespace aster::grammar
