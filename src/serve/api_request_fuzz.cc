// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// In every dialect, any body gives a request within bounds, or a problem with a message.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/utf8.h"
#include "serve/anthropic.h"
#include "serve/llamacpp.h"
#include "serve/ollama.h"
#include "serve/openai_request.h"
#include "serve/responses.h"

namespace {

using aster::serve::ApiRequest;
using aster::serve::Problem;
using nlohmann::ordered_json;

constexpr aster::serve::RequestDefaults kDefaults = {
    .sampling = {}, .vocab_size = 512, .context_limit = 4096};

void CheckApiRequest(const ApiRequest& request) {
  CHECK(request.choices >= 1 && request.choices <= aster::serve::kMaxChoices);
  // Of texts and gaps the prompt alone may be computed.
  CHECK(request.max_tokens >= 1 || !request.raw.empty());
  CHECK(request.raw.empty() != request.messages.empty());
  for (const auto& raw : request.raw) {
    for (const int32_t id : raw.ids)
      CHECK(id >= 0 && static_cast<uint32_t>(id) < kDefaults.vocab_size);
  }
  for (const ordered_json& message : request.messages) CHECK(message["role"].is_string());
  if (!request.tools.is_null()) {
    for (const ordered_json& tool : request.tools) CHECK(tool["function"]["name"].is_string());
  }
  for (const auto& bias : request.sampling.biases)
    CHECK(bias.id >= 0 && static_cast<uint32_t>(bias.id) < kDefaults.vocab_size);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  Problem problem;
  const ordered_json body = aster::serve::ParseBody(text, problem);
  ApiRequest request;
  if (!problem.any()) {
    switch (data[0] % 9) {
      case 0:
        request = ReadChatRequest(body, kDefaults, problem);
        break;
      case 1:
        request = ReadCompletionRequest(body, kDefaults, problem);
        break;
      case 2:
        request = ReadMessagesRequest(body, kDefaults, /*only_counts=*/false, problem);
        break;
      case 3:
        request = ReadMessagesRequest(body, kDefaults, /*only_counts=*/true, problem);
        break;
      case 4:
        request = ReadResponsesRequest(body, kDefaults, problem);
        break;
      case 5:
        request = ReadOllamaChat(body, kDefaults, problem);
        break;
      case 6:
        request = ReadOllamaGenerate(body, kDefaults, problem);
        break;
      case 7:
        request = ReadLlamaCompletion(body, kDefaults, problem);
        break;
      default:
        request = ReadInfill(body, kDefaults, problem);
        break;
    }
  }
  if (!problem.any()) {
    // Ollama's clients send an empty request to load a model.
    const bool is_ollama = data[0] % 9 == 5 || data[0] % 9 == 6;
    if (!is_ollama || !IsEmptyRequest(request)) CheckApiRequest(request);
    return 0;
  }
  CHECK(problem.status >= 400 && !problem.message.empty());
  CHECK(aster::IsValidUtf8(problem.message) && aster::IsValidUtf8(problem.param));
  return 0;
}
