// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/tool_fields.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "serve/anthropic.h"
#include "serve/ollama.h"
#include "serve/openai_request.h"
#include "serve/responses.h"

namespace aster::serve {
namespace {

using nlohmann::ordered_json;

constexpr RequestDefaults kToolDefaults = {
    .sampling = {}, .vocab_size = 512, .context_limit = 4096};

// The time must be linear: a body of 16 MiB once took an hour. The last call has the first result,
// so that a search from either end is long.
constexpr int kCalls = 30'000;

std::string IdOf(int call) { return "call_" + std::to_string(call); }

ordered_json WithResults(ordered_json first, ordered_json calls, const ordered_json& results) {
  first["tool_calls"] = std::move(calls);
  ordered_json messages = ordered_json::array({std::move(first)});
  for (const ordered_json& result : results) messages.push_back(result);
  return messages;
}

TEST(ToolFields, ManyCallsAndResultsOfOpenAi) {
  ordered_json calls = ordered_json::array();
  ordered_json results = ordered_json::array();
  for (int i = 0; i < kCalls; ++i) {
    calls.push_back({{"id", IdOf(i)}, {"function", {{"name", "f"}, {"arguments", "{}"}}}});
    results.push_back({{"role", "tool"}, {"tool_call_id", IdOf(kCalls - 1 - i)}, {"content", "r"}});
  }
  Problem problem;
  const ApiRequest request = ReadChatRequest(
      {{"messages", WithResults({{"role", "assistant"}}, calls, results)}}, kToolDefaults, problem);
  EXPECT_FALSE(problem.any()) << problem.message;
  EXPECT_EQ(request.messages.size(), 1 + static_cast<size_t>(kCalls));
}

TEST(ToolFields, ManyCallsAndResultsOfAnthropic) {
  ordered_json uses = ordered_json::array();
  ordered_json results = ordered_json::array();
  for (int i = 0; i < kCalls; ++i) {
    uses.push_back(
        {{"type", "tool_use"}, {"id", IdOf(i)}, {"name", "f"}, {"input", ordered_json::object()}});
    results.push_back(
        {{"type", "tool_result"}, {"tool_use_id", IdOf(kCalls - 1 - i)}, {"content", "r"}});
  }
  const ordered_json messages = ordered_json::array(
      {{{"role", "assistant"}, {"content", uses}}, {{"role", "user"}, {"content", results}}});
  Problem problem;
  const ApiRequest request = ReadMessagesRequest({{"max_tokens", 1}, {"messages", messages}},
                                                 kToolDefaults, /*only_counts=*/false, problem);
  EXPECT_FALSE(problem.any()) << problem.message;
  EXPECT_EQ(request.messages.size(), 1 + static_cast<size_t>(kCalls));
}

TEST(ToolFields, ManyCallsAndResultsOfResponses) {
  ordered_json input = ordered_json::array();
  for (int i = 0; i < kCalls; ++i) {
    input.push_back(
        {{"type", "function_call"}, {"call_id", IdOf(i)}, {"name", "f"}, {"arguments", "{}"}});
  }
  for (int i = kCalls; i-- > 0;)
    input.push_back({{"type", "function_call_output"}, {"call_id", IdOf(i)}, {"output", "r"}});
  Problem problem;
  const ApiRequest request = ReadResponsesRequest({{"input", input}}, kToolDefaults, problem);
  EXPECT_FALSE(problem.any()) << problem.message;
  EXPECT_EQ(request.messages.size(), 1 + static_cast<size_t>(kCalls));
}

TEST(ToolFields, ManyCallsAndResultsOfOllama) {
  ordered_json calls = ordered_json::array();
  ordered_json results = ordered_json::array();
  for (int i = 0; i < kCalls; ++i) {
    calls.push_back({{"id", IdOf(i)}, {"function", {{"name", IdOf(i)}}}});
    const char* const key = i % 2 == 0 ? "tool_call_id" : "tool_name";
    results.push_back({{"role", "tool"}, {key, IdOf(kCalls - 1 - i)}, {"content", "r"}});
  }
  Problem problem;
  const ApiRequest request = ReadOllamaChat(
      {{"messages", WithResults({{"role", "assistant"}}, calls, results)}}, kToolDefaults, problem);
  ASSERT_FALSE(problem.any()) << problem.message;
  EXPECT_EQ(request.messages[1]["tool_call_id"], IdOf(kCalls - 1));
  EXPECT_EQ(request.messages[2]["tool_call_id"], IdOf(kCalls - 2));
}

// A result needs a call before it.
TEST(ToolFields, AResultOfALaterCallIsNamed) {
  const ordered_json result = {{"role", "tool"}, {"tool_call_id", "a"}, {"content", "r"}};
  const ordered_json call = {{"id", "a"}, {"function", {{"name", "f"}}}};
  const ordered_json said = {{"role", "assistant"}, {"tool_calls", ordered_json::array({call})}};
  Problem problem;
  ReadChatRequest({{"messages", ordered_json::array({result, said})}}, kToolDefaults, problem);
  EXPECT_EQ(problem.param, "messages[0].tool_call_id");
}

}  // namespace
}  // namespace aster::serve
