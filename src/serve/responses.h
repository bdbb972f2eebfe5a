// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// OpenAI's Responses API: input and output as lists of items. Must not know how answers are made,
// nor where responses are stored.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "serve/api_request.h"
#include "serve/problem.h"
#include "serve/reply_writer.h"

namespace aster::serve {

// POST /v1/responses
ApiRequest ReadResponsesRequest(const nlohmann::ordered_json& body, const RequestDefaults& defaults,
                                Problem& problem);

// Called with a complete response, before the client has it; in the background with each state,
// too. Null: nothing is stored.
using ResponseKeeper = std::function<void(const nlohmann::ordered_json& response)>;

// `body` is the request: answers repeat some of its fields.
std::unique_ptr<ReplyWriter> MakeResponsesWriter(ReplyFrame frame, const ApiRequest& request,
                                                 const nlohmann::ordered_json& body,
                                                 ResponseKeeper keep);

}  // namespace aster::serve
