// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/embed_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>

namespace aster::serve {
namespace {

using nlohmann::ordered_json;

// The most texts of one request, as in OpenAI's API.
constexpr size_t kMaxTexts = 2048;

// Reads the texts of a field; problems name the one.
class TextReader {
 public:
  TextReader(const Fields& fields, const EmbedLimits& limits, EmbedRequest& request)
      : fields_(fields), limits_(limits), request_(request) {}

  void Read() const {
    const ordered_json* const input = fields_.Find(request_.field.c_str());
    // Ollama's clients load a model by an empty request.
    const bool may_be_empty =
        request_.kind == EmbedKind::kOllama || request_.kind == EmbedKind::kOldOllama;
    if (may_be_empty && (input == nullptr || *input == "")) return;
    if (input == nullptr) return fields_.Refuse(request_.field, "is missing");
    const bool is_list = input->is_array() && !(!input->empty() && input->front().is_number());
    if (!is_list) return ReadOne(*input, request_.field);
    if (input->size() > kMaxTexts)
      return fields_.Refuse(request_.field,
                            fmt::format("give at most {} texts at once", kMaxTexts));
    if (input->empty() && !may_be_empty)
      return fields_.Refuse(request_.field, "give at least one text");
    for (size_t i = 0; i < input->size() && !fields_.problem().any(); ++i)
      ReadOne((*input)[i], fmt::format("{}[{}]", request_.field, i));
  }

 private:
  void ReadOne(const ordered_json& one, const std::string& place) const {
    if (one.is_string()) {
      request_.texts.push_back({.text = one.get<std::string>()});
      if (request_.texts.back().text.empty()) fields_.Refuse(place, "is empty: give some text");
    } else if (one.is_array() && !one.empty()) {
      ReadIds(one, place);
    } else {
      fields_.Refuse(place, "give a text, tokens, or a list of them");
    }
  }

  void ReadIds(const ordered_json& list, const std::string& place) const {
    TextToEmbed text;
    for (const ordered_json& id : list) {
      const bool is_id = id.is_number_unsigned() && id.get<uint64_t>() < limits_.vocab_size;
      if (!is_id) return fields_.Refuse(place, "a token that this model does not have");
      text.ids.push_back(id.get<int32_t>());
    }
    request_.texts.push_back(std::move(text));
  }

  const Fields& fields_;
  const EmbedLimits& limits_;
  EmbedRequest& request_;
};

void ReadEncoding(const Fields& fields, EmbedRequest& request) {
  const std::string encoding = fields.String("encoding_format").value_or("float");
  request.is_base64 = encoding == "base64";
  if (!request.is_base64 && encoding != "float")
    fields.Refuse("encoding_format", "is none of float, base64");
}

// llama.cpp's values of normalisation: by the length, or none.
void ReadNorm(const Fields& fields, EmbedRequest& request) {
  const auto norm = fields.Integer("embd_normalize", -1, INT32_MAX);
  if (norm && *norm != 2 && *norm != -1)
    fields.Refuse("embd_normalize", "give 2 for the length 1, or -1 for the model's own numbers");
  request.is_normalised = norm.value_or(2) == 2;
}

ordered_json NumbersOf(const EmbedRequest& request, const std::vector<float>& vector) {
  if (request.is_base64) return Base64Of(vector);
  return vector;
}

}  // namespace

EmbedRequest ReadEmbedRequest(EmbedKind kind, const ordered_json& body, const EmbedLimits& limits,
                              Problem& problem) {
  const Fields fields(body, problem);
  EmbedRequest request{.kind = kind};
  if (kind == EmbedKind::kOldOllama) request.field = "prompt";
  if (kind == EmbedKind::kLlama && fields.Find("content") != nullptr) request.field = "content";
  TextReader(fields, limits, request).Read();
  const auto dimensions = fields.Integer("dimensions", 1, static_cast<int64_t>(limits.width));
  request.dimensions = static_cast<size_t>(dimensions.value_or(0));
  if (kind == EmbedKind::kOpenAi || kind == EmbedKind::kLlama) ReadEncoding(fields, request);
  if (kind == EmbedKind::kLlama) ReadNorm(fields, request);
  if (kind == EmbedKind::kOllama) request.cuts_long_texts = fields.Bool("truncate").value_or(true);
  if (kind == EmbedKind::kOldOllama) {
    request.cuts_long_texts = true;
    request.is_normalised = false;
  }
  request.user = fields.String("user").value_or("");
  return request;
}

ordered_json EmbeddingsJson(const EmbedRequest& request, const Embeddings& embeddings) {
  ordered_json list = ordered_json::array();
  for (size_t i = 0; i < embeddings.vectors.size(); ++i) {
    ordered_json numbers = NumbersOf(request, embeddings.vectors[i]);
    if (request.kind == EmbedKind::kOpenAi) {
      list.push_back({{"object", "embedding"}, {"index", i}, {"embedding", std::move(numbers)}});
    } else if (request.kind == EmbedKind::kLlama) {
      // A list of one: models that do not pool would have one for each token.
      list.push_back({{"index", i}, {"embedding", ordered_json::array({std::move(numbers)})}});
    } else {
      list.push_back(std::move(numbers));
    }
  }
  const uint64_t tokens = embeddings.prompt_tokens;
  switch (request.kind) {
    case EmbedKind::kOpenAi:
      return {{"object", "list"},
              {"data", std::move(list)},
              {"model", embeddings.model},
              {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}};
    case EmbedKind::kOllama:
      return {{"model", embeddings.model},
              {"embeddings", std::move(list)},
              {"total_duration", embeddings.ns},
              {"load_duration", 0},
              {"prompt_eval_count", tokens}};
    case EmbedKind::kOldOllama:
      return {{"embedding", list.empty() ? ordered_json::array() : list.front()}};
    case EmbedKind::kLlama:
      break;
  }
  return list;
}

std::string Base64Of(std::span<const float> numbers) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  for (const float number : numbers) {
    const auto bits = std::bit_cast<uint32_t>(number);
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(bits >> shift & 0xFF);
  }
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](size_t at) -> uint32_t {
      return at < bytes.size() ? static_cast<uint8_t>(bytes[at]) : 0;
    };
    const uint32_t group = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    for (int shift = 18; shift >= 0; shift -= 6) text += kDigits[group >> shift & 63];
  }
  // The bytes missing in the last group of three.
  const size_t missing = (3 - bytes.size() % 3) % 3;
  return text.replace(text.size() - missing, missing, missing, '=');
}

}  // namespace aster::serve
