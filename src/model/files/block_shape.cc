// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/files/block_shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "gguf/block_file.h"
#include "model/files/support.h"
#include "model/shape/shape_keys.h"
#include "model/shape/write_metadata.h"

namespace aster::model {
namespace {

constexpr std::string_view kArch = gguf::kDrafterArchitecture;
constexpr uint32_t kMostTaps = 64;
constexpr uint32_t kMostBlock = 64;
constexpr uint32_t kMostRank = 1 << 16;
// The window of the drafter's layers that were trained without one.
constexpr uint32_t kMostWindow = 512;

// The keys of the drafter's layers, under the name of their architecture. For DeepSeek V4, keys
// that the drafter lacks are copied from the model.
class LayerKeys {
 public:
  LayerKeys(std::string_view arch, const gguf::Metadata& model) : arch_(arch), model_(model) {}

  Result<Shape> Read(const gguf::Metadata& drafter) {
    Add("general.architecture", gguf::ValueType::kString, AsBytes(arch_));
    const std::string prefix = fmt::format("{}.", kArch);
    for (const gguf::Value& value : drafter) {
      if (!value.key().starts_with(prefix)) continue;
      Add(fmt::format("{}.{}", arch_, value.key().substr(prefix.size())), value);
    }
    if (arch_ == ArchName(Arch::kDeepSeek4)) AddOfModel();
    if (const gguf::Value* tokens = model_.Find("tokenizer.ggml.tokens"))
      Add("tokenizer.ggml.tokens", *tokens);
    return ReadShape(TRY(gguf::Metadata::Of(std::move(values_))));
  }

 private:
  void AddOfModel() {
    const std::string prefix = fmt::format("{}.", arch_);
    for (const std::string_view none : {"hash_layer_count", "nextn_predict_layers"})
      Add(prefix + std::string(none), gguf::ValueType::kUint32, kZero);
    for (const gguf::Value& value : model_) {
      if (!value.key().starts_with(prefix)) continue;
      const std::string_view key = value.key().substr(prefix.size());
      const bool is_per_layer = value.type() == gguf::ValueType::kArray;
      if (!is_per_layer || key == "attention.compress_ratios") Add(std::string(value.key()), value);
    }
  }

  void Add(std::string key, const gguf::Value& value) {
    Add(std::move(key), value.type(), value.payload());
  }
  // Only if the key does not exist yet.
  void Add(std::string key, gguf::ValueType type, Bytes payload) {
    if (!known_.insert(key).second) return;
    names_.push_back(std::move(key));
    values_.emplace_back(names_.back(), type, payload);
  }

  static constexpr std::array<uint8_t, sizeof(uint32_t)> kZero = {};

