// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/llamacpp.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace aster::serve {
namespace {

using nlohmann::ordered_json;

constexpr RequestDefaults kLlamaDefaults = {
    .sampling = {}, .vocab_size = 512, .context_limit = 4096};

ApiRequest ReadGap(ordered_json fields, Problem& problem) {
  ordered_json body = {{"input_prefix", "a"}, {"input_suffix", "b"}};
  body.update(fields);
  return ReadInfill(body, kLlamaDefaults, problem);
}

// Fields of llama.vim and llama.vscode.
TEST(LlamaRequest, EditorsFillGaps) {
  Problem problem;
  const ordered_json fields = ordered_json::parse(R"({"prompt": "", "input_extra": [],
      "n_predict": 128, "n_indent": 4, "top_k": 40, "top_p": 0.9, "stream": false,
      "samplers": ["top_k", "top_p", "infill"], "cache_prompt": true, "t_max_prompt_ms": 500,
      "t_max_predict_ms": 250})");
  const ApiRequest request = ReadGap(fields, problem);
  ASSERT_FALSE(problem.any()) << problem.message;
  EXPECT_EQ(request.sampling.top_k, 40U);
  EXPECT_EQ(request.max_tokens, 128U);
  EXPECT_EQ(request.line_ns, 250 * kNsPerMs);
  // A request that only warms up the cache.
  EXPECT_EQ(ReadGap({{"n_predict", 0}, {"samplers", ordered_json::array()}}, problem).max_tokens,
            0U);
  EXPECT_FALSE(problem.any()) << problem.message;
  ReadGap({{"samplers", {"top_k", "dry"}}}, problem);
  EXPECT_EQ(problem.param, "samplers[1]");
}

// Of texts nothing is ignored that would change the answer.
TEST(LlamaRequest, OtherTextsRefuseWhatOnlyGapsTake) {
  const std::pair<const char*, ordered_json> kFields[] = {
      {"samplers", {"top_k"}}, {"n_indent", 4}, {"t_max_predict_ms", 250}, {"n_predict", 0}};
  for (const auto& [key, value] : kFields) {
    Problem problem;
    ReadLlamaCompletion({{"prompt", "a"}, {key, value}}, kLlamaDefaults, problem);
    EXPECT_EQ(problem.param, key);
  }
}

TEST(LlamaReply, EachPromptHasItsOwnUsage) {
  net::Waker waker;
  const auto stream = std::make_shared<ReplyStream>(
      ReplyStream::Options{.request_id = "r", .in_chunks = false}, waker);
  ApiRequest request;
  request.raw = {{.text = "a"}, {.text = "b"}};
  const auto writer = MakeLlamaWriter({.stream = stream, .id = "", .model = "nova"}, request);
  writer->Begin({});
  for (size_t i = 0; i < 2; ++i) {
    writer->Count(i, {.prompt = 3 + i, .cached = i, .answer = 5 + i});
    writer->EndChoice(i, EndReason::kLength, "");
  }
  writer->Finish({.prompt = 7, .cached = 1, .answer = 11});
  std::string output;
  EXPECT_TRUE(stream->TakeOutput(output));
  const ordered_json all = ordered_json::parse(output.substr(output.find("\r\n\r\n") + 4));
  ASSERT_EQ(all.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(all[i]["tokens_evaluated"], 3 + i);
    EXPECT_EQ(all[i]["tokens_cached"], i);
    EXPECT_EQ(all[i]["tokens_predicted"], 5 + i);
    EXPECT_EQ(all[i]["timings"]["predicted_n"], 5 + i);
  }
}

}  // namespace
}  // namespace aster::serve
