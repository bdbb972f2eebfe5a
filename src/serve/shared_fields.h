// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Fields of requests that several dialects share: sampling, limits, stop strings, contents, forms.
// Must not know which dialect has which, nor answers.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "serve/api_request.h"
#include "serve/problem.h"

namespace aster::serve {

// Sampling options, by the names of OpenAI and of servers that have more. An unsupported sampler is
// refused by name if it could choose another token.
void ReadSampling(const Fields& fields, ApiRequest& request, const RequestDefaults& defaults);
// The same, but a seed of -1 is a new one for each request, as in llama.cpp and Ollama; and their
// limit of an answer, at least `least`: -1 is none, -2 the context, which is the same here.
void ReadLooseSampling(const Fields& fields, ApiRequest& request, const RequestDefaults& defaults);
void ReadLooseLimit(const Fields& fields, const char* key, ApiRequest& request, uint64_t least = 1);
// prompt: a text, tokens, or a list of them.
void ReadPrompts(const Fields& fields, const RequestDefaults& defaults, ApiRequest& request);
// logit_bias: an object of token ids and numbers.
void ReadBiases(const Fields& fields, ApiRequest& request, uint32_t vocab_size);
void ReadStops(const Fields& fields, const char* key, ApiRequest& request);
// The limit of an answer in tokens, at least `least`; -1: none. More than the whole context is
// refused.
void ReadMaxTokens(const Fields& fields, const char* key, const RequestDefaults& defaults,
                   ApiRequest& request, uint64_t least = 1);
// The text of `content`: a string, or parts that must all be texts.
std::string ReadContent(const Fields& message, const char* key);

// text, json_object or json_schema; `schema_key` names the schema's field in `format`; null:
// `format` itself is the schema's object.
void ReadFormat(const Fields& format, const char* schema_key, ApiRequest& request);
// A JSON schema as the form of the answer; false if the field is absent.
bool ReadSchema(const Fields& holder, const char* key, ApiRequest& request);
// A grammar in GBNF, as some servers take it.
void ReadGrammar(const Fields& fields, ApiRequest& request);
// Forms in the request itself, as other servers have them: used, or refused by name.
void ReadBareForms(const Fields& fields, ApiRequest& request);
void ReadEffort(const Fields& fields, const char* key, ApiRequest& request);

}  // namespace aster::serve
