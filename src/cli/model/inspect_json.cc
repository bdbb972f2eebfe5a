// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/model/inspect_report.h"
#include "model/families/shape_deepseek41.h"

namespace aster::cli {
namespace {

using Json = nlohmann::ordered_json;

// Longer arrays (token lists) are shown by their size and their first elements.
constexpr uint64_t kMaxArrayElements = 256;
constexpr uint64_t kShownElements = 8;

Json ValueToJson(const gguf::Value& value);

Json ArrayToJson(const gguf::Array& array) {
  Json elements = Json::array();
  const bool whole = array.size() <= kMaxArrayElements;
  for (const gguf::Value& element : array.First(whole ? array.size() : kShownElements)) {
    elements.push_back(ValueToJson(element));
  }
  if (whole) return elements;
  return {{"size", array.size()}, {"first", std::move(elements)}};
}

template <typename T>
Json Number(const gguf::Value& value) {
  const auto number = value.As<T>();
  return number.ok() ? Json(*number) : Json();
}

Json ValueToJson(const gguf::Value& value) {
  using gguf::ValueType;
  switch (value.type()) {
    case ValueType::kString:
      return std::string(value.As<std::string_view>().value());
    case ValueType::kArray:
      return ArrayToJson(value.As<gguf::Array>().value());
    case ValueType::kBool:
      return Number<bool>(value);
    case ValueType::kFloat32:
    case ValueType::kFloat64:
      return Number<double>(value);
    case ValueType::kUint64:
    case ValueType::kUint32:
    case ValueType::kUint16:
    case ValueType::kUint8:
      return Number<uint64_t>(value);
    default:
      return Number<int64_t>(value);
  }
}

Json MetadataToJson(const gguf::Metadata& metadata) {
  Json json = Json::object();
  for (const gguf::Value& value : metadata) json[std::string(value.key())] = ValueToJson(value);
  return json;
}

Json TotalsToJson(const model::Totals& totals) {
  Json json = {{"tensors", totals.tensor_count},
               {"parameters", totals.parameter_count},
               {"bytes", totals.bytes}};
  if (totals.unknown_count > 0) json["tensors_of_unknown_size"] = totals.unknown_count;
  return json;
}

Json MixToJson(const model::Mix& mix) {
  Json json = TotalsToJson(mix.all);
  json["types"] = Json::object();
  for (const auto& [type, totals] : mix.by_type)
    json["types"][gguf::TensorTypeName(type)] = TotalsToJson(totals);
  return json;
}

Json PartsToJson(const model::Description& description) {
  Json layers = Json::array();
  for (const auto& [layer, mix] : description.layers) {
    Json json = {{"layer", layer}};
    json.update(MixToJson(mix));
    layers.push_back(std::move(json));
  }
  return {{"embedding", MixToJson(description.embedding)},
          {"layers", std::move(layers)},
          {"head", MixToJson(description.head)},
          {"other", MixToJson(description.other)}};
}

Json FilesToJson(const gguf::ModelFiles& files) {
  Json json = Json::array();
  for (const gguf::File& file : files.files()) {
    json.push_back({{"path", file.path()},
                    {"bytes", file.size_bytes()},
                    {"version", file.version()},
                    {"alignment", file.alignment()},
                    {"tensors", file.tensors().size()}});
  }
  return json;
}

Json TensorsToJson(const gguf::ModelFiles& files) {
  Json json = Json::array();
  for (size_t i = 0; i < files.files().size(); ++i) {
    for (const gguf::Tensor& tensor : files.files()[i].tensors()) {
      json.push_back({{"name", tensor.name},
                      {"type", gguf::TensorTypeName(tensor.type)},
                      {"dims", std::vector<uint64_t>(tensor.shape().begin(), tensor.shape().end())},
                      {"bytes", tensor.size_known ? Json(tensor.data.size()) : Json()},
                      {"file", i},
                      {"offset", tensor.offset}});
    }
  }
  return json;
}

void AddLatent(const model::Shape& shape, Json& json) {
  json["streams"] = shape.streams.count;
  json["compress_ratios"] = shape.latent.ratios;
  if (!shape.shares_compressed_rows()) return;
  json["makes_rows"] = shape.latent.makes_rows;
  json["chooses_rows"] = shape.latent.chooses_rows;
  const model::Ngrams& ngrams = *shape.ngrams;
  std::vector<uint64_t> rows;
  for (const uint32_t layer : ngrams.layers) rows.push_back(model::NgramTableRows(ngrams, layer));
  json["ngrams"] = {{"layers", ngrams.layers},
                    {"table_rows", rows},
                    {"length", ngrams.length},
                    {"heads", ngrams.heads},
                    {"dim", ngrams.dim}};
}

Json ShapeToJson(const model::Shape& shape) {
  Json json = {{"embedding", shape.embedding},
               {"heads", shape.head_count},
               {"kv_heads", shape.kv_head_count},
               {"head_dim", shape.head_dim},
               {"feed_forward", shape.feed_forward},
               {"vocab_size", shape.vocab_size},
               {"norm_epsilon", shape.norm_epsilon},
               {"rope_base", shape.rope.base},
               {"rope_dimensions", shape.rope.dimensions},
               {"tied_head", shape.tied_head}};
  if (shape.experts.count > 0) {
    json["experts"] = {{"count", shape.experts.count},
                       {"used", shape.experts.used},
                       {"feed_forward", shape.experts.feed_forward}};
    if (shape.experts.shared > 0) json["experts"]["shared"] = shape.experts.shared;
    if (shape.experts.groups > 1) {
      json["experts"]["groups"] = shape.experts.groups;
      json["experts"]["used_groups"] = shape.experts.used_groups;
    }
    if (shape.experts.dense_layers > 0) json["dense_layers"] = shape.experts.dense_layers;
  }
  if (shape.is_mla()) {
    json["mla"] = {{"query_rank", shape.mla.query_rank},
                   {"row_rank", shape.mla.row_rank},
                   {"key_dim", shape.mla.key_dim},
                   {"value_dim", shape.mla.value_dim}};
  }
  if (shape.is_indexed()) {
    json["index"] = {{"heads", shape.index.heads},
                     {"dim", shape.index.dim},
                     {"top", shape.index.top},
                     {"layers", std::ranges::count(shape.index.own, 1)}};
  }
  if (shape.is_recurrent()) {
    const model::Recurrence& recurrence = shape.recurrence;
    json["states"] = {
        {"heads", recurrence.value_heads}, {"key_heads", recurrence.key_heads},
        {"key_dim", recurrence.key_dim},   {"value_dim", recurrence.value_dim},
        {"convolution", recurrence.taps},  {"attention_every", recurrence.full_every}};
  }
  if (shape.left_out > 0) json["next_layers_left_out"] = shape.left_out;
  if (shape.sliding_window > 0) json["sliding_window"] = shape.sliding_window;
  if (shape.full_every > 0) json["full_every"] = shape.full_every;
  if (shape.has_window_rope()) json["window_rope_base"] = shape.window_rope.base;
  if (shape.is_gemma()) json["attention_scale"] = shape.attention_scale;
  if (shape.attention_cap > 0) json["attention_cap"] = shape.attention_cap;
  if (shape.is_gemma4()) {
    const model::LayerKinds& kinds = shape.kinds;
    json["window_head_dim"] = kinds.window_head_dim;
    json["window_kv_heads"] = kinds.window_kv_heads;
    json["keys_are_values"] = kinds.keys_are_values;
    json["layers_sharing_kv"] = kinds.sharing;
    if (kinds.sharing > 0) json["sharing_feed_forward"] = kinds.sharing_feed_forward;
    json["layer_input"] = kinds.input;
  }
  if (shape.is_mimo2()) {
    json["window_kv_heads"] = shape.kinds.window_kv_heads;
    json["value_dim"] = shape.kinds.value_dim;
    json["value_scale"] = shape.kinds.value_scale;
  }
  if (shape.temperature > 0) json["temperature_scale"] = shape.temperature;
  if (shape.logit_cap > 0) json["logit_cap"] = shape.logit_cap;
  if (shape.is_latent()) AddLatent(shape, json);
  if (model::CanDraftWithMtp(shape)) json["next_layers"] = shape.mtp_layers;
  return json;
}

// A string of the metadata, or null.
Json TextOf(const gguf::Metadata& metadata, std::string_view key) {
  const auto text = metadata.Get<std::string>(key);
  return text.ok() ? Json(*text) : Json();
}

Json NumberOrNull(const std::optional<uint64_t>& number) { return number ? Json(*number) : Json(); }

Json TokenizerToJson(const gguf::Metadata& metadata) {
  if (!metadata.Contains("tokenizer.ggml.model")) return nullptr;
  Json json = {{"model", TextOf(metadata, "tokenizer.ggml.model")},
               {"pre", TextOf(metadata, "tokenizer.ggml.pre")}};
  const auto tokens = metadata.Get<gguf::Array>("tokenizer.ggml.tokens");
  json["tokens"] = tokens.ok() ? tokens->size() : 0;
  for (const char* id : {"bos", "eos"}) {
    const auto value = metadata.Get<uint64_t>(fmt::format("tokenizer.ggml.{}_token_id", id));
    json[fmt::format("{}_id", id)] = value.ok() ? Json(*value) : Json();
  }
  return json;
}

}  // namespace

Json ReportToJson(const InspectReport& report) {
  const gguf::Metadata& metadata = report.files->metadata();
  Json json = {{"files", FilesToJson(*report.files)},
               {"name", TextOf(metadata, "general.name")},
               {"architecture", report.description.architecture},
               {"layers", NumberOrNull(report.description.layer_count)},
               {"supported", report.support.ok()},
               {"obstacles", report.support.obstacles},
               {"missing", report.missing_parts}};
  json.update(TotalsToJson(report.description.whole.all));
  json["bits_per_parameter"] = report.description.whole.all.BitsPerParameter();
  json["types"] = MixToJson(report.description.whole)["types"];
  json["parts"] = PartsToJson(report.description);
  json["shape"] = report.support.shape ? ShapeToJson(*report.support.shape) : Json();
  json["context_length"] = NumberOrNull(report.description.context_length);
  json["tokenizer"] = TokenizerToJson(metadata);
  json["chat_template"] = TextOf(metadata, "tokenizer.chat_template");
  json["chat_template_problem"] = report.template_problem ? Json(*report.template_problem) : Json();
  if (report.fingerprint) json["fingerprint"] = *report.fingerprint;
  if (const auto& drafter = report.files->drafter()) {
    json["drafter"] = {
        {"files", FilesToJson(*drafter)},
        {"problem", report.drafter_problem ? Json(*report.drafter_problem) : Json()}};
  }
  if (report.list_metadata) json["metadata"] = MetadataToJson(metadata);
  if (report.list_tensors) json["tensor_list"] = TensorsToJson(*report.files);
  return json;
}

}  // namespace aster::cli
