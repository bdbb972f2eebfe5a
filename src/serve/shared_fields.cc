// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/shared_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/random.h"
#include "engine/stops.h"
#include "grammar/gbnf.h"
#include "grammar/json_schema.h"

namespace aster::serve {
namespace {

using nlohmann::ordered_json;

constexpr double kForbidden = -100;  // OpenAI's value for a ban

// With a form, the answer has no reasoning before it.
void SetForm(std::shared_ptr<const grammar::Grammar> form, std::string field, ApiRequest& request) {
  request.form = std::move(form);
  request.form_field = std::move(field);
  SetReasoning(false, request);
}

// Samplers of other servers that are not supported: refused if they could choose another token.
// `off`: the value without an effect.
void RefuseOtherSamplers(const Fields& fields) {
  constexpr std::pair<const char*, double> kOthers[] = {
      {"mirostat", 0}, {"dynatemp_range", 0},  {"dry_multiplier", 0},
      {"tfs_z", 1},    {"xtc_probability", 0}, {"top_a", 0}};
  for (const auto& [key, off] : kOthers) {
    const auto value = fields.Number(key, -1e9, 1e9);
    if (value && *value != off)
      fields.Refuse(key, fmt::format("this sampler is not supported; leave it out, or at {}", off));
  }
  const auto sigma = fields.Number("top_n_sigma", -1e9, 1e9);
  if (sigma && *sigma > 0)
    fields.Refuse("top_n_sigma", "this sampler is not supported; leave it out, or at -1");
}

// The window of penalties in llama.cpp and Ollama: 0: no penalties, -1: the whole text.
void ReadPenaltyWindow(const Fields& fields, engine::SamplingOptions& sampling) {
  const auto window = fields.Integer("repeat_last_n", -1, INT32_MAX);
  if (!window) return;
  sampling.penalty_window = *window < 0 ? 0 : static_cast<uint32_t>(*window);
  if (*window != 0) return;
  sampling.repetition_penalty = 1;
  sampling.presence_penalty = 0;
  sampling.frequency_penalty = 0;
}

}  // namespace

void ReadSampling(const Fields& fields, ApiRequest& request, const RequestDefaults& defaults) {
  engine::SamplingOptions& sampling = request.sampling;
  sampling = defaults.sampling;
  const auto take = [&](const char* key, double low, double high, float& value) {
    if (const auto number = fields.Number(key, low, high)) value = static_cast<float>(*number);
  };
  take("temperature", 0, 2, sampling.temperature);
  take("top_p", 0, 1, sampling.top_p);
  take("min_p", 0, 1, sampling.min_p);
  take("typical_p", 0, 1, sampling.typical_p);
  take("repetition_penalty", 0.01, 100, sampling.repetition_penalty);
  take("repeat_penalty", 0.01, 100, sampling.repetition_penalty);
  take("presence_penalty", -2, 2, sampling.presence_penalty);
  take("frequency_penalty", -2, 2, sampling.frequency_penalty);
  // 0 keeps only the most likely token.
  if (sampling.top_p == 0) sampling.top_p = std::numeric_limits<float>::min();
  if (sampling.typical_p == 0) sampling.typical_p = std::numeric_limits<float>::min();
  // -1 means all in some APIs.
  if (const auto k = fields.Integer("top_k", -1, INT32_MAX)) {
    sampling.top_k = *k < 0 ? 0 : static_cast<uint32_t>(*k);
  }
  // OpenAI's penalties count the whole text.
  if (sampling.presence_penalty != 0 || sampling.frequency_penalty != 0)
    sampling.penalty_window = 0;
  ReadPenaltyWindow(fields, sampling);
  RefuseOtherSamplers(fields);
  const auto seed = fields.Integer("seed", INT64_MIN, INT64_MAX);
  sampling.seed = seed ? static_cast<uint64_t>(*seed) : SystemSeed() >> 11;
  request.max_tokens = defaults.max_tokens;
  request.ignores_end = fields.Bool("ignore_eos").value_or(false);
}

void ReadLooseSampling(const Fields& fields, ApiRequest& request, const RequestDefaults& defaults) {
  ReadSampling(fields, request, defaults);
  if (fields.Integer("seed", INT64_MIN, INT64_MAX).value_or(0) == -1)
    request.sampling.seed = SystemSeed() >> 11;
}

void ReadLooseLimit(const Fields& fields, const char* key, ApiRequest& request, uint64_t least) {
  const auto most = fields.Integer(key, -2, INT64_MAX);
  if (!most || *most < 0) return;
  request.max_tokens = static_cast<uint64_t>(*most);
  if (request.max_tokens < least) fields.Refuse(key, "give at least 1, or -1 for no limit");
}

void ReadPrompts(const Fields& fields, const RequestDefaults& defaults, ApiRequest& request) {
  request.prompt_field = "prompt";
  const ordered_json* prompt = fields.Find("prompt");
  const auto take_ids = [&](const ordered_json& list) {
    RawPrompt raw;
    for (const ordered_json& id : list) {
      const bool is_id = id.is_number_unsigned() && id.get<uint64_t>() < defaults.vocab_size;
      if (!is_id) return fields.Refuse("prompt", "a token that this model does not have");
      raw.ids.push_back(id.get<int32_t>());
    }
    request.raw.push_back(std::move(raw));
  };
  if (prompt != nullptr && prompt->is_string()) {
    request.raw.push_back({.text = prompt->get<std::string>(), .ids = {}});
  } else if (prompt != nullptr && prompt->is_array() && !prompt->empty() &&
             (*prompt)[0].is_number()) {
    take_ids(*prompt);
  } else if (prompt != nullptr && prompt->is_array() && !prompt->empty() &&
             prompt->size() <= kMaxChoices) {
    for (const ordered_json& one : *prompt) {
      if (one.is_string()) {
        request.raw.push_back({.text = one.get<std::string>(), .ids = {}});
      } else if (one.is_array() && !one.empty()) {
        take_ids(one);
      } else {
        fields.Refuse("prompt", "give texts or lists of tokens");
      }
    }
  } else {
    fields.Refuse("prompt",
                  fmt::format("give a text, tokens, or a list of at most {} of them", kMaxChoices));
  }
}

void ReadBiases(const Fields& fields, ApiRequest& request, uint32_t vocab_size) {
  const ordered_json* biases = fields.Object("logit_bias");
  if (biases == nullptr) return;
  for (const auto& [key, value] : biases->items()) {
    int32_t id = -1;
    const auto parsed = std::from_chars(key.data(), key.data() + key.size(), id);
    const bool is_id = parsed.ec == std::errc() && parsed.ptr == key.data() + key.size() &&
                       id >= 0 && static_cast<uint32_t>(id) < vocab_size;
    if (!is_id)
      return fields.Refuse("logit_bias", fmt::format("\"{}\" is no token of this model", key));
    const double bias = value.is_number() ? value.get<double>() : 1000;
    if (!(bias >= -100 && bias <= 100)) {
      return fields.Refuse("logit_bias", "give numbers from -100 to 100");
    }
    request.sampling.biases.push_back({.id = id,
                                       .bias = bias <= kForbidden
                                                   ? -std::numeric_limits<float>::infinity()
                                                   : static_cast<float>(bias)});
  }
}

void ReadMaxTokens(const Fields& fields, const char* key, const RequestDefaults& defaults,
                   ApiRequest& request, uint64_t least) {
  const auto most = fields.Integer(key, -1, INT64_MAX);
  // -1 means no limit in some APIs.
  if (!most || *most < 0) return;
  request.max_tokens = static_cast<uint64_t>(*most);
  if (request.max_tokens < least)
    return fields.Refuse(key, "give a number of at least 1, or -1 for no limit");
  if (defaults.context_limit == 0 || request.max_tokens <= defaults.context_limit) return;
  const std::string path = fields.PathOf(key);
  fields.problem().Set(400, path,
                       fmt::format("{}: prompt and answer have to fit into {} tokens together",
                                   path, defaults.context_limit),
                       "context_length_exceeded");
}

void ReadStops(const Fields& fields, const char* key, ApiRequest& request) {
  const ordered_json* stop = fields.Find(key);
  if (stop == nullptr) return;
  if (stop->is_string()) {
    request.stops.push_back(stop->get<std::string>());
  } else if (stop->is_array()) {
    for (const ordered_json& text : *stop) {
      if (!text.is_string()) return fields.Refuse(key, "give texts");
      request.stops.push_back(text.get<std::string>());
    }
  } else {
    return fields.Refuse(key, "give a text or a list of texts");
  }
  std::erase(request.stops, "");
  const Status status = engine::CheckStopStrings(request.stops);
  if (!status.ok()) fields.Refuse(key, status.error().message());
}

std::string ReadContent(const Fields& message, const char* key) {
  const ordered_json* content = message.Find(key);
  if (content == nullptr) return "";
  if (content->is_string()) return content->get<std::string>();
  if (!content->is_array()) {
    message.Refuse(key, "give a text or a list of parts");
    return "";
  }
  std::string text;
  for (size_t i = 0; i < content->size(); ++i) {
    const ordered_json& part = (*content)[i];
    const std::string path = message.PathOf(fmt::format("{}[{}]", key, i));
    if (!part.is_object()) {
      message.problem().Set(400, path, path + ": give an object");
      return "";
    }
    const Fields fields(part, message.problem(), path + ".");
    const std::string type = fields.String("type").value_or("");
    const bool is_refusal = type == "refusal";
    if (!is_refusal && type != "text" && type != "input_text" && type != "output_text") {
      fields.Refuse("type", fmt::format("this model reads texts, not \"{}\"", type));
      return "";
    }
    const auto piece = fields.String(is_refusal ? "refusal" : "text");
    if (!piece) fields.Refuse("text", "is missing");
    text += piece.value_or("");
  }
  return text;
}

bool ReadSchema(const Fields& holder, const char* key, ApiRequest& request) {
  const ordered_json* schema = holder.Find(key);
  if (schema == nullptr) return false;
  if (request.form != nullptr) {
    holder.Refuse(key, "not together with another form of answers");
    return true;
  }
  auto made = grammar::JsonSchemaGrammar(*schema);
  if (!made.ok()) {
    holder.Refuse(key, made.error().message());
    return true;
  }
  SetForm(*std::move(made), holder.PathOf(key), request);
  return true;
}

void ReadFormat(const Fields& format, const char* schema_key, ApiRequest& request) {
  const auto type = format.String("type");
  if (!type) return format.Refuse("type", "is missing");
  if (*type == "text") return;
  if (*type == "json_object") {
    // Some servers take a schema beside this type.
    if (ReadSchema(format, "schema", request)) return;
    SetForm(grammar::JsonObjectGrammar(), format.PathOf("type"), request);
  } else if (*type == "json_schema") {
    // Others have it without an object around it.
    const bool is_inside = schema_key != nullptr && format.Find("schema") == nullptr;
    const ordered_json* inside = is_inside ? format.Object(schema_key) : &format.json();
    if (inside == nullptr) return format.Refuse(schema_key, "is missing");
    const Fields holder(*inside, format.problem(),
                        is_inside ? format.PathOf(schema_key) + "." : format.PathOf(""));
    if (!ReadSchema(holder, "schema", request)) holder.Refuse("schema", "is missing");
  } else {
    format.Refuse("type", "is none of text, json_object, json_schema");
  }
}

void ReadBareForms(const Fields& fields, ApiRequest& request) {
  ReadSchema(fields, "json_schema", request);
  ReadSchema(fields, "guided_json", request);
  ReadGrammar(fields, request);
  for (const char* key :
       {"guided_regex", "guided_choice", "guided_grammar", "structured_outputs"}) {
    if (fields.Find(key) != nullptr)
      fields.Refuse(key, "is not supported; give a JSON schema as response_format, or a grammar");
  }
}

void ReadGrammar(const Fields& fields, ApiRequest& request) {
  const auto text = fields.String("grammar");
  if (!text || text->empty()) return;
  auto grammar = grammar::ParseGbnf(*text);
  if (!grammar.ok()) return fields.Refuse("grammar", grammar.error().message());
  if (request.form != nullptr) {
    return fields.Refuse("grammar", "not together with another form of answers");
  }
  request.form = *std::move(grammar);
  request.form_field = "grammar";
}

void ReadEffort(const Fields& fields, const char* key, ApiRequest& request) {
  const auto effort = fields.String(key);
  if (!effort) return;
  constexpr std::string_view kEfforts[] = {"none", "minimal", "low", "medium",
                                           "high", "xhigh",   "max"};
  if (std::ranges::find(kEfforts, *effort) == std::end(kEfforts)) {
    return fields.Refuse(key, fmt::format("is none of {}", fmt::join(kEfforts, ", ")));
  }
  const bool reasons = *effort != "none" && *effort != "minimal";
  SetReasoning(reasons, request);
  if (reasons) request.variables["reasoning_effort"] = *effort;
}

}  // namespace aster::serve
