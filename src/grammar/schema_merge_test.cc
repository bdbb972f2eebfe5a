// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "grammar/schema_merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "grammar/json_schema.h"

namespace aster::grammar {
namespace {

using nlohmann::ordered_json;

ordered_json Merged(std::string_view a, std::string_view b) {
  const auto merged = MergeSchemas(ordered_json::parse(a), ordered_json::parse(b), "#");
  EXPECT_TRUE(merged.ok()) << (merged.ok() ? "" : merged.error().message());
  return merged.ok() ? *merged : ordered_json();
}

TEST(SchemaMerge, ListsHaveTheOrderOfTheFirst) {
  EXPECT_EQ(Merged(R"({"enum": [3, "a", 1, [2, {"b": 1}], null, true]})",
                   R"({"enum": [true, 1.0, [2.0, {"b": 1}], "b", null, false]})"),
            ordered_json::parse(R"({"enum": [1, [2, {"b": 1}], null, true]})"));
  EXPECT_EQ(Merged(R"({"required": ["a", "b"]})", R"({"required": ["c", "b", "c"]})"),
            ordered_json::parse(R"({"required": ["a", "b", "c"]})"));
  EXPECT_EQ(Merged(R"({"pattern": "a"})", R"({"pattern": ["b", "a"]})"),
            ordered_json::parse(R"({"pattern": ["a", "b"]})"));
  EXPECT_EQ(Merged(R"({"type": ["number", "string"]})", R"({"type": ["integer", "null"]})"),
            ordered_json::parse(R"({"type": ["integer"]})"));
}

// The time must be linear: schemas of a few megabytes once took hours.
TEST(SchemaMerge, LongLists) {
  constexpr int kCount = 300'000;
  ordered_json even = ordered_json::array();
  ordered_json odd = ordered_json::array();
  for (int i = 0; i < kCount; ++i) (i % 2 == 0 ? even : odd).push_back("v" + std::to_string(i));
  const auto values = MergeSchemas({{"enum", even}}, {{"enum", odd}}, "#");
  ASSERT_FALSE(values.ok());
  EXPECT_THAT(values.error().message(), testing::HasSubstr("no value meets both"));
  const auto names = MergeSchemas({{"required", even}}, {{"required", odd}}, "#");
  ASSERT_TRUE(names.ok());
  EXPECT_EQ((*names)["required"].size(), static_cast<size_t>(kCount));
}

// What is merged step by step counts with each step.
TEST(SchemaMerge, ManyPartsAreTooMuch) {
  ordered_json parts = ordered_json::array();
  for (int i = 0; i < 20'000; ++i) parts.push_back({{"required", {"m" + std::to_string(i)}}});
  const auto grammar = JsonSchemaGrammar({{"type", "object"}, {"allOf", parts}});
  ASSERT_FALSE(grammar.ok());
  EXPECT_THAT(grammar.error().message(), testing::HasSubstr("too much to be merged"));
}

// Each value is compared with each type.
TEST(SchemaMerge, TypesAreNamedOnce) {
  const ordered_json types(100, "string");
  for (const ordered_json& schema :
       {ordered_json{{"type", types}}, ordered_json{{"type", types}, {"enum", {"a"}}},
        ordered_json{{"allOf", ordered_json::array({{{"type", types}}})}}}) {
    const auto grammar = JsonSchemaGrammar(schema);
    ASSERT_FALSE(grammar.ok());
    EXPECT_THAT(grammar.error().message(), testing::HasSubstr("more types than there are"));
  }
}

}  // namespace
}  // namespace aster::grammar
