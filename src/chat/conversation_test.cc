// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "chat/conversation.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace aster::chat {
namespace {

using nlohmann::ordered_json;

ordered_json Say(std::initializer_list<std::pair<const char*, const char*>> said) {
  ordered_json messages = ordered_json::array();
  for (const auto& [role, content] : said)
    messages.push_back({{"role", role}, {"content", content}});
  return messages;
}

TEST(Conversation, SystemMessagesArePrependedToTheNextUserMessage) {
  Dialect dialect{.takes_system = false, .takes_later_system = false};
  EXPECT_EQ(FittedMessages(dialect, Say({{"system", "s"}, {"user", "u"}})),
            Say({{"user", "s\n\nu"}}));
  dialect.takes_system = true;
  EXPECT_EQ(FittedMessages(dialect, Say({{"system", "s"},
                                         {"user", "u"},
                                         {"assistant", "a"},
                                         {"system", "t"},
                                         {"system", "v"},
                                         {"user", "w"}})),
            Say({{"system", "s"}, {"user", "u"}, {"assistant", "a"}, {"user", "t\n\nv\n\nw"}}));
  EXPECT_EQ(FittedMessages(dialect, Say({{"user", "u"}, {"system", "s"}})),
            Say({{"user", "u\n\ns"}}));
  EXPECT_EQ(FittedMessages(dialect, Say({{"user", "u"}, {"assistant", "a"}, {"system", "s"}})),
            Say({{"user", "u"}, {"assistant", "a"}, {"user", "s"}}));
  EXPECT_EQ(FittedMessages(Dialect(), Say({{"user", "u"}, {"system", "s"}})),
            Say({{"user", "u"}, {"system", "s"}}));
}

TEST(Conversation, IdsOfCallsAreShortWhereTheyHaveToBe) {
  const Dialect dialect{.wants_short_ids = true};
  ordered_json messages = Say({{"assistant", ""}, {"tool", "r"}});
  messages[0]["tool_calls"] =
      ordered_json::array({{{"id", "call_abc"}, {"type", "function"}}, {{"id", "aB3456789"}}});
  messages[1]["tool_call_id"] = "call_abc";
  const ordered_json fitted = FittedMessages(dialect, messages);
  const auto& id = fitted[0]["tool_calls"][0]["id"].get_ref<const std::string&>();
  EXPECT_EQ(id.size(), 9U);
  EXPECT_EQ(fitted[1]["tool_call_id"], id);
  EXPECT_EQ(fitted[0]["tool_calls"][1]["id"], "aB3456789");
  EXPECT_EQ(FittedMessages(Dialect(), messages), messages);
  EXPECT_NE(ShortCallId("call_1"), ShortCallId("call_2"));
  EXPECT_EQ(ShortCallId("call-1234").find('-'), std::string::npos);
}

// Each call is followed by its result, in whatever order results came.
TEST(Conversation, CallsStandAloneForGptOss) {
  const Dialect dialect{.family = Family::kHarmony};
  const auto call = [](const char* id) { return ordered_json{{"id", id}, {"type", "function"}}; };
  ordered_json messages =
      Say({{"user", "u"}, {"assistant", "c"}, {"tool", "b"}, {"tool", "a"}, {"assistant", "d"}});
  messages[1]["tool_calls"] = ordered_json::array({call("x"), call("y")});
  messages[1]["reasoning_content"] = "r";
  messages[1]["name"] = "n";
  messages[2]["tool_call_id"] = "y";
  messages[3]["tool_call_id"] = "x";
  const ordered_json fitted = FittedMessages(dialect, messages);
  ASSERT_EQ(fitted.size(), 6U);
  EXPECT_EQ(fitted[1]["tool_calls"], ordered_json::array({call("x")}));
  EXPECT_EQ(fitted[1]["thinking"], "r\n\nc");
  EXPECT_EQ(fitted[1]["content"], "");
  EXPECT_EQ(fitted[2]["content"], "a");
  EXPECT_EQ(fitted[3]["tool_calls"], ordered_json::array({call("y")}));
  // The message's texts are not repeated with each call.
  EXPECT_EQ(fitted[3], ordered_json({{"role", "assistant"},
                                     {"thinking", ""},
                                     {"content", ""},
                                     {"tool_calls", ordered_json::array({call("y")})}}));
  EXPECT_EQ(fitted[4]["content"], "b");
  EXPECT_EQ(fitted[5], messages[4]);
  EXPECT_EQ(FittedMessages(Dialect(), messages), messages);
}

// The time must be linear.
TEST(Conversation, ManyMessages) {
  constexpr size_t kCount = 150'000;
  ordered_json system = ordered_json::array();
  for (size_t i = 0; i < kCount; ++i) system.push_back({{"role", "system"}, {"content", "s"}});
  const ordered_json joined = FittedMessages({.takes_system = false}, std::move(system));
  ASSERT_EQ(joined.size(), 1U);
  EXPECT_EQ(joined[0]["content"].get_ref<const std::string&>().size(), kCount * 3 - 2);

  ordered_json calls = ordered_json::array();
  for (size_t i = 0; i < kCount / 5; ++i) calls.push_back({{"id", std::to_string(i)}});
  ordered_json messages = Say({{"assistant", "c"}});
  for (size_t i = calls.size(); i-- > 0;)
    messages.push_back({{"role", "tool"}, {"tool_call_id", std::to_string(i)}});
  messages[0]["tool_calls"] = calls;
  const ordered_json fitted = FittedMessages({.family = Family::kHarmony}, std::move(messages));
  ASSERT_EQ(fitted.size(), calls.size() * 2);
  EXPECT_EQ(fitted[1]["tool_call_id"], "0");
  EXPECT_EQ(fitted.back()["tool_call_id"], std::to_string(calls.size() - 1));
}

TEST(Conversation, ToolsHaveAllThatTemplatesLookAt) {
  const ordered_json tools = ordered_json::parse(
      R"([{"function": {"name": "f", "parameters": {"properties": {"a": {}, "b": true}}}},
          {"function": {"name": "g", "description": "d"}}])");
  const ordered_json filled = FilledTools(tools);
  EXPECT_EQ(filled[0]["function"]["description"], "");
  EXPECT_EQ(filled[0]["function"]["parameters"]["properties"]["a"]["description"], "");
  EXPECT_EQ(filled[0]["function"]["parameters"]["properties"]["b"], true);
  EXPECT_EQ(filled[1]["function"]["description"], "d");
  EXPECT_TRUE(filled[1]["function"]["parameters"]["properties"].empty());
}

}  // namespace
}  // namespace aster::chat
