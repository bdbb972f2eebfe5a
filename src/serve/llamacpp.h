// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The dialect of llama.cpp's server: texts and tokens to continue, gaps to fill, and its clients'
// requests about a server. Must not know how answers are made.
#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "serve/api_request.h"
#include "serve/model_facts.h"
#include "serve/problem.h"
#include "serve/reply_writer.h"

namespace aster::serve {

// POST /completion
ApiRequest ReadLlamaCompletion(const nlohmann::ordered_json& body, const RequestDefaults& defaults,
                               Problem& problem);
// POST /infill
ApiRequest ReadInfill(const nlohmann::ordered_json& body, const RequestDefaults& defaults,
                      Problem& problem);
// The tokens of POST /detokenize.
std::vector<int32_t> ReadTokens(const nlohmann::ordered_json& body, uint32_t vocab_size,
                                Problem& problem);

std::unique_ptr<ReplyWriter> MakeLlamaWriter(ReplyFrame frame, const ApiRequest& request);

// GET /props
nlohmann::ordered_json PropsJson(const std::string& name, const ModelFacts& facts,
                                 const RequestDefaults& defaults, const std::string& version);
// GET /slots: one for each answer at once; the first `running` are busy.
nlohmann::ordered_json SlotsJson(size_t slots, size_t running, uint32_t context_limit, bool drafts);

}  // namespace aster::serve
