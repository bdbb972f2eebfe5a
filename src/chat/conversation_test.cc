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

TEST(Conversation, WhatTheSystemSaysStandsBeforeTheNextWordsOfTheUser) {
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
