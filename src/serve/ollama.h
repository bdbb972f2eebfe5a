// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Ollama's dialect: requests with options in an object of their own, and answers as lines of JSON.
// Must not know how answers are made.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "serve/api_request.h"
#include "serve/model_facts.h"
#include "serve/problem.h"
#include "serve/reply_writer.h"

namespace aster::serve {

// POST /api/chat and /api/generate. Programs load a model by a request without messages or a
// prompt, which needs no answer.
ApiRequest ReadOllamaChat(const nlohmann::ordered_json& body, const RequestDefaults& defaults,
                          Problem& problem);
ApiRequest ReadOllamaGenerate(const nlohmann::ordered_json& body, const RequestDefaults& defaults,
                              Problem& problem);
inline bool IsEmptyRequest(const ApiRequest& request) {
  return request.messages.empty() && request.raw.empty();
}

enum class OllamaKind : uint8_t { kChat, kGenerate };
std::unique_ptr<ReplyWriter> MakeOllamaWriter(ReplyFrame frame, const ApiRequest& request,
                                              OllamaKind kind);
// The reply to a request that loads a model.
nlohmann::ordered_json OllamaLoadedJson(const ReplyFrame& frame, OllamaKind kind);

// A model in a list: "nova:latest" with size, digest and details.
nlohmann::ordered_json OllamaModelJson(const std::string& name, const ModelFacts& facts);
// The reply of POST /api/show.
nlohmann::ordered_json OllamaShowJson(const ModelFacts& facts, bool has_tools, bool reasons,
                                      bool fills_gaps);

}  // namespace aster::serve
