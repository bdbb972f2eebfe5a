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

// Fields that several dialects share.
void ReadSampling(const Fields& fields, Ask& ask, const AskDefaults& defaults);
void ReadStops(const Fields& fields, const char* key, Ask& ask);
// The most tokens of an answer: more than the whole context is more than there is.
void ReadMaxTokens(const Fields& fields, const char* key, const AskDefaults& defaults, Ask& ask);
// The text of `content`: a string, or parts of which all must be texts.
std::string ReadContent(const Fields& message, const char* key);
// Tools in OpenAI's form; parameters are any JSON schema.
void ReadTools(const Fields& fields, Ask& ask);
// Which of them may or must be called, once they have been read.
void ReadToolChoice(const Fields& fields, Ask& ask);
// text, json_object or json_schema; `schema_key` is where the schema stands in `format`, which is
// the object itself where that is null.
void ReadFormat(const Fields& format, const char* schema_key, Ask& ask);
// A grammar in GBNF, as some servers take it.
void ReadGrammar(const Fields& fields, Ask& ask);
void ReadEffort(const Fields& fields, const char* key, Ask& ask);

}  // namespace aster::serve
