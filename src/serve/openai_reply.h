// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Answers in OpenAI's dialects: chat completions, completions. Must not know requests.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "serve/reply_writer.h"

namespace aster::serve {

std::unique_ptr<ReplyWriter> MakeChatWriter(ReplyFrame frame, const ApiRequest& request);

// A prompt that is repeated before its answer, with its tokens if log-probabilities are wanted.
struct Echo {
  std::string text;
  std::vector<ResponseToken> tokens = {};
};
// `echoes`: one for each choice, or none.
std::unique_ptr<ReplyWriter> MakeCompletionWriter(ReplyFrame frame, const ApiRequest& request,
                                                  size_t choices, std::vector<Echo> echoes);

// Tokens with their log-probabilities, and the most likely alternatives of each.
nlohmann::ordered_json LogprobsJson(std::span<const ResponseToken> tokens);

}  // namespace aster::serve
