// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <fmt/format.h>

#include <limits>

#include "serve/llamacpp.h"
#include "serve/shared_fields.h"

namespace aster::serve {
namespace {

using nlohmann::ordered_json;

// [[15043, 1.0], [2, false]]: false forbids a token. Objects are read as in OpenAI's API.
void ReadBiasPairs(const Fields& fields, const RequestDefaults& defaults, ApiRequest& request) {
  const ordered_json* biases = fields.Find("logit_bias");
  if (biases == nullptr || !biases->is_array())
    return ReadBiases(fields, request, defaults.vocab_size);
  for (const ordered_json& pair : *biases) {
    const bool is_pair = pair.is_array() && pair.size() == 2 && pair[0].is_number_unsigned() &&
                         pair[0].get<uint64_t>() < defaults.vocab_size &&
                         (pair[1].is_number() || pair[1] == false);
    if (!is_pair)
      return fields.Refuse("logit_bias",
                           "give pairs of a token of this model, and a number or false");
    request.sampling.biases.push_back({.id = pair[0].get<int32_t>(),
                                       .bias = pair[1].is_number()
                                                   ? pair[1].get<float>()
                                                   : -std::numeric_limits<float>::infinity()});
  }
}

// Refuses options that would change the answer and are not supported.
void RefuseOthers(const Fields& fields) {
  for (const char* key : {"image_data", "lora", "samplers"}) {
    const ordered_json* value = fields.Find(key);
    if (value != nullptr && !value->empty()) fields.Refuse(key, "is not supported; leave it out");
  }
  if (fields.Bool("post_sampling_probs").value_or(false))
    fields.Refuse("post_sampling_probs", "probabilities are those before sampling; leave it out");
  for (const char* key : {"n_indent", "t_max_predict_ms"}) {
    if (fields.Integer(key, INT32_MIN, INT32_MAX).value_or(0) > 0)
      fields.Refuse(key, "is not supported; leave it out, or at 0");
  }
}

void ReadCommonFields(const Fields& fields, const RequestDefaults& defaults, ApiRequest& request) {
  ReadLooseSampling(fields, request, defaults);
  ReadLooseLimit(fields, "max_tokens", request);
  ReadLooseLimit(fields, "n_predict", request);
  RefuseOthers(fields);
  ReadStops(fields, "stop", request);
  ReadBiasPairs(fields, defaults, request);
  ReadBareForms(fields, request);
  request.streams = fields.Bool("stream").value_or(false);
  request.wants_progress = fields.Bool("return_progress").value_or(false);
  if (const auto top = fields.Integer("n_probs", 0, kMaxTopLogprobs); top && *top > 0) {
    request.sampling.logprobs = true;
    request.sampling.top_logprobs = static_cast<uint32_t>(*top);
  }
  // Log-probabilities include ids.
  request.wants_tokens = fields.Bool("return_tokens").value_or(false);
  request.sampling.logprobs |= request.wants_tokens;
}

void ReadOtherFiles(const Fields& fields, RawPrompt& raw) {
  const ordered_json* files = fields.Array("input_extra");
  for (size_t i = 0; files != nullptr && i < files->size(); ++i) {
    const std::string path = fmt::format("input_extra[{}]", i);
    if (!(*files)[i].is_object()) return fields.Refuse(path, "give an object");
    const Fields file((*files)[i], fields.problem(), path + ".");
    const auto text = file.String("text");
    if (!text) return file.Refuse("text", "is missing");
    raw.others.push_back({.name = file.String("filename").value_or("tmp"), .text = *text});
  }
}

}  // namespace

ApiRequest ReadLlamaCompletion(const ordered_json& body, const RequestDefaults& defaults,
                               Problem& problem) {
  const Fields fields(body, problem);
  ApiRequest request;
  ReadPrompts(fields, defaults, request);
  ReadCommonFields(fields, defaults, request);
  if (request.raw.size() > 1 && request.streams)
    fields.Refuse("prompt", "a stream is of one prompt; send a request for each");
  return request;
}

ApiRequest ReadInfill(const ordered_json& body, const RequestDefaults& defaults, Problem& problem) {
  const Fields fields(body, problem);
  ApiRequest request;
  request.prompt_field = "input_prefix";
  RawPrompt raw{.text = fields.String("input_prefix").value_or(""),
                .suffix = fields.String("input_suffix").value_or(""),
                .middle = fields.String("prompt").value_or("")};
  if (fields.Find("input_prefix") == nullptr) fields.Refuse("input_prefix", "is missing");
  if (fields.Find("input_suffix") == nullptr) fields.Refuse("input_suffix", "is missing");
  ReadOtherFiles(fields, raw);
  request.raw.push_back(std::move(raw));
  ReadCommonFields(fields, defaults, request);
  return request;
}

std::vector<int32_t> ReadTokens(const ordered_json& body, uint32_t vocab_size, Problem& problem) {
  const Fields fields(body, problem);
  std::vector<int32_t> tokens;
  const ordered_json* list = fields.Array("tokens");
  if (list == nullptr) {
    fields.Refuse("tokens", "is missing");
    return tokens;
  }
  for (const ordered_json& id : *list) {
    const bool is_id = id.is_number_unsigned() && id.get<uint64_t>() < vocab_size;
    if (!is_id) {
      fields.Refuse("tokens", "give ids of tokens that this model has");
      return {};
    }
    tokens.push_back(id.get<int32_t>());
  }
  return tokens;
}

}  // namespace aster::serve
