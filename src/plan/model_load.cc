// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "plan/model_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>
#include <string>

#include "engine/gpu_layers.h"
#include "kernels/activation_blocks.h"
#include "kernels/activations.h"
#include "kernels/pack.h"
#include "model/files/support.h"
#include "model/memory/stream_reads.h"
#include "model/memory/weight_sizes.h"
#include "model/parts/group_part.h"
#include "model/parts/part_bytes.h"
#include "model/shape/shape.h"
#include "model/shape/tensors.h"

namespace aster::plan {
namespace {

bool IsOfSharedExpert(const model::TensorSpec& spec) {
  return spec.name.ends_with("_shexp.weight");
}

// The share of the experts that a token uses.
double ShareOfExperts(const model::Shape& shape) {
  return static_cast<double>(shape.experts.used) / shape.experts.count;
}

// The memory of a tensor, and the bytes of it that one token reads.
ModelLoad::Layer TensorLoad(const gguf::ModelFiles& files, const model::Shape& shape,
                            const model::TensorSpec& spec, bool is_head) {
  const gguf::Tensor* const tensor = model::FindTensor(files, spec);
  if (tensor == nullptr || spec.is_looked_up) return {};
  const uint64_t bytes =
      model::TensorBytesIn(model::Place::kMemory, spec, tensor->type, is_head).value();
  const bool is_of_experts = IsOfExperts(spec);
  // A token reads only the experts that it uses.
  const double share = is_of_experts ? ShareOfExperts(shape) : 1;
  return {.bytes = bytes, .read_bytes = share * static_cast<double>(bytes)};
}

// Two operations for each weight that a token uses.
double MatrixFlops(const model::Shape& shape, const model::TensorSpec& spec) {
  if (spec.dims.size() < 2 || spec.is_looked_up) return 0;
  double weights = 1;
  for (const uint64_t dim : spec.dims) weights *= static_cast<double>(dim);
  return 2 * weights * (IsOfExperts(spec) ? ShareOfExperts(shape) : 1);
}

// Whether all nodes of a group have all KV rows.
bool HasWholeRows(const model::Shape& shape) {
  return shape.is_latent() || model::HasWholeKeys(shape);
}

// How the layers are divided, in bytes that a token reads.
struct Division {
  double whole = 0;
  double by_heads = 0;
  double all = 0;
  uint64_t whole_bytes = 0;
  double experts = 0;
  uint64_t expert_bytes = 0;
  uint64_t shared_bytes = 0;

  void Add(const model::Shape& shape, const model::TensorSpec& spec,
           const ModelLoad::Layer& tensor) {
    constexpr model::GroupPart kOfTwo = {.count = 2, .shares = {1, 1}};
    const bool is_whole = model::BytesOfPart(kOfTwo, shape, spec, tensor.bytes) == tensor.bytes;
    all += tensor.read_bytes;
    if (!is_whole && IsOfExperts(spec)) expert_bytes += tensor.bytes;
    if (!is_whole && IsOfSharedExpert(spec)) shared_bytes += tensor.bytes;
    if (!is_whole && (IsOfExperts(spec) || IsOfSharedExpert(spec))) experts += tensor.read_bytes;
    if (is_whole) {
      whole += tensor.read_bytes;
      whole_bytes += tensor.bytes;
    } else if (model::IsDividedByHeads(shape, spec.name)) {
      by_heads += tensor.read_bytes;
    }
  }
  void AddKv(const model::Shape& shape, double read_bytes) {
    all += read_bytes;
    (HasWholeRows(shape) ? whole : by_heads) += read_bytes;
  }
};

// Weights: bytes of each layer, of the embedding and of the head.
void AddWeights(const gguf::ModelFiles& files, const model::Shape& shape, ModelLoad& load,
                Division& division) {
  for (const model::TensorSpec& spec : model::TensorsOf(shape)) {
    const bool is_head = spec.part == model::Part::kHead || model::IsTiedHead(shape, spec);
    const ModelLoad::Layer tensor = TensorLoad(files, shape, spec, is_head);
    if (spec.part == model::Part::kEmbedding)
      load.embedding_bytes += TensorLoad(files, shape, spec, /*is_head=*/false).bytes;
    if (is_head) load.head_bytes += tensor.bytes;
    if (model::IsOfMtpBlock(spec)) {
      load.mtp_bytes += tensor.bytes;
    } else if (is_head) {
      load.head_flops += MatrixFlops(shape, spec);
    }
    // Each layer reads its part of the tensor that projects the embedding for it.
    if (spec.name == model::kLayerProjection) {
      for (ModelLoad::Layer& layer : load.layers)
        layer.read_bytes += tensor.read_bytes / shape.layer_count;
      load.matrix_flops += MatrixFlops(shape, spec);
    }
    if (spec.part != model::Part::kLayer) continue;
    ModelLoad::Layer& layer = load.layers[static_cast<size_t>(spec.layer)];
    layer.bytes += tensor.bytes;
    layer.read_bytes += tensor.read_bytes;
    division.Add(shape, spec, tensor);
    load.matrix_flops += MatrixFlops(shape, spec);
  }
}

// The formats in which products of layers read their input, by tensor name.
using Formats = std::map<std::string, kernels::ActivationFormat, std::less<>>;

Formats FormatsOf(const gguf::ModelFiles& files, const model::Shape& shape) {
  Formats formats;
  for (const model::TensorSpec& spec : model::TensorsOf(shape)) {
    const gguf::Tensor* const tensor = model::FindTensor(files, spec);
    if (tensor == nullptr || spec.part != model::Part::kLayer) continue;
    if (const auto type = kernels::WeightTypeOf(tensor->type))
      formats.emplace(spec.name, kernels::ActivationFormatFor(*type));
  }
  return formats;
}

// The bytes of a token that two equal nodes send each other.
class GatherCount {
 public:
  GatherCount(const gguf::ModelFiles& files, const model::Shape& shape, const model::GroupPart& two)
      : shape_(shape),
        formats_(FormatsOf(files, shape)),
        parts_{model::RangesOf(two.At(0), shape), model::RangesOf(two.At(1), shape)} {}

