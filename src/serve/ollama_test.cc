// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/ollama.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace aster::serve {
namespace {

using nlohmann::ordered_json;
using Kind = chat::ReplyEvent::Kind;

constexpr RequestDefaults kDefaults = {.sampling = {}, .vocab_size = 512, .context_limit = 4096};

class OllamaRequest : public testing::Test {
 protected:
  ApiRequest Read(const char* body) {
    return ReadOllamaChat(ordered_json::parse(body), kDefaults, problem_);
  }
  Problem problem_;
};

TEST_F(OllamaRequest, OptionsAreThoseOfTheEngine) {
  const ApiRequest request = Read(R"({"messages": [{"role": "user", "content": "a"}], "options": {
      "temperature": 0.5, "repeat_penalty": 1.5, "repeat_last_n": -1, "num_predict": -2, "seed": 7,
      "num_ctx": 9, "stop": ["x"]}})");
  ASSERT_FALSE(problem_.any()) << problem_.message;
  EXPECT_EQ(request.sampling.temperature, 0.5F);
  EXPECT_EQ(request.sampling.repetition_penalty, 1.5F);
  EXPECT_EQ(request.sampling.penalty_window, 0U);
  EXPECT_EQ(request.sampling.seed, 7U);
  EXPECT_EQ(request.max_tokens, engine::kNoTokenLimit);
  EXPECT_EQ(request.stops, std::vector<std::string>{"x"});
  EXPECT_TRUE(request.streams);
}

TEST_F(OllamaRequest, ResultsBelongToCallsWithoutIds) {
  const ApiRequest request = Read(R"({"messages": [
      {"role": "assistant", "tool_calls": [{"function": {"name": "a", "arguments": {"n": 1}}},
                                           {"function": {"name": "b"}}]},
      {"role": "tool", "tool_name": "b", "content": "2"}, {"role": "tool", "content": "1"}]})");
  ASSERT_FALSE(problem_.any()) << problem_.message;
  const ordered_json& calls = request.messages[0]["tool_calls"];
  EXPECT_EQ(request.messages[1]["tool_call_id"], calls[1]["id"]);
  EXPECT_EQ(request.messages[2]["tool_call_id"], calls[0]["id"]);
  EXPECT_NE(calls[0]["id"], calls[1]["id"]);
}

TEST_F(OllamaRequest, AResultOfNoCallIsNamed) {
  Read(R"({"messages": [{"role": "tool", "tool_name": "a", "content": "2"}]})");
  EXPECT_EQ(problem_.param, "messages[0].tool_name");
}

// A call is sent when it is complete, in a stream, too.
TEST(OllamaStream, TellsWholeCalls) {
  net::Waker waker;
  const auto stream = std::make_shared<ReplyStream>(
      ReplyStream::Options{.request_id = "r", .in_chunks = false}, waker);
  ApiRequest request;
  request.streams = true;
  const auto writer =
      MakeOllamaWriter({.stream = stream, .id = "", .model = "nova"}, request, OllamaKind::kChat);
  const std::vector<chat::ReplyEvent> events = {{.kind = Kind::kContent, .text = "so"},
                                                {.kind = Kind::kCallBegin, .text = "add"},
                                                {.kind = Kind::kArguments, .text = "{\"n\":"},
                                                {.kind = Kind::kArguments, .text = "1}"},
                                                {.kind = Kind::kCallEnd}};
  writer->Begin({});
  for (const chat::ReplyEvent& event : events) writer->WritePiece(0, {&event, 1}, {});
  writer->EndChoice(0, EndReason::kCalls, "");
  writer->Finish({.prompt = 3, .answer = 2});
  std::string output;
  EXPECT_TRUE(stream->TakeOutput(output));
  const std::string body = output.substr(output.find("\r\n\r\n") + 4);
  std::vector<ordered_json> lines;
  for (size_t begin = 0; begin < body.size(); begin = body.find('\n', begin) + 1)
    lines.push_back(ordered_json::parse(body.substr(begin, body.find('\n', begin) - begin)));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0]["message"]["content"], "so");
  EXPECT_EQ(lines[1]["message"]["tool_calls"][0]["function"]["arguments"]["n"], 1);
  EXPECT_EQ(lines[2]["done_reason"], "stop");
  EXPECT_EQ(lines[2]["prompt_eval_count"], 3);
}

}  // namespace
}  // namespace aster::serve
