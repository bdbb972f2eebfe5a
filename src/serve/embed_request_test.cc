// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/embed_request.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <tuple>

namespace aster::serve {
namespace {

using nlohmann::ordered_json;

constexpr EmbedLimits kLimits = {.vocab_size = 512, .width = 8};

// Ollama's clients load a model that way.
TEST(EmbedRequest, OllamaAnswersEmptyRequests) {
  for (const auto& [kind, field, reply] :
       {std::tuple(EmbedKind::kOllama, "input", "embeddings"),
        std::tuple(EmbedKind::kOldOllama, "prompt", "embedding")}) {
    for (const ordered_json& body :
         {ordered_json::object(), ordered_json{{field, ""}}, ordered_json{{field, nullptr}}}) {
      Problem problem;
      const EmbedRequest request = ReadEmbedRequest(kind, body, kLimits, problem);
      EXPECT_FALSE(problem.any()) << problem.message;
      EXPECT_TRUE(request.texts.empty());
      EXPECT_EQ(EmbeddingsJson(request, {})[reply], ordered_json::array());
    }
  }
}

TEST(EmbedRequest, OthersRefuseEmptyRequests) {
  for (const EmbedKind kind : {EmbedKind::kOpenAi, EmbedKind::kLlama}) {
    for (const ordered_json& body : {ordered_json::object(), ordered_json{{"input", ""}},
                                     ordered_json{{"input", ordered_json::array()}}}) {
      Problem problem;
      ReadEmbedRequest(kind, body, kLimits, problem);
      EXPECT_EQ(problem.param, "input");
    }
  }
}

}  // namespace
}  // namespace aster::serve
