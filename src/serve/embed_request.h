// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Requests for embeddings in the APIs of OpenAI, Ollama and llama.cpp, and the replies of each.
// Must not know how embeddings are computed.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "serve/problem.h"

namespace aster::serve {

// A text, or its tokens if there are any.
struct TextToEmbed {
  std::string text;
  std::vector<int32_t> ids = {};
};

enum class EmbedKind : uint8_t {
  kOpenAi,
  kOllama,
  kOldOllama,  // one text, not normalised
  kLlama,
};

struct EmbedRequest {
  EmbedKind kind = EmbedKind::kOpenAi;
  std::vector<TextToEmbed> texts = {};
  std::string field = "input";  // the field with the texts
  size_t dimensions = 0;        // 0: all
  bool is_normalised = true;
  bool is_base64 = false;
  bool cuts_long_texts = false;  // false: refuses them
  std::string user = {};
};

struct EmbedLimits {
  uint32_t vocab_size = 0;
  uint64_t width = 0;  // numbers in an embedding
};

EmbedRequest ReadEmbedRequest(EmbedKind kind, const nlohmann::ordered_json& body,
                              const EmbedLimits& limits, Problem& problem);

struct Embeddings {
  std::vector<std::vector<float>> vectors;
  std::string model;  // as the client called it
  uint64_t prompt_tokens = 0;
  int64_t ns = 0;
};

nlohmann::ordered_json EmbeddingsJson(const EmbedRequest& request, const Embeddings& embeddings);

// The numbers as little-endian bytes, in base64.
std::string Base64Of(std::span<const float> numbers);

}  // namespace aster::serve
