// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Requests in OpenAI's dialects. Fields that are unknown are ignored; those that are wrong, or ask
// for what cannot be done, are problems that name them. Must not know answers.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "serve/ask.h"
#include "serve/problem.h"

namespace aster::serve {

// POST /v1/chat/completions
Ask ReadChatRequest(const nlohmann::ordered_json& body, const AskDefaults& defaults,
                    Problem& problem);
// POST /v1/completions
Ask ReadCompletionRequest(const nlohmann::ordered_json& body, const AskDefaults& defaults,
                          Problem& problem);

}  // namespace aster::serve
