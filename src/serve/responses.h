// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// OpenAI's newer dialect: input and output as lists of items. Nothing is stored: a conversation
// comes whole with each request. Must not know how answers are made.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "serve/ask.h"
#include "serve/problem.h"
#include "serve/reply_writer.h"

namespace aster::serve {

// POST /v1/responses
Ask ReadResponsesRequest(const nlohmann::ordered_json& body, const AskDefaults& defaults,
                         Problem& problem);

// Takes a response that is whole, before the client has it; of one in the background each state,
// too. Null: nothing is kept.
using ResponseKeeper = std::function<void(const nlohmann::ordered_json& response)>;

// `body` is what was asked: answers repeat some of it.
std::unique_ptr<ReplyWriter> MakeResponsesWriter(ReplyFrame frame, const Ask& ask,
                                                 const nlohmann::ordered_json& body,
                                                 ResponseKeeper keep);

}  // namespace aster::serve