  // Per layer; the mean, as layers may differ.
  struct Gathers {
    double count = 0;
    uint64_t bytes = 0;
    uint64_t sum_bytes = 0;
  };
  Gathers Mean(bool owns_experts) const {
    uint64_t count = 0, bytes = 0, sums = 0;
    for (uint32_t layer = 0; layer < shape_.layer_count; ++layer) {
      const model::LayerGathers own = model::GathersOf(shape_, layer, owns_experts);
      count += own.count;
      bytes += own.numbers * sizeof(float);
      for (const model::LayerGathers::Input& input : own.inputs) bytes += BytesOf(layer, input);
      sums += own.sums;
    }
    return {.count = static_cast<double>(count) / shape_.layer_count,
            .bytes = bytes / shape_.layer_count,
            .sum_bytes = sums * sizeof(int64_t) / shape_.layer_count};
  }

 private:
  // In 8-bit blocks if each node has whole ones.
  uint64_t BytesOf(uint32_t layer, const model::LayerGathers::Input& input) const {
    const auto found = formats_.find(fmt::format("blk.{}.{}.weight", layer, input.product));
    const uint64_t columns = uint64_t{(parts_.back().*input.range).end} * input.each;
    if (found != formats_.end() &&
        model::AreInSteps(parts_, input.range, input.each, kernels::BlockStep(found->second))) {
      return kernels::BlockBytes(found->second, input.rows, columns);
    }
    return input.rows * columns * sizeof(float);
  }

