// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "respond/prompt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "grammar/gbnf.h"
#include "respond/model_for_test.h"

namespace aster::respond {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;

Conversation WithTools() {
  Conversation conversation;
  conversation.messages = {{{"role", "user"}, {"content", "hi<end>"}}};
  conversation.tools = ordered_json::parse(
      R"([{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}])");
  return conversation;
}

TEST(Prompt, IsTheTemplatesTextWithTheToolsThatAreOffered) {
  const TestModel model;
  Conversation conversation = WithTools();
  const Prompt offered = MakePrompt(model.get(), conversation).value();
  EXPECT_THAT(offered.text, HasSubstr("\"add\""));
  ASSERT_NE(offered.tools, nullptr);
  EXPECT_TRUE(offered.tools->has_tool("add"));
  EXPECT_FALSE(offered.tools->has_tool("look"));
  EXPECT_EQ(offered.grammar, nullptr);
  conversation.tool_choice = ToolChoice::kNone;
  const Prompt without = MakePrompt(model.get(), conversation).value();
  EXPECT_EQ(without.tools, nullptr);
  EXPECT_THAT(without.text, testing::Not(HasSubstr("\"add\"")));
  // Texts of users are never control tokens.
  EXPECT_THAT(without.tokens, testing::Not(testing::Contains(kEndToken)));
}

TEST(Prompt, ErrorsSayWhichPartTheyAreAbout) {
  const auto part_of = [](const TestModel& model, const Conversation& conversation) {
    Part part = Part::kMessages;
    EXPECT_FALSE(MakePrompt(model.get(), conversation, &part).ok());
    return part;
  };
  EXPECT_EQ(part_of(TestModel(true, ""), WithTools()), Part::kMessages);
  const TestModel plain(true, "{% for m in messages %}{{ m.content }}{% endfor %}");
  EXPECT_EQ(part_of(plain, WithTools()), Part::kTools);
  const TestModel model;
  Conversation strict = WithTools();
  strict.strict_tools = {"add"};
  strict.tools[0]["function"]["parameters"]["not"] = ordered_json::object();
  EXPECT_EQ(part_of(model, strict), Part::kTools);
  const TestModel refuses(true, "{{ raise_exception('no') }}{{ tools | tojson }}<tool_call>");
  Conversation messages = WithTools();
  messages.tools = nullptr;
  EXPECT_EQ(part_of(refuses, messages), Part::kMessages);
}

TEST(Prompt, AFormMakesAGrammar) {
  const TestModel model;
  Conversation conversation = WithTools();
  conversation.form = grammar::ParseGbnf("root ::= \"yes\"").value();
  EXPECT_NE(MakePrompt(model.get(), conversation).value().grammar, conversation.form);
  conversation.tools = nullptr;
  const Prompt prompt = MakePrompt(model.get(), conversation).value();
  EXPECT_EQ(prompt.grammar, conversation.form);
  EXPECT_NE(MakeMasks(model.get(), prompt).value(), nullptr);
  EXPECT_EQ(RawPrompt({1}, conversation.form).grammar, conversation.form);
  EXPECT_EQ(MakeMasks(model.get(), RawPrompt({1}, nullptr)).value(), nullptr);
}

}  // namespace
}  // namespace aster::respond
