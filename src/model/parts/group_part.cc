// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/parts/group_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <numeric>

#include "kernels/packed.h"
#include "model/parts/part_bytes.h"
#include "model/shape/shape.h"

namespace aster::model {
namespace {

// Panels of packed weights are not divided.
constexpr uint32_t kRowStep = kernels::kPanelRows;

// The width of dense networks; 0 if all layers have experts.
uint32_t DenseWidth(const Shape& shape) {
  const bool is_there =
      shape.experts.count == 0 || shape.experts.dense_layers > 0 || shape.is_gemma4();
  return is_there ? shape.feed_forward : 0;
}

// The name of a tensor within its layer: "attn_q" of blk.3.attn_q.weight.
std::string_view ProductOf(std::string_view name) {
  if (!name.starts_with("blk.")) return {};
  const size_t begin = name.find('.', 4) + 1;
  return name.substr(begin, name.rfind('.') - begin);
}

uint32_t LayerOf(std::string_view name) {
  uint32_t layer = 0;
  for (size_t i = 4; i < name.size() && name[i] >= '0' && name[i] <= '9'; ++i)
    layer = 10 * layer + static_cast<uint32_t>(name[i] - '0');
  return layer;
}

bool IsOneOf(std::string_view product, std::initializer_list<std::string_view> products) {
  return std::ranges::count(products, product) > 0;
}

// Whether a tensor holds a matrix, or a row of biases, for each expert.
bool IsOfExperts(std::string_view product) {
  return IsOneOf(product, {"ffn_gate_exps", "ffn_up_exps", "ffn_down_exps", "ffn_gate_up_exps"});
}

// Query heads of one group.
uint32_t HeadsOfGroup(const Shape& shape) { return shape.head_count / HeadGroupsOf(shape); }

// Whether a tensor of keys and values is one for each head.
bool IsOfEachHead(const Shape& shape, std::string_view product) {
  return shape.is_mla() && IsOneOf(product, {"attn_k_b", "attn_v_b"});
}

// The rows of attention tensors that the part has.
std::optional<PartRange> RowsOfAttention(const PartRange& groups, const Shape& shape,
                                         std::string_view name) {
  const std::string_view product = ProductOf(name);
  const PartRange heads = groups * HeadsOfGroup(shape);
  if (product == "attn_sinks" || IsOfEachHead(shape, product)) return heads;
  if (product == "attn_output_a") return groups * shape.latent.output_rank;
  if (product == "attn_kv_b") return heads * (shape.mla.key_dim + shape.mla.value_dim);
  if (IsOneOf(product, {"attn_q", "attn_q_b"})) {
    if (shape.is_mla()) return heads * (shape.mla.key_dim + shape.rope.dimensions);
    // If the heads' output is gated, every head has a query and a gate.
    const uint32_t each = shape.is_recurrent() ? 2 : 1;
    return heads * (each * HeadDimOf(shape, LayerOf(name)));
  }
  if (HasWholeKeys(shape) || !IsOneOf(product, {"attn_k", "attn_v"})) return std::nullopt;
  const uint32_t layer = LayerOf(name);
  const uint32_t dim = product == "attn_k" ? HeadDimOf(shape, layer) : ValueDimOf(shape, layer);
  return groups * (KvHeadsOf(shape, layer) / HeadGroupsOf(shape) * dim);
}

}  // namespace

bool HasWholeKeys(const Shape& shape) { return shape.is_mla() || shape.is_recurrent(); }

uint32_t HeadGroupsOf(const Shape& shape) {
  if (shape.is_latent()) return shape.latent.output_groups;
  if (HasWholeKeys(shape)) return shape.head_count;
  const uint32_t windowed = shape.kinds.window_kv_heads;
  return windowed == 0 ? shape.kv_head_count : std::gcd(shape.kv_head_count, windowed);
}

uint32_t AttendedOfGroup(const Shape& shape, uint32_t layer) {
  if (shape.is_latent()) return shape.latent.output_rank;
  if (shape.is_mla()) return shape.mla.value_dim;
  return HeadsOfGroup(shape) * ValueDimOf(shape, layer);
}

LayerGathers GathersOf(const Shape& shape, uint32_t layer, bool owns_experts) {
  const Experts& experts = shape.experts;
  LayerGathers all;
  const auto add = [&](uint64_t numbers) {
    ++all.count;
    all.numbers += numbers;
  };
  const auto add_input = [&](LayerGathers::Input input) {
    ++all.count;
    all.inputs.push_back(input);
  };
  if (shape.has_state(layer)) {
    add(uint64_t{shape.recurrence.channels()} + shape.recurrence.values());
  } else {
    // Norms over all heads need all queries and keys first.
    const uint64_t heads = uint64_t{shape.head_count} + shape.kv_head_count;
    if (shape.has_wide_norms()) add(heads * shape.head_dim);
    add_input({.product = shape.is_latent() ? "attn_output_b" : "attn_output",
               .range = &PartRanges::head_groups,
               .each = AttendedOfGroup(shape, layer)});
  }
  add(shape.embedding);
  if (!shape.has_experts(layer) || shape.is_gemma4()) {
    const bool is_own = KvLayerOf(shape, layer) == layer;
    add_input({.product = "ffn_down",
               .range = is_own ? &PartRanges::feed_forward : &PartRanges::sharing});
    add(shape.embedding);
  }
  if (!shape.has_experts(layer)) return all;
  if (owns_experts) {
    ++all.count;
    all.sums = shape.embedding;
    return all;
  }
  // A token has a wide row for each of its experts; those of shared ones are in the same message.
  add_input(
      {.product = "ffn_down_exps", .range = &PartRanges::experts, .each = 1, .rows = experts.used});
  if (experts.shared == 1) {
    all.inputs.push_back({.product = "ffn_down_shexp", .range = &PartRanges::experts});
  } else {
    all.numbers += uint64_t{experts.shared} * experts.feed_forward;
  }
  add(shape.embedding);
  return all;
}

bool AreInSteps(std::span<const PartRanges> parts, PartRange PartRanges::* range, uint32_t each,
                size_t step) {
  return step > 0 && std::ranges::all_of(parts, [&](const PartRanges& ranges) {
           const PartRange columns = ranges.*range * each;
           return columns.begin % step == 0 && columns.end % step == 0;
         });
}

std::vector<uint16_t> EvenlySpaced(uint32_t count, uint32_t all) {
  std::vector<uint16_t> chosen(count);
  for (uint32_t i = 0; i < count; ++i)
    chosen[i] = static_cast<uint16_t>((2 * uint64_t{i} + 1) * all / (2 * uint64_t{count}));
  return chosen;
}

std::vector<uint16_t> ReplicatedExperts(const GroupPart& part, const Shape& shape, uint32_t layer) {
  const uint32_t count = part.owns_experts ? std::min(part.replicas, shape.experts.count) : 0;
  // Without counts: the same number of each part's.
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
  // Where a part begins, rounded to a step: each ends where the next one begins.
  const auto at = [&](uint64_t shares) {
    return static_cast<uint32_t>((steps * shares + all / 2) / all * step);
  };
  const bool is_last = part.index + 1 == part.count;
  return {at(before), is_last ? count : at(before + part.shares[part.index])};
}

PartRanges RangesOf(const GroupPart& part, const PartRanges& all) {
  const auto rows = [&](const PartRange& range) { return RangeOf(part, range.count(), kRowStep); };
  return {.head_groups = RangeOf(part, all.head_groups.count()),
          .embedding = rows(all.embedding),
          .feed_forward = rows(all.feed_forward),
          .sharing = rows(all.sharing),
          .experts = rows(all.experts),
          .channels = rows(all.channels),
          .values = rows(all.values),
          .vocab = rows(all.vocab)};
}

PartRanges RangesOf(const GroupPart& part, const Shape& shape) {
  return RangesOf(part, {.head_groups = {0, HeadGroupsOf(shape)},
                         .embedding = {0, shape.embedding},
                         .feed_forward = {0, DenseWidth(shape)},
                         .sharing = {0, shape.kinds.sharing_feed_forward},
                         .experts = {0, shape.experts.feed_forward},
                         .channels = {0, shape.recurrence.channels()},
                         .values = {0, shape.recurrence.values()},
                         .vocab = {0, shape.vocab_size}});
}

Shape ShapeOfPart(const GroupPart& part, const Shape& shape) {
  if (part.is_whole()) return shape;
  const PartRanges ranges = RangesOf(part, shape);
  Shape own = shape;
  own.head_count = HeadsOfGroup(shape) * ranges.head_groups.count();
  if (shape.is_latent()) {
    own.latent.output_groups = ranges.head_groups.count();
  } else if (!HasWholeKeys(shape)) {
    const auto heads_of = [&](uint32_t all) {
      return all / HeadGroupsOf(shape) * ranges.head_groups.count();
    };
    own.kv_head_count = heads_of(shape.kv_head_count);
    own.kinds.window_kv_heads = heads_of(shape.kinds.window_kv_heads);
  }
  if (DenseWidth(shape) > 0) own.feed_forward = ranges.feed_forward.count();
  own.kinds.sharing_feed_forward = ranges.sharing.count();
  if (!part.owns_experts) own.experts.feed_forward = ranges.experts.count();
  return own;
}

bool IsOfExperts(const TensorSpec& tensor) {
  return tensor.name.ends_with(".weight") && IsOfExperts(ProductOf(tensor.name));
}

size_t DividedDimension(const Shape& shape, const TensorSpec& tensor) {
  if (IsOfEachHead(shape, ProductOf(tensor.name))) return 2;
  const bool is_matrix = tensor.dims.size() > 1 && !tensor.name.ends_with(".bias");
  return is_matrix ? 1 : 0;
}

uint64_t RowsOfSeveral(const GroupPart& part, const Shape& shape, std::string_view name) {
  return part.is_whole() ? 0 : RowsOfSeveral(RangesOf(part, shape), part.owns_experts, shape, name);
}

uint64_t RowsOfSeveral(const PartRanges& own, bool owns_experts, const Shape& shape,
                       std::string_view name) {
  const std::string_view product = ProductOf(name);
  const bool is_fused = shape.is_fused() || shape.kinds.fused;
  if (product == "attn_qkv" && is_fused) {
    const uint32_t layer = LayerOf(name);
    const uint64_t dim = HeadDimOf(shape, layer);
    const uint64_t kv_heads =
        uint64_t{own.head_groups.count()} * (KvHeadsOf(shape, layer) / HeadGroupsOf(shape));
    const uint64_t heads = uint64_t{own.head_groups.count()} * HeadsOfGroup(shape);
    return (heads + kv_heads) * dim + kv_heads * ValueDimOf(shape, layer);
  }
  if (product == "ffn_up" && shape.is_fused()) return 2 * uint64_t{own.feed_forward.count()};
  if (product == "ssm_in") return uint64_t{own.channels.count()} + own.values.count();
  if (owns_experts) return 0;
  // Several shared experts are stored as one wide expert.
  if (IsOneOf(product, {"ffn_gate_shexp", "ffn_up_shexp"}) && shape.experts.shared > 1)
    return uint64_t{shape.experts.shared} * own.experts.count();
  return product == "ffn_gate_up_exps" ? 2 * uint64_t{own.experts.count()} : 0;
}

namespace {

// Rows of the projections of a layer that keeps states.
std::optional<PartRange> RowsOfDeltaNet(const PartRanges& own, std::string_view product) {
  if (product == "attn_qkv") return own.channels;
  if (product == "attn_gate") return own.values;
  return std::nullopt;
}

}  // namespace

std::optional<PartRange> DividedRows(const GroupPart& part, const Shape& shape,
                                     std::string_view name) {
  if (part.is_whole()) return std::nullopt;
  return DividedRows(RangesOf(part, shape), part.owns_experts, shape, name);
}

std::optional<PartRange> DividedRows(const PartRanges& own, bool owns_experts, const Shape& shape,
                                     std::string_view name) {
  // The scale of an expert is one number.
  if (name.ends_with(".scale")) return std::nullopt;
  if (const auto rows = RowsOfAttention(own.head_groups, shape, name)) return rows;
  const std::string_view product = ProductOf(name);
  if (shape.is_recurrent()) {
    if (const auto rows = RowsOfDeltaNet(own, product)) return rows;
  }
  if (IsOneOf(product, {"attn_output", "attn_output_b", "ssm_out", "ffn_down"}))
    return own.embedding;
  // The head, which may be the embedding's matrix.
  if (name == "output.weight" || name == "token_embd.weight") return own.vocab;
  if (IsOneOf(product, {"ffn_gate", "ffn_up"})) {
    const uint32_t layer = LayerOf(name);
    return KvLayerOf(shape, layer) == layer ? own.feed_forward : own.sharing;
  }
  // Owned experts are whole, and the shared one is on all parts.
  if (owns_experts) return std::nullopt;
  if (IsOneOf(product, {"ffn_down_exps", "ffn_down_shexp"})) return own.embedding;
  if (IsOneOf(product, {"ffn_gate_exps", "ffn_up_exps"})) return own.experts;
  if (IsOneOf(product, {"ffn_gate_shexp", "ffn_up_shexp"}) && shape.experts.shared == 1)
    return own.experts;
  return std::nullopt;
}

bool IsDividedByHeads(const Shape& shape, std::string_view name) {
  return RowsOfAttention({}, shape, name).has_value();
}

uint64_t BytesOfPart(const GroupPart& part, const Shape& shape, const TensorSpec& tensor,
                     uint64_t bytes) {
  if (part.is_whole()) return bytes;
  const PartBytes all = PartBytesOf(shape, tensor, bytes, part.owns_experts);
  const uint64_t experts =
      all.expert == 0 ? 0 : ExpertsOf(part, shape, static_cast<uint32_t>(tensor.layer)).size();
  return all.Of(RangesOf(part, shape), part.is_leader(), experts);
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

// Whether the part has some of every range that the model has.
bool HasSomeOfAll(const PartRanges& own, const GroupPart& part, const Shape& shape) {
  const auto has = [](const PartRange& range, uint32_t all) {
    return all == 0 || range.count() > 0;
  };
  return own.head_groups.count() > 0 && own.embedding.count() > 0 && own.vocab.count() > 0 &&
         has(own.feed_forward, DenseWidth(shape)) &&
         has(own.sharing, shape.kinds.sharing_feed_forward) &&
         has(own.channels, shape.recurrence.channels()) &&
         has(own.values, shape.recurrence.values()) &&
         (part.owns_experts || has(own.experts, shape.experts.feed_forward));
}

std::string_view NameOfHeadGroups(const Shape& shape) {
  if (HasWholeKeys(shape)) return "heads";
  return shape.is_latent() || shape.kinds.window_kv_heads > 0 ? "groups of heads"
                                                              : "key-value heads";
}

}  // namespace

Status CheckGroup(const GroupPart& part, const Shape& shape) {
  if (part.is_whole()) return Ok();
  if (part.count > GroupPart::kMostParts || part.index >= part.count) {
    return InvalidArgument(fmt::format("part {} of a group of {} nodes; 2 to {} can be a group",
                                       part.index, part.count, GroupPart::kMostParts));
  }
  if (std::ranges::count(std::span(part.shares).first(part.count), 0u) > 0) {
    return InvalidArgument("a node of a group with no share of its work: leave it out");
  }
  if (part.owns_experts) TRY(CheckOwners(part, shape));
  for (uint32_t i = 0; i < part.count; ++i) {
    const PartRanges ranges = RangesOf(part.At(i), shape);
    if (HasSomeOfAll(ranges, part, shape)) continue;
    return InvalidArgument(
        fmt::format("part {} of a group of {} would have none of the model's {} {}: make the group "
                    "smaller, or its shares more alike",
                    i + 1, part.count, HeadGroupsOf(shape), NameOfHeadGroups(shape)));
  }
  return Ok();
}

}  // namespace aster::model
