// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Anthropic's dialect: messages made of blocks, and answers as events that open and close blocks.
// Must not know how answers are made.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "serve/api_request.h"
#include "serve/problem.h"
#include "serve/reply_writer.h"

namespace aster::serve {

// POST /v1/messages; when only tokens are counted, max_tokens may be missing.
ApiRequest ReadMessagesRequest(const nlohmann::ordered_json& body, const RequestDefaults& defaults,
                               bool only_counts, Problem& problem);

std::unique_ptr<ReplyWriter> MakeMessagesWriter(ReplyFrame frame, const ApiRequest& request);

}  // namespace aster::serve
