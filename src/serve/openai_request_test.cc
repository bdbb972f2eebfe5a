// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/openai_request.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace aster::serve {
namespace {

using nlohmann::ordered_json;

constexpr RequestDefaults kOpenAiDefaults = {
    .sampling = {}, .vocab_size = 512, .context_limit = 4096};

// A gap is between texts: the tokens would be left out.
TEST(OpenAiRequest, ASuffixNeedsATextBeforeIt) {
  Problem problem;
  ReadCompletionRequest({{"prompt", {1U, 2U}}, {"suffix", "b"}}, kOpenAiDefaults, problem);
  EXPECT_EQ(problem.param, "suffix");
  problem = {};
  const ApiRequest request =
      ReadCompletionRequest({{"prompt", "a"}, {"suffix", "b"}}, kOpenAiDefaults, problem);
  EXPECT_FALSE(problem.any()) << problem.message;
  EXPECT_EQ(request.raw.front().suffix, "b");
}

}  // namespace
}  // namespace aster::serve
