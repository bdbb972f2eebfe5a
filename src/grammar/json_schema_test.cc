// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "grammar/json_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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

// A member that may be left out tells nobody apart.
TEST(JsonGrammar, AConstantThatTellsIsRequired) {
  EXPECT_THAT(ErrorOf(R"({"oneOf": [
    {"type": "object", "properties": {"k": {"const": "a"}}, "required": ["k"]},
    {"type": "object", "properties": {"k": {"const": "b"}}}]})"),
              testing::HasSubstr("oneOf"));
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
  // Names that are asked for again and again cost no more than once each.
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

TEST(JsonGrammar, WhatCannotBeKeptIsRefusedByName) {
  EXPECT_THAT(
      ErrorOf(R"({"type": "object", "properties": {"a": {"type": "string", "pattern": "x"}}})"),
      testing::HasSubstr("#/properties/a/pattern"));
  EXPECT_THAT(ErrorOf(R"({"type": "integer", "minimum": 3})"), testing::HasSubstr("#/minimum"));
  EXPECT_THAT(ErrorOf(R"({"type": "array", "uniqueItems": true})"),
              testing::HasSubstr("uniqueItems"));
  EXPECT_THAT(ErrorOf(R"({"not": {}})"), testing::HasSubstr("#/not"));
  EXPECT_THAT(ErrorOf(R"({"type": "thing"})"), testing::HasSubstr("#/type"));
  EXPECT_THAT(ErrorOf(R"({"$ref": "#/nowhere"})"), testing::HasSubstr("#/nowhere"));
  EXPECT_THAT(ErrorOf(R"({"oneOf": [{"minLength": 1}, {"maxLength": 3}]})"),
              testing::HasSubstr("oneOf"));
  EXPECT_THAT(ErrorOf(R"({"$ref": "#"})"), testing::HasSubstr("begins with itself"));
  EXPECT_THAT(ErrorOf(R"({"type": "string", "maxLength": 1000000000})"),
              testing::HasSubstr("maxLength"));
  EXPECT_NE(ErrorOf("false"), "");
  EXPECT_NE(ErrorOf("[]"), "");
}

}  // namespace
}  // namespace aster::grammar
