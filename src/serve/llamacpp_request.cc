// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/clock.h"
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

void RefuseUnlessEmpty(const Fields& fields, const char* key) {
  const ordered_json* value = fields.Find(key);
  if (value != nullptr && !value->empty()) fields.Refuse(key, "is not supported; leave it out");
}

// Refuses options that would change a continued text and are not supported.
void RefuseOfTexts(const Fields& fields) {
  RefuseUnlessEmpty(fields, "samplers");
  for (const char* key : {"n_indent", "t_max_predict_ms"}) {
    if (fields.Integer(key, INT32_MIN, INT32_MAX).value_or(0) > 0)
      fields.Refuse(key, "is not supported; leave it out, or at 0");
  }
}

// Editors send these with each gap. n_indent is a hint, which is ignored. The order of samplers is
// always the server's own.
void ReadOfGaps(const Fields& fields, ApiRequest& request) {
  constexpr std::string_view kSamplers[] = {"penalties", "top_k",       "typ_p", "top_p",
                                            "min_p",     "temperature", "infill"};
  const ordered_json* samplers = fields.Array("samplers");
  for (size_t i = 0; samplers != nullptr && i < samplers->size(); ++i) {
    const ordered_json& one = (*samplers)[i];
    const std::string name = one.is_string() ? one.get<std::string>() : "";
    if (std::ranges::find(kSamplers, name) == std::end(kSamplers)) {
      fields.Refuse(fmt::format("samplers[{}]", i),
                    fmt::format("is none of {}", fmt::join(kSamplers, ", ")));
    }
  }
  fields.Integer("n_indent", INT32_MIN, INT32_MAX);
  const auto most_ms = fields.Integer("t_max_predict_ms", INT32_MIN, INT32_MAX);
  if (most_ms && *most_ms > 0) request.line_ns = *most_ms * kNsPerMs;
}

// `least`: of the limit of an answer.
void ReadCommonFields(const Fields& fields, const RequestDefaults& defaults, uint64_t least,
                      ApiRequest& request) {
  ReadLooseSampling(fields, request, defaults);
  ReadLooseLimit(fields, "max_tokens", request, least);
  ReadLooseLimit(fields, "n_predict", request, least);
  RefuseUnlessEmpty(fields, "image_data");
  RefuseUnlessEmpty(fields, "lora");
  if (fields.Bool("post_sampling_probs").value_or(false))
    fields.Refuse("post_sampling_probs", "probabilities are those before sampling; leave it out");
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
  ReadCommonFields(fields, defaults, /*least=*/1, request);
  RefuseOfTexts(fields);
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
  // 0: the next request's prompt, to be computed before it comes.
  ReadCommonFields(fields, defaults, /*least=*/0, request);
  ReadOfGaps(fields, request);
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