  const std::string_view arch_;
  const gguf::Metadata& model_;
  std::set<std::string> known_;
  std::deque<std::string> names_;
  std::vector<gguf::Value> values_;
};

Status CheckRatios(const Keys& keys, const Shape& layers) {
  if (!keys.Contains("attention.compress_ratios")) return Ok();
  for (const uint64_t ratio :
       TRY(keys.FirstOfArray("attention.compress_ratios", layers.layer_count))) {
    if (ratio != 0)
      return keys.Unexpected("attention.compress_ratios", fmt::format("{}", ratio), "0");
  }
  return Ok();
}

// Files count the layers from 1.
Result<std::vector<uint32_t>> ReadTaps(const gguf::Metadata& metadata, const Keys& keys,
                                       const Shape& model) {
  auto taps = TRY(metadata.Get<std::vector<uint32_t>>(keys.Full("target_layers")));
  const bool ascend = std::ranges::adjacent_find(taps, std::greater_equal<>()) == taps.end();
  const bool are_there = !taps.empty() && taps.size() <= kMostTaps && taps.front() > 0 &&
                         taps.back() <= model.layer_count;
  if (!ascend || !are_there) {
    return InvalidArgument(
        fmt::format("{} is [{}]; ascending layers of the model, of which there are {}, are needed",
                    keys.Full("target_layers"), fmt::join(taps, ", "), model.layer_count));
  }
  for (uint32_t& tap : taps) --tap;
  return taps;
}

Status ReadBlock(const gguf::Metadata& metadata, const Keys& keys, const Shape& model,
                 BlockShape& shape) {
  shape.block = TRY(keys.Count("block_size", kMostBlock));
  shape.is_about_next = TRY(keys.FlagOr("sample_from_anchor", shape.pair_rank > 0));
  if (shape.drafts() == 0)
    return keys.Unexpected("block_size", fmt::format("{}", shape.block), "a larger one");
  const auto mask = TRY(metadata.Get<uint64_t>("tokenizer.ggml.mask_token_id"));
  if (mask >= model.vocab_size) {
    return DataLoss(fmt::format("tokenizer.ggml.mask_token_id is {} of a vocabulary of {}", mask,
                                model.vocab_size));
  }
  shape.mask = static_cast<int32_t>(mask);
  shape.taps = TRY(ReadTaps(metadata, keys, model));
  return Ok();
}

uint32_t FirstDim(const gguf::ModelFiles& files, std::string_view name, uint32_t most) {
  const gguf::Tensor* const tensor = files.FindTensor(name);
  return tensor == nullptr ? 0 : static_cast<uint32_t>(std::min<uint64_t>(tensor->dims[0], most));
}

// Reads the facts that only tensors say.
void FindWhatSomeHave(const gguf::ModelFiles& files, BlockShape& shape) {
  const auto has = [&](std::string_view name) { return files.FindTensor(name) != nullptr; };
  shape.pair_rank = FirstDim(files, "markov_w1.weight", kMostRank);
  shape.own_vocab = FirstDim(files, kOwnVocabTable, kMaxWidth);
  shape.has_embedding = has("token_embd.weight");
  shape.has_head = has("output.weight");
  shape.has_confidence = shape.pair_rank > 0 && has("conf_proj.weight");
  shape.has_confidence_bias = shape.has_confidence && has("conf_proj.bias");
}

Status CheckTensors(const gguf::ModelFiles& files, const BlockShape& shape) {
  const std::vector<TensorSpec> specs = TensorsOf(shape);
  std::vector<std::string> obstacles = ObstaclesOf(files, specs);
  std::set<std::string_view> known = {kOwnVocabTable};
  for (const TensorSpec& spec : specs) {
    if (const gguf::Tensor* const tensor = FindTensor(files, spec)) known.insert(tensor->name);
  }
  for (const gguf::ModelFiles::Entry& entry : files.entries()) {
    if (known.contains(entry.tensor->name)) continue;
    obstacles.push_back(
        fmt::format("tensor {} is of a kind of drafter that is not supported", entry.tensor->name));
    break;
  }
  if (const gguf::Tensor* const table = files.FindTensor(kOwnVocabTable)) {
    const bool is_table = table->type == gguf::TensorType::kI64 && table->shape().size() == 1;
    if (!is_table || !shape.has_head)
      obstacles.push_back(
          fmt::format("tensor {} needs whole numbers of 64 bits, and a head of "
                      "its own (output.weight) beside it",
                      kOwnVocabTable));
  }
  if (obstacles.empty()) return Ok();
  return Unimplemented(fmt::format("this drafter cannot be run: {}", fmt::join(obstacles, "; ")));
}

}  // namespace

bool HoldsBlockDrafter(const gguf::Metadata& metadata) {
  const auto arch = metadata.GetOr<std::string_view>("general.architecture", "");
  return arch.ok() && *arch == kArch;
}

Status CheckCanHaveDrafter(const Shape& model) {
  if (EmbeddingScaleOf(model) == 1.0f && model.arch != Arch::kDeepSeek41) return Ok();
  return Unimplemented(
      fmt::format("drafters of blocks for {} are not supported", ArchName(model.arch)));
}

// Reads the layers as a model of another architecture, then the block, and checks the tensors.
Result<BlockShape> BlockShapeOf(const gguf::ModelFiles& files, const gguf::Metadata& model_metadata,
                                const Shape& model) {
  const gguf::Metadata& metadata = files.metadata();
  const Keys keys(metadata, kArch);
  TRY(CheckCanHaveDrafter(model));
  const bool has_streams = TRY(keys.NumberOrZero("hyper_connection.count")) > 0;
  if (has_streams != (model.arch == Arch::kDeepSeek4)) {
    return FailedPrecondition(fmt::format(
        "the drafter was made for {}, and the model is of {}",
        has_streams ? ArchName(Arch::kDeepSeek4) : "another architecture", ArchName(model.arch)));
  }
  BlockShape shape;
  const Arch arch = has_streams ? Arch::kDeepSeek4 : Arch::kQwen3;
  shape.layers = TRY(LayerKeys(ArchName(arch), model_metadata).Read(metadata).In("its layers"));
  if (has_streams) {
    TRY(CheckRatios(keys, shape.layers));
    shape.layers.latent.ratios.assign(shape.layers.layer_count, 0);
  } else {
    uint32_t& window = shape.layers.sliding_window;
    window = window == 0 ? kMostWindow : std::min(window, kMostWindow);
  }
  shape.layers.vocab_size = model.vocab_size;
  if (shape.layers.embedding != model.embedding) {
    return FailedPrecondition(
        fmt::format("rows of the drafter have {} numbers and those of the "
                    "model {}: it was made for another model",
                    shape.layers.embedding, model.embedding));
  }
  FindWhatSomeHave(files, shape);
  TRY(ReadBlock(metadata, keys, model, shape));
  TRY(CheckTensors(files, shape));
  return shape;
}

BlockShape PresetDrafterFor(const Shape& model) {
  const bool has_streams = model.arch == Arch::kDeepSeek4;
  BlockShape shape;
  shape.layers = model;
  Shape& layers = shape.layers;
  layers.layer_count = has_streams ? 3 : std::min(model.layer_count, 5U);
  const uint32_t taps = std::min(layers.layer_count, model.layer_count);
  if (has_streams) {
    layers.latent.ratios.assign(layers.layer_count, 0);
    layers.experts.hash_layers = layers.mtp_layers = 0;
    layers.mtp_apart = false;
  } else {
    layers = {.arch = Arch::kQwen3,
              .layer_count = layers.layer_count,
              .context_length = model.context_length,
              .embedding = model.embedding,
              .head_count = model.head_count,
              .kv_head_count = model.kv_head_count,
              .head_dim = model.head_dim,
              .feed_forward = model.experts.count > 0 ? 3 * model.embedding : model.feed_forward,
              .vocab_size = model.vocab_size,
              .norm_epsilon = model.norm_epsilon,
              .rope = {.base = model.rope.base, .dimensions = model.head_dim}};
  }
  // The last layers, or layers at equal distances.
  for (uint32_t i = 0; i < taps; ++i) {
    shape.taps.push_back(has_streams ? model.layer_count - taps + i
                                     : (i + 1) * model.layer_count / taps - 1);
  }
  shape.block = has_streams ? 5 : 7;
  shape.mask = static_cast<int32_t>(model.vocab_size - 1);
  shape.pair_rank = std::min(model.embedding, 256U);
  shape.has_confidence = true;
  return shape;
}

void WriteBlockShape(const BlockShape& shape, gguf::MetadataBuilder& metadata) {
  gguf::MetadataBuilder of_layers;
  WriteShape(shape.layers, of_layers);
  const std::string prefix = fmt::format("{}.", ArchName(shape.layers.arch));
  metadata.Set("general.architecture", kArch);
  for (const std::string& key : of_layers.keys()) {
    if (key.starts_with(prefix))
      metadata.Set(fmt::format("{}.{}", kArch, key.substr(prefix.size())), *of_layers.Find(key));
  }
  std::vector<uint32_t> taps = shape.taps;
  for (uint32_t& tap : taps) ++tap;
  metadata.Set(fmt::format("{}.target_layers", kArch), taps);
  metadata.Set(fmt::format("{}.block_size", kArch), shape.block);
  metadata.Set(fmt::format("{}.sample_from_anchor", kArch), shape.is_about_next);
  metadata.Set("tokenizer.ggml.mask_token_id", static_cast<uint32_t>(shape.mask));
}

std::vector<TensorSpec> TensorsOf(const BlockShape& shape) {
  const uint64_t embedding = shape.layers.embedding;
  const uint64_t vocab = shape.layers.vocab_size;
  const uint64_t drafted = shape.own_vocab > 0 ? shape.own_vocab : vocab;
  std::vector<TensorSpec> specs;
  const auto add = [&](std::string name, std::vector<uint64_t> dims, bool is_matrix) {
    specs.push_back({.name = std::move(name),
                     .dims = std::move(dims),
                     .part = Part::kHead,
                     .is_matrix = is_matrix});
  };
  add("fc.weight", {embedding * shape.taps.size(), embedding}, true);
  add("enc.output_norm.weight", {embedding}, false);
  for (TensorSpec& spec : TensorsOf(shape.layers)) {
    if (spec.name == "token_embd.weight" && !shape.has_embedding) continue;
    if (spec.name == "output.weight" && !shape.has_head) continue;
    if (spec.name == "output.weight") spec.dims = {embedding, drafted};
    specs.push_back(std::move(spec));
  }
  if (shape.pair_rank == 0) return specs;
  add("markov_w1.weight", {shape.pair_rank, vocab}, true);
  specs.back().is_looked_up = true;
  add("markov_w2.weight", {shape.pair_rank, drafted}, true);
  if (shape.has_confidence) add("conf_proj.weight", {embedding + shape.pair_rank, 1}, false);
  if (shape.has_confidence_bias) add("conf_proj.bias", {1}, false);
  return specs;
}

}  // namespace aster::model
