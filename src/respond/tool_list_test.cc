// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "respond/tool_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace aster::respond {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;

ToolList Read(const char* json) {
  ToolList tools;
  EXPECT_FALSE(ReadToolList(ordered_json::parse(json), tools)) << json;
  return tools;
}

TEST(ToolList, BothApisAreReadAlike) {
  const ToolList nested = Read(R"([{"type": "function", "function": {"name": "add",
      "description": "Adds.", "parameters": {"type": "object"}, "strict": true}}])");
  const ToolList flat = Read(R"([{"type": "function", "name": "add", "description": "Adds.",
      "parameters": {"type": "object"}, "strict": true}])");
  EXPECT_EQ(nested.tools, flat.tools);
  EXPECT_EQ(nested.tools[0]["function"]["description"], "Adds.");
  EXPECT_THAT(nested.strict, ElementsAre("add"));
  EXPECT_THAT(flat.strict, ElementsAre("add"));
}

TEST(ToolList, ACustomToolTakesAText) {
  const ToolList tools = Read(R"([{"type": "custom", "name": "sh", "parameters": null}])");
  EXPECT_EQ(tools.tools[0]["function"]["parameters"]["required"], ordered_json({"input"}));
}

TEST(ToolList, ToolsOfTheirMakersServersAreLeftOut) {
  const ToolList tools = Read(R"([{"type": "web_search"}])");
  EXPECT_TRUE(tools.tools.is_null());
  EXPECT_THAT(tools.left_out, ElementsAre("web_search"));
}

TEST(ToolList, TheFirstFieldThatIsWrongIsNamed) {
  const struct {
    const char* json;
    const char* field;
    const char* why;
  } cases[] = {
      {R"(["add"])", "tools[0]", "give an object"},
      {R"([{}])", "tools[0].type", "is missing; give function"},
      {R"([{"type": 7}, 7])", "tools[0].type", "give a text"},
      {R"([{"type": "function", "function": 7}])", "tools[0].function", "give an object"},
      {R"([{"type": "function", "function": {}}])", "tools[0].function.name",
       "is missing or too long"},
      {R"([{"type": "function", "name": "a", "strict": 1}])", "tools[0].strict",
       "give true or false"},
      {R"([{"type": "function", "name": "a", "parameters": []}])", "tools[0].parameters",
       "give an object"},
  };
  for (const auto& [json, field, why] : cases) {
    ToolList tools;
    const auto error = ReadToolList(ordered_json::parse(json), tools);
    ASSERT_TRUE(error) << json;
    EXPECT_EQ(error->field, field);
    EXPECT_EQ(error->why, why);
  }
  ToolList tools;
  const ordered_json many(kMaxTools + 1, ordered_json::object());
  EXPECT_EQ(ReadToolList(many, tools)->field, "tools");
}

}  // namespace
}  // namespace aster::respond
