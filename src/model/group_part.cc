// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/group_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <span>

#include "kernels/packed.h"
#include "model/shape.h"

namespace aster::model {
namespace {

// Panels of packed weights stay whole.
constexpr uint32_t kRowStep = kernels::kPanelRows;

// Rows that the part packs of a tensor that holds several matrices; of any other none.
uint64_t FusedRows(const GroupPart& part, const Shape& shape, std::string_view name) {
  if (!shape.is_fused() || part.is_whole()) return 0;
  const PartRanges own = RangesOf(part, shape);
  const uint64_t keys = uint64_t{own.head_groups.count()} * shape.head_dim;
  if (name.ends_with(".attn_qkv.weight"))
    return keys * (shape.head_count / shape.kv_head_count + 2);
  return name.ends_with(".ffn_up.weight") ? 2 * uint64_t{own.feed_forward.count()} : 0;
}

// Architectures whose every tensor is known here as divided, or as one that all parts have.
bool IsDivisible(Arch arch) {
  constexpr std::array kDivisible = {Arch::kLlama,    Arch::kMistral3, Arch::kQwen2,  Arch::kQwen3,
                                     Arch::kQwen3Moe, Arch::kGemma2,   Arch::kGemma3, Arch::kPhi3,
                                     Arch::kGptOss,   Arch::kDeepSeek4};
  return std::ranges::count(kDivisible, arch) > 0;
}

// Of a feed-forward network, or of an expert.
uint32_t WidthOf(const Shape& shape) {
  return shape.experts.count > 0 ? shape.experts.feed_forward : shape.feed_forward;
}

// What a layer's tensor is for: "attn_q" of blk.3.attn_q.weight.
std::string_view ProductOf(std::string_view name) {
  if (!name.starts_with("blk.")) return {};
  const size_t begin = name.find('.', 4) + 1;
  return name.substr(begin, name.rfind('.') - begin);
}

bool IsOneOf(std::string_view product, std::initializer_list<std::string_view> products) {
  return std::ranges::count(products, product) > 0;
}

// Whether a tensor holds a matrix, or a row of biases, for each expert.
bool IsOfExperts(std::string_view product) {
  return IsOneOf(product, {"ffn_gate_exps", "ffn_up_exps", "ffn_down_exps"});
}

// Query heads of one group.
uint32_t HeadsOfGroup(const Shape& shape) { return shape.head_count / HeadGroupsOf(shape); }

// Rows of a layer's attention.
std::optional<PartRange> RowsOfAttention(const PartRange& groups, const Shape& shape,
                                         std::string_view name) {
  const std::string_view product = ProductOf(name);
  const PartRange heads = groups * HeadsOfGroup(shape);
  if (product == "attn_sinks") return heads;
  if (IsOneOf(product, {"attn_q", "attn_q_b"})) return heads * shape.head_dim;
  if (IsOneOf(product, {"attn_k", "attn_v"})) return groups * shape.head_dim;
  if (product == "attn_output_a") return groups * shape.latent.output_rank;
  return std::nullopt;
}

// Which of a tensor's dimensions is divided: of several matrices the rows of each.
size_t DividedDimension(const TensorSpec& tensor) {
  const bool is_matrix = tensor.dims.size() > 1 && !tensor.name.ends_with(".bias");
  return is_matrix ? 1 : 0;
}

}  // namespace

uint32_t HeadGroupsOf(const Shape& shape) {
  return shape.is_latent() ? shape.latent.output_groups : shape.kv_head_count;
}

std::vector<uint16_t> EvenlySpaced(uint32_t count, uint32_t all) {
  std::vector<uint16_t> chosen(count);
  for (uint32_t i = 0; i < count; ++i)
    chosen[i] = static_cast<uint16_t>((2 * uint64_t{i} + 1) * all / (2 * uint64_t{count}));
  return chosen;
}

std::vector<uint16_t> ReplicatedExperts(const GroupPart& part, const Shape& shape, uint32_t layer) {
  const uint32_t count = part.owns_experts ? std::min(part.replicas, shape.experts.count) : 0;
  // Nothing says which are used most: as many of each part's.
  if (part.replicated.empty()) return EvenlySpaced(count, shape.experts.count);
  const auto ids = std::span(part.replicated).subspan(size_t{layer} * count, count);
  return {ids.begin(), ids.end()};
}

std::vector<uint16_t> ExpertsOf(const GroupPart& part, const Shape& shape, uint32_t layer) {
  if (!part.owns_experts) return {};
  const PartRange own = RangeOf(part, shape.experts.count);
  std::vector<uint16_t> ids = ReplicatedExperts(part, shape, layer);
  std::erase_if(ids, [&](uint16_t id) { return id >= own.begin && id < own.end; });
  for (uint32_t id = own.begin; id < own.end; ++id) ids.push_back(static_cast<uint16_t>(id));
  std::ranges::sort(ids);
  return ids;
}

PartRange RangeOf(const GroupPart& part, uint32_t count, uint32_t step) {
  uint64_t before = 0, all = 0;
  for (uint32_t i = 0; i < part.count; ++i) {
    before += i < part.index ? part.shares[i] : 0;
    all += part.shares[i];
  }
  const uint64_t steps = count / step;
  // Where a part begins, to the nearest step: each ends where the next one begins.
  const auto at = [&](uint64_t shares) {
    return static_cast<uint32_t>((steps * shares + all / 2) / all * step);
  };
  const bool is_last = part.index + 1 == part.count;
  return {at(before), is_last ? count : at(before + part.shares[part.index])};
}

PartRanges RangesOf(const GroupPart& part, const Shape& shape) {
  return {.head_groups = RangeOf(part, HeadGroupsOf(shape)),
          .embedding = RangeOf(part, shape.embedding, kRowStep),
          .feed_forward = RangeOf(part, WidthOf(shape), kRowStep),
          .vocab = RangeOf(part, shape.vocab_size, kRowStep)};
}

Shape ShapeOfPart(const GroupPart& part, const Shape& shape) {
  if (part.is_whole()) return shape;
  const PartRanges ranges = RangesOf(part, shape);
  Shape own = shape;
  own.head_count = HeadsOfGroup(shape) * ranges.head_groups.count();
  if (shape.is_latent()) {
    own.latent.output_groups = ranges.head_groups.count();
  } else {
    own.kv_head_count = ranges.head_groups.count();
  }
  if (shape.experts.count > 0) {
    if (!part.owns_experts) own.experts.feed_forward = ranges.feed_forward.count();
  } else {
    own.feed_forward = ranges.feed_forward.count();
  }
  return own;
}

std::optional<PartRange> DividedRows(const GroupPart& part, const Shape& shape,
                                     std::string_view name) {
  if (part.is_whole()) return std::nullopt;
  const PartRanges own = RangesOf(part, shape);
  if (const auto rows = RowsOfAttention(own.head_groups, shape, name)) return rows;
  const std::string_view product = ProductOf(name);
  if (IsOneOf(product, {"attn_output", "attn_output_b"})) return own.embedding;
  // The head, which may be the embedding's matrix.
  if (name == "output.weight" || name == "token_embd.weight") return own.vocab;
  // Experts that a part owns it has as a whole, and the shared one is on all of them.
  if (part.owns_experts) return std::nullopt;
  if (IsOneOf(product, {"ffn_down", "ffn_down_exps", "ffn_down_shexp"})) return own.embedding;
  if (IsOneOf(product, {"ffn_gate", "ffn_up", "ffn_gate_exps", "ffn_up_exps", "ffn_gate_shexp",
                        "ffn_up_shexp"}))
    return own.feed_forward;
  return std::nullopt;
}

bool IsDividedByHeads(const Shape& shape, std::string_view name) {
  return RowsOfAttention({}, shape, name).has_value();
}

uint64_t BytesOfPart(const GroupPart& part, const Shape& shape, const TensorSpec& tensor,
                     uint64_t bytes) {
  if (part.is_whole()) return bytes;
  if (IsOfNextBlock(tensor)) return part.leads() ? bytes : 0;
  if (const uint64_t fused = FusedRows(part, shape, tensor.name))
    return bytes / tensor.dims.back() * fused;
  if (part.owns_experts && tensor.name.ends_with(".weight") &&
      IsOfExperts(ProductOf(tensor.name))) {
    const auto layer = static_cast<uint32_t>(tensor.layer);
    return bytes / shape.experts.count * ExpertsOf(part, shape, layer).size();
  }
  const auto rows = DividedRows(part, shape, tensor.name);
  if (!rows) return bytes;
  // For an MTP block the node that leads has the whole head beside its rows.
  const bool is_there_twice =
      part.leads() && shape.next_layers > 0 && tensor.name == "output.weight";
  return bytes / tensor.dims[DividedDimension(tensor)] * rows->count() +
         (is_there_twice ? bytes : 0);
}

namespace {

Status CheckOwners(const GroupPart& part, const Shape& shape) {
  const uint32_t count = shape.experts.count;
  if (count == 0) {
    return InvalidArgument("a model without experts: leave /experts out of the group");
  }
  if (part.replicas > count) {
    return InvalidArgument(fmt::format("{} experts of each layer on every node; a layer has {}",
                                       part.replicas, count));
  }
  const size_t listed = part.replicated.size();
  const auto is_no_expert = [count](uint16_t id) { return id >= count; };
  if ((listed != 0 && listed != size_t{part.replicas} * shape.layer_count) ||
      std::ranges::any_of(part.replicated, is_no_expert)) {
    return InvalidArgument("experts on every node of a group that the model does not have");
  }
  for (uint32_t i = 0; i < part.count; ++i) {
    if (RangeOf(part.At(i), count).count() > 0) continue;
    return InvalidArgument(
        fmt::format("part {} of a group of {} would own none of the model's {} experts: make the "
                    "group smaller, or its shares more alike",
                    i + 1, part.count, count));
  }
  return Ok();
}

}  // namespace

Status CheckGroup(const GroupPart& part, const Shape& shape) {
  if (part.is_whole()) return Ok();
  if (part.count > GroupPart::kMostParts || part.index >= part.count) {
    return InvalidArgument(fmt::format("part {} of a group of {} nodes; 2 to {} can be a group",
                                       part.index, part.count, GroupPart::kMostParts));
  }
  if (!IsDivisible(shape.arch)) {
    return Unimplemented(
        fmt::format("a group of nodes cannot compute layers of {} together: give each node layers "
                    "of its own, as --split auto does",
                    ArchName(shape.arch)));
  }
  if (std::ranges::count(std::span(part.shares).first(part.count), 0u) > 0) {
    return InvalidArgument("a node of a group with no share of its work: leave it out");
  }
  if (part.owns_experts) TRY(CheckOwners(part, shape));
  for (uint32_t i = 0; i < part.count; ++i) {
    const PartRanges ranges = RangesOf(part.At(i), shape);
    const bool has_rows = part.owns_experts || ranges.feed_forward.count() > 0;
    if (ranges.head_groups.count() > 0 && ranges.embedding.count() > 0 && has_rows &&
        ranges.vocab.count() > 0) {
      continue;
    }
    return InvalidArgument(
        fmt::format("part {} of a group of {} would have none of the model's {} {}: make the group "
                    "smaller, or its shares more alike",
                    i + 1, part.count, HeadGroupsOf(shape),
                    shape.is_latent() ? "groups of heads" : "key-value heads"));
  }
  return Ok();
}

}  // namespace aster::model
