// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/files/support.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "base/similar.h"
#include "gguf/types.h"
#include "kernels/pack.h"
#include "model/families/shape_deepseek41.h"
#include "model/files/description.h"
#include "model/files/pooling.h"
#include "model/files/rank_head.h"

namespace aster::model {
namespace {

using gguf::TensorType;

// If there are more obstacles of one kind, only their number is given.
constexpr size_t kMaxListed = 4;

std::string DimsText(const std::vector<uint64_t>& dims) {
  return fmt::format("[{}]", fmt::join(dims, ", "));
}

bool SameDims(const gguf::Tensor& tensor, const std::vector<uint64_t>& dims) {
  const auto shape = tensor.shape();
  return std::equal(shape.begin(), shape.end(), dims.begin(), dims.end());
}

// Sentences of one kind: the first few, and the number of the others.
class Sentences {
 public:
  void Add(std::string sentence) {
    if (++count_ <= kMaxListed) sentences_.push_back(std::move(sentence));
  }
  void MoveTo(std::vector<std::string>& all) && {
    if (count_ > kMaxListed)
      sentences_.push_back(fmt::format("… and {} more of this kind", count_ - kMaxListed));
    all.insert(all.end(), sentences_.begin(), sentences_.end());
  }

 private:
  size_t count_ = 0;
  std::vector<std::string> sentences_;
};

// Tensors of MTP blocks that are never computed are ignored.
bool IsLeftOut(const Shape& shape, std::string_view tensor_name) {
  const std::optional<uint32_t> layer = LayerOf(tensor_name);
  const uint32_t first = shape.layer_count + shape.mtp_layers;
  return layer && *layer >= first && *layer < first + shape.left_out;
}

// Tensors that files may have, but that are not used: embedding and head of the MTP block, which
// uses the model's; an index of the MTP block, or of layers that use another layer's choice.
bool IsIdle(const Shape& shape, std::string_view tensor_name) {
  const std::optional<uint32_t> layer = LayerOf(tensor_name);
  if (!layer || *layer >= shape.layer_count + shape.mtp_layers) return false;
  const bool is_next = *layer >= shape.layer_count;
  const std::string_view name = tensor_name.substr(tensor_name.find('.', 4) + 1);
  // Files may have these beside the fused tensor for all heads.
  const bool is_of_each = name == "attn_k_b.weight" || name == "attn_v_b.weight";
  if (is_of_each && shape.is_mla() && shape.kinds.fused) return true;
  // For image tokens.
  if (name == "exp_probs_b_vl.bias" && shape.shares_compressed_rows()) return true;
  if (name.starts_with("indexer.") && shape.is_indexed())
    return is_next || !shape.has_index(*layer);
  return is_next &&
         (name == "nextn.embed_tokens.weight" || name == "nextn.shared_head_head.weight");
}

void CheckTensors(const gguf::ModelFiles& files, const Shape& shape,
                  const std::optional<Slice>& slice, std::vector<std::string>& obstacles) {
  std::set<std::string_view> known;
  std::vector<std::string> names;
  std::vector<TensorSpec> needed;
  for (TensorSpec& spec : TensorsOf(shape)) {
    names.push_back(spec.name);
    const gguf::Tensor* tensor = FindTensor(files, spec);
    if (tensor != nullptr) known.insert(tensor->name);
    if (!slice || slice->Needs(shape, spec)) needed.push_back(std::move(spec));
  }
  obstacles = ObstaclesOf(files, needed);
  // An unknown tensor may mean that the model computes something else than its architecture says.
  Sentences unexpected;
  const auto pooling = ReadPooling(files.metadata());
  const bool ranks = pooling.ok() && *pooling == Pooling::kRank;
  for (const gguf::ModelFiles::Entry& entry : files.entries()) {
    if (known.contains(entry.tensor->name)) continue;
    if (ranks && IsTensorOfRankHead(entry.tensor->name)) continue;
    if (IsLeftOut(shape, entry.tensor->name) || IsIdle(shape, entry.tensor->name)) continue;
    const bool is_next = entry.tensor->name.find(".nextn.") != std::string_view::npos;
    const auto nearest = MostSimilar(entry.tensor->name, names);
    unexpected.Add(
        fmt::format("tensor {} has no place in this architecture{}{}", entry.tensor->name,
                    is_next ? " without the key nextn_predict_layers" : "",
                    nearest ? fmt::format("; the nearest that has is {}", *nearest) : ""));
  }
  std::move(unexpected).MoveTo(obstacles);
}

// An MTP block that differs from its family's known one is left out, and so is every one after the
// first: drafts do not change answers.
void FindMtpInside(const gguf::ModelFiles& files, Shape& shape) {
  if (!CanDraftWithMtp(shape) || shape.left_out == 0) return;
  Shape with = shape;
  --with.left_out;
  ++with.mtp_layers;
  std::set<std::string_view> known;
  const std::vector<TensorSpec> specs = TensorsOf(with);
  for (const TensorSpec& spec : specs) {
    if (!IsOfMtpBlock(spec)) continue;
    const gguf::Tensor* tensor = FindTensor(files, spec);
    if (tensor == nullptr || !SameDims(*tensor, spec.dims) || !IsComputable(tensor->type)) return;
    known.insert(tensor->name);
  }
  for (const gguf::ModelFiles::Entry& entry : files.entries()) {
    const std::string_view name = entry.tensor->name;
    if (LayerOf(name) == shape.layer_count && !known.contains(name) && !IsIdle(with, name)) return;
  }
  shape = with;
}

// The MTP block may be in a file of its own, which the model's keys do not mention.
Status FindMtp(const gguf::ModelFiles& files, Shape& shape) {
  if (!shape.is_latent() || shape.shares_compressed_rows()) {
    FindMtpInside(files, shape);
    return Ok();
  }
  const std::string inside = fmt::format("blk.{}.nextn.", shape.layer_count);
  const bool is_inside = files.FindTensor(inside + "enorm.weight") != nullptr;
  const bool is_apart = files.FindTensor("mtp.0.enorm.weight") != nullptr;
  if (is_inside && is_apart) {
    return InvalidArgument(fmt::format(
        "the MTP block is there twice, as {}* and as mtp.0.*; leave the file with mtp.0.* out",
        inside));
  }
  if (is_inside || is_apart) shape.mtp_layers = 1;
  shape.mtp_apart = is_apart;
  return Ok();
}

// In any layer, as files may have only some layers.
bool HasInLayers(const gguf::ModelFiles& files, const Shape& shape, std::string_view name) {
  for (uint32_t layer = 0; layer < shape.layer_count; ++layer) {
    if (files.FindTensor(fmt::format("blk.{}.{}", layer, name)) != nullptr) return true;
  }
  return false;
}

bool HasInFullLayers(const gguf::ModelFiles& files, const Shape& shape, std::string_view name) {
  for (uint32_t layer = shape.full_every - 1; layer < shape.layer_count;
       layer += shape.full_every) {
    if (files.FindTensor(fmt::format("blk.{}.{}", layer, name)) != nullptr) return true;
  }
  return false;
}

// Finds how many layers have no experts, and whether queries, keys and values are one tensor.
void FindMimo2(const gguf::ModelFiles& files, Shape& shape) {
  shape.kinds.fused = HasInLayers(files, shape, "attn_qkv.weight");
  for (uint32_t layer = 0; layer < shape.layer_count; ++layer) {
    if (files.FindTensor(fmt::format("blk.{}.ffn_gate.weight", layer)) != nullptr)
      shape.experts.dense_layers = layer + 1;
  }
}

// In some architectures only some models norm queries and keys, or have a bias for the choice of
// experts.
void FindWhatSomeHave(const gguf::ModelFiles& files, Shape& shape) {
  if (shape.is_glm()) shape.head_norms = HasInLayers(files, shape, "attn_q_norm.weight");
  if (shape.arch == Arch::kQwen3Next)
    shape.recurrence.one_matrix = HasInLayers(files, shape, "ssm_in.weight");
  if (shape.is_gemma4())
    shape.kinds.keys_are_values = !HasInFullLayers(files, shape, "attn_v.weight");
  shape.experts.fused = HasInLayers(files, shape, "ffn_gate_up_exps.weight");
  if (shape.is_mimo2()) FindMimo2(files, shape);
  if (shape.arch == Arch::kDeepSeek2)
    shape.kinds.fused = HasInLayers(files, shape, "attn_kv_b.weight");
  if (shape.is_mla()) shape.experts.choice_bias = HasInLayers(files, shape, "exp_probs_b.bias");
  // Early files of GLM 4.7 Flash lack the key for the router's scores. V2, which also lacks it and
  // has softmax, has no bias.
  if (shape.arch == Arch::kDeepSeek2 && shape.experts.choice_bias &&
      !files.metadata().Contains("deepseek2.expert_gating_func"))
    shape.experts.score = kernels::RouterScore::kSigmoid;
}

bool HasRopeFactors(const gguf::ModelFiles& files, const Shape& shape) {
  // For Gemma 3 it is not known which kind of layers the factors are for; in Gemma 4 they are for
  // those that see all.
  if (shape.is_gemma()) return shape.is_gemma4();
  // A Phi 3 that was trained for more than its original context needs them.
  const bool is_longer = shape.context_length > shape.rope.original_context;
  return (shape.arch == Arch::kPhi3 && is_longer) ||
         files.FindTensor(RopeFactorsOf(shape)) != nullptr;
}

}  // namespace

const gguf::Tensor* FindTensor(const gguf::ModelFiles& files, const TensorSpec& spec) {
  const gguf::Tensor* tensor = files.FindTensor(spec.name);
  for (const std::string& alias : spec.aliases) {
    if (tensor == nullptr) tensor = files.FindTensor(alias);
  }
  return tensor;
}

std::vector<std::string> ObstaclesOf(const gguf::ModelFiles& files,
                                     std::span<const TensorSpec> needed) {
  Sentences missing, misshapen;
  std::map<TensorType, size_t> uncomputable;
  for (const TensorSpec& spec : needed) {
    const gguf::Tensor* tensor = FindTensor(files, spec);
    if (tensor == nullptr) {
      missing.Add(fmt::format("tensor {} {} is missing", spec.name, DimsText(spec.dims)));
      continue;
    }
    if (!SameDims(*tensor, spec.dims)) {
      misshapen.Add(fmt::format("tensor {} is {}, {} is needed", spec.name,
                                gguf::ShapeText(*tensor), DimsText(spec.dims)));
    }
    if (spec.is_table ? tensor->type != TensorType::kI32 : !IsComputable(tensor->type))
      ++uncomputable[tensor->type];
  }
  std::vector<std::string> obstacles;
  std::move(missing).MoveTo(obstacles);
  std::move(misshapen).MoveTo(obstacles);
  for (const auto& [type, count] : uncomputable) {
    obstacles.push_back(fmt::format(
        "{} tensors are {}, which cannot be computed with; convert them with aster quantize", count,
        gguf::TensorTypeName(type)));
  }
  return obstacles;
}

bool IsComputable(TensorType type) { return kernels::WeightTypeOf(type).has_value(); }

Result<Shape> ShapeOf(const gguf::ModelFiles& files) {
  Shape shape = TRY(ReadShape(files.metadata()));
  FindWhatSomeHave(files, shape);
  if (shape.shares_compressed_rows()) {
    TRY(FindCompressedRows(files, shape));
    TRY(CheckShape(shape));
  }
  return shape;
}

Support CheckSupport(const gguf::ModelFiles& files, const std::optional<Slice>& slice) {
  Support support;
  Result<Shape> shape = ShapeOf(files);
  if (!shape.ok()) {
    support.obstacles.push_back(shape.error().message());
    return support;
  }
  // No model of these families uses its embedding as head: without a head the file is incomplete.
  const bool may_tie = !shape->is_latent() && !shape->is_gpt_oss() && !HasRouterKeys(shape->arch);
  shape->tied_head = may_tie && files.FindTensor("output.weight") == nullptr;
  shape->rope_factors = HasRopeFactors(files, *shape);
  const Status next = FindMtp(files, *shape);
  support.shape = *shape;
  if (!next.ok()) {
    support.obstacles.push_back(next.error().message());
    return support;
  }
  CheckTensors(files, *shape, slice, support.obstacles);
  return support;
}

}  // namespace aster::model
