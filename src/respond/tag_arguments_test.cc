// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "respond/tag_arguments.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace aster::respond {
namespace {

using nlohmann::ordered_json;

Status WriteTags(const ordered_json& schema, bool is_exact) {
  const chat::CallForm form;
  grammar::Grammar grammar;
  const TagRules rules = {
      .form = form,
      .write = [&](std::string_view markup) { return grammar.Literal(std::string(markup)); },
      .text = grammar.Characters({{'a', 'z'}}),
      .is_exact = is_exact};
  TRY(TagArguments(schema, rules, grammar));
  return Ok();
}

// Each member once compared its name with all of these.
TEST(TagArguments, ManyMembersAreRequired) {
  constexpr int kMembers = 2000;
  ordered_json schema = {{"type", "object"}, {"required", ordered_json::array()}};
  for (int i = 0; i < 100 * kMembers; ++i) schema["required"].push_back(std::to_string(i));
  for (int i = 0; i < kMembers; ++i) schema["properties"][std::to_string(i)] = {{"type", "string"}};
  EXPECT_TRUE(WriteTags(schema, /*is_exact=*/false).ok());
}

// Each member gets a copy of the definitions.
TEST(TagArguments, ManyMembersWithManyDefinitions) {
  ordered_json schema = {{"type", "object"}};
  schema["$defs"]["a"] = {{"type", "integer"}, {"description", std::string(100'000, 'x')}};
  for (int i = 0; i < 50; ++i)
    schema["properties"][std::to_string(i)] = {{"type", "array"},
                                               {"items", {{"$ref", "#/$defs/a"}}}};
  EXPECT_TRUE(WriteTags(schema, /*is_exact=*/true).ok());
  for (int i = 50; i < 200; ++i)
    schema["properties"][std::to_string(i)] = {{"type", "array"},
                                               {"items", {{"$ref", "#/$defs/a"}}}};
  EXPECT_FALSE(WriteTags(schema, /*is_exact=*/true).ok());
  EXPECT_TRUE(WriteTags(schema, /*is_exact=*/false).ok());
}

}  // namespace
}  // namespace aster::respond
