// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Requests in OpenAI's dialects. Unknown fields are ignored; wrong ones, and those that ask for
// unsupported features, are problems that name them. Must not know answers.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "serve/api_request.h"
#include "serve/problem.h"

namespace aster::serve {

// POST /v1/chat/completions
ApiRequest ReadChatRequest(const nlohmann::ordered_json& body, const RequestDefaults& defaults,
                           Problem& problem);
// POST /v1/completions
ApiRequest ReadCompletionRequest(const nlohmann::ordered_json& body,
                                 const RequestDefaults& defaults, Problem& problem);

}  // namespace aster::serve