  const model::Shape& shape_;
  const Formats formats_;
  const std::array<model::PartRanges, 2> parts_;
};

// Whether programs with protocol 9 or less refuse to divide a model of this family.
bool IsNewlyDivided(model::Arch arch) {
  using enum model::Arch;
  constexpr std::array kDividedBefore = {kLlama,  kMistral3, kQwen2, kQwen3,  kQwen3Moe,
                                         kGemma2, kGemma3,   kPhi3,  kGptOss, kDeepSeek4};
  return std::ranges::count(kDividedBefore, arch) == 0;
}

// The memory of each node of a group. A node has the KV rows of its heads.
GroupMemory MemoryOf(const gguf::ModelFiles& files, const model::Shape& shape,
                     uint64_t kv_bytes_per_layer) {
  model::GroupPart whole;
  GroupMemory memory{.all = model::RangesOf(whole, shape), .expert_count = shape.experts.count};
  const std::vector<model::TensorSpec> specs = model::TensorsOf(shape);
  for (GroupMemory::Form* const form : {&memory.rows, &memory.owners}) {
    std::vector<model::PartBytes> layers(shape.layer_count);
    for (model::PartBytes& layer : layers) {
      if (HasWholeRows(shape)) {
        layer.whole = kv_bytes_per_layer;
      } else {
        const uint64_t heads = model::HeadGroupsOf(shape);
        layer.each.front() = (kv_bytes_per_layer + heads - 1) / heads;
      }
    }
    for (const model::TensorSpec& spec : specs) {
      const auto own = [&](bool is_head) {
        return model::PartBytesOf(shape, spec, TensorLoad(files, shape, spec, is_head).bytes,
                                  /*owns_experts=*/form == &memory.owners);
      };
      if (spec.part == model::Part::kLayer) {
        layers[static_cast<size_t>(spec.layer)] += own(/*is_head=*/false);
        continue;
      }
      for (const bool embedding : {false, true}) {
        for (const bool head : {false, true}) {
          const model::Slice slice{.embedding = embedding, .head = head};
          if (slice.Needs(shape, spec))
            form->ends[embedding][head] += own(head && model::IsTiedHead(shape, spec));
        }
      }
    }
    form->before.resize(1);
    for (const model::PartBytes& layer : layers) {
      form->before.push_back(form->before.back());
      form->before.back() += layer;
    }
  }
  return memory;
}

// The parts that nodes of a group have, and the bytes that they send one another.
ModelLoad::Together TogetherOf(const gguf::ModelFiles& files, const model::Shape& shape,
                               const Division& division, uint64_t kv_bytes_per_layer) {
  const model::GroupPart two{.count = 2, .shares = {1, 1}};
  if (!model::CheckGroup(two, shape).ok()) return {};
  const model::Experts& experts = shape.experts;
  const GatherCount gathers(files, shape, two);
  const GatherCount::Gathers rows = gathers.Mean(/*owns_experts=*/false);
  const double all = division.all == 0 ? 1 : division.all;
  ModelLoad::Together together{.heads = model::HeadGroupsOf(shape),
                               .whole_bytes = division.whole_bytes,
                               .whole = division.whole / all,
                               .by_heads = division.by_heads / all,
                               .gathers = rows.count,
                               .gathered_bytes = rows.bytes,
                               .logit_bytes = uint64_t{shape.vocab_size} * sizeof(float),
                               .is_new = IsNewlyDivided(shape.arch),
                               .memory = MemoryOf(files, shape, kv_bytes_per_layer)};
  if (experts.count == 0) return together;
  // Nodes do not send rows of experts: each sends a 64-bit sum over its own ones.
  const GatherCount::Gathers owned = gathers.Mean(/*owns_experts=*/true);
  together.experts = {.count = experts.count,
                      .used = experts.used,
                      .has_shared = experts.shared > 0,
                      .reads = division.experts / all,
                      .bytes = division.expert_bytes,
                      .shared_bytes = division.shared_bytes,
                      .gathers = owned.count,
                      .gathered_bytes = owned.bytes,
                      .sum_bytes = owned.sum_bytes};
  return together;
}

// The operations and bytes of a layer's attention per position seen.
void AddAttention(const model::Shape& shape, const model::MemoryOptions& memory, uint32_t layer,
                  ModelLoad& load) {
  // A state costs the same after any number of positions: decay, update and query.
  if (shape.has_state(layer)) {
    const model::Recurrence& states = shape.recurrence;
    return load.AddLookBack({.positions = 1, .flops = 6.0 * states.values() * states.key_dim});
  }
  const model::MemoryOptions own = model::MemoryOfLayer(memory, shape, layer);
  uint64_t kept = own.window > 0 ? uint64_t{own.window} + own.sinks : 0;
  // The index scores all rows, and heads read the rows that it chooses.
  if (shape.is_indexed()) kept = shape.index.top;
  if (shape.has_index(layer))
    load.AddLookBack({.positions = 0, .flops = 2.0 * shape.index.heads * shape.index.dim});
  // A multiplication and an addition for each element of keys, and the same for values.
  const double dims = model::HeadDimOf(shape, layer) + model::ValueDimOf(shape, layer);
  const double flops = 2.0 * shape.head_count * dims;
  load.AddLookBack({.positions = kept, .flops = flops});
  const uint32_t ratio = shape.is_latent() ? shape.latent.ratios[layer] : 0;
  if (ratio == 0) return;
  // Before the window there are compressed rows: with a short ratio only those that the index
  // chooses.
  const bool is_ranked = model::HasChosenRows(shape, layer);
  load.AddLookBack({.positions = is_ranked ? uint64_t{shape.latent.index_top} * ratio : 0,
                    .flops = flops / ratio});
  if (!is_ranked || !model::ChoosesRows(shape, layer)) return;
  const model::Latent& latent = shape.latent;
  load.AddLookBack({.positions = 0, .flops = 2.0 * latent.index_heads * latent.index_dim / ratio});
}

}  // namespace

void ModelLoad::AddLookBack(const LookBack& added) {
  const auto found = std::ranges::find(look_back, added.positions, &LookBack::positions);
  if (found == look_back.end()) return look_back.push_back(added);
  found->flops += added.flops;
  found->read_bytes += added.read_bytes;
}

double ModelLoad::PerLayer(uint32_t positions, double LookBack::* of_position) const {
  double sum = 0;
  for (const LookBack& some : look_back) {
    const uint64_t seen =
        some.positions > 0 ? std::min<uint64_t>(positions, some.positions) : positions;
    sum += static_cast<double>(seen) * some.*of_position;
  }
  return sum / static_cast<double>(layers.size());
}

double ModelLoad::FlopsPerLayer(uint32_t positions) const {
  if (matrix_flops <= 0) return flops_per_layer;
  return matrix_flops / static_cast<double>(layers.size()) + PerLayer(positions, &LookBack::flops);
}

double ModelLoad::KvReadBytes(uint32_t positions) const {
  if (look_back.empty()) return kv_read_bytes;
  return PerLayer(positions, &LookBack::read_bytes);
}

void ModelLoad::PrepareFor(uint32_t prompt_tokens, uint32_t answer_tokens, uint32_t held_tokens) {
  if (layers.empty() || matrix_flops <= 0) return;
  context = held_tokens + prompt_tokens + answer_tokens / 2;
  flops_per_layer = FlopsPerLayer(held_tokens + prompt_tokens / 2);
  kv_read_bytes = KvReadBytes(context);
}

Result<ModelLoad> LoadOf(const gguf::ModelFiles& files, const model::MemoryOptions& memory,
                         uint64_t kv_positions, uint32_t context) {
  const model::Support support = model::CheckSupport(files);
  if (!support.ok()) {
    return FailedPrecondition(
        fmt::format("the model cannot be planned for: {}", fmt::join(support.obstacles, "; ")));
  }
  // The KV cache in the nodes' layout.
  const model::Shape& shape = *support.shape;
  const model::MemoryOptions narrowed = model::Narrowed(memory, shape);
  const kv::Layout layout = TRY(model::MakeMemoryLayout(shape, narrowed, Hash128{}));
  ModelLoad load;
  load.tied_head = shape.tied_head;
  load.row_bytes = uint64_t{shape.hidden_width()} * sizeof(float);
  load.gpu_scratch_bytes = engine::GpuScratchBytes(shape);
  load.context = context;
  load.layers.resize(shape.layer_count);
  for (uint32_t layer = 0; layer < shape.layer_count; ++layer)
    load.may_begin.push_back(shape.can_begin(layer));
  Division division;
  AddWeights(files, shape, load, division);
  for (uint32_t layer = 0; layer < shape.layer_count; ++layer)
    AddAttention(shape, narrowed, layer, load);
  const auto positions = static_cast<uint32_t>(
      std::min<uint64_t>(kv_positions, std::numeric_limits<uint32_t>::max() / 2));
  // KV rows of layers may differ in size: room for the largest, time for the mean.
  for (uint32_t layer = 0; layer < shape.layer_count; ++layer) {
    // Rows that belong to another layer are read here, too, and stored once.
    for (const model::StreamReads& reads : model::ReadsOfLayer(shape, layout, layer))
      load.AddLookBack({.positions = reads.positions, .read_bytes = reads.position_bytes});
    for (const kv::Stream& stream : layout.streams(layer))
      load.kv_row_bytes += static_cast<double>(stream.codec->row_bytes()) / stream.stride;
    load.kv_bytes_per_layer =
        std::max(load.kv_bytes_per_layer, layout.BytesFor({layer, layer + 1}, positions, 0));
  }
  load.kv_row_bytes /= shape.layer_count;
  load.flops_per_layer = load.FlopsPerLayer(context);
  load.kv_read_bytes = load.KvReadBytes(context);
  division.AddKv(shape, load.kv_read_bytes * shape.layer_count);
  if (HasWholeRows(shape)) division.whole_bytes += load.kv_bytes_per_layer * shape.layer_count;
  load.together = TogetherOf(files, shape, division, load.kv_bytes_per_layer);
  return load;
}

}  // namespace aster::plan
