// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/group_part.h"

#include <fmt/format.h>

#include <algorithm>
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
  const uint64_t keys = uint64_t{own.kv_heads.count()} * shape.head_dim;
  if (name.ends_with(".attn_qkv.weight"))
    return keys * (shape.head_count / shape.kv_head_count + 2);
  return name.ends_with(".ffn_up.weight") ? 2 * uint64_t{own.feed_forward.count()} : 0;
}

}  // namespace

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
  return {.kv_heads = RangeOf(part, shape.kv_head_count),
          .embedding = RangeOf(part, shape.embedding, kRowStep),
          .feed_forward = RangeOf(part, shape.feed_forward, kRowStep),
          .vocab = RangeOf(part, shape.vocab_size, kRowStep)};
}

Shape ShapeOfPart(const GroupPart& part, const Shape& shape) {
  if (part.is_whole()) return shape;
  const PartRanges ranges = RangesOf(part, shape);
  Shape own = shape;
  own.kv_head_count = ranges.kv_heads.count();
  own.head_count = shape.head_count / shape.kv_head_count * own.kv_head_count;
  own.feed_forward = ranges.feed_forward.count();
  return own;
}

std::optional<PartRange> DividedRows(const GroupPart& part, const Shape& shape,
                                     std::string_view name) {
  if (part.is_whole()) return std::nullopt;
  const PartRanges own = RangesOf(part, shape);
  const auto is_of = [name](std::string_view product) { return name.find(product) != name.npos; };
  // Query heads are divided by the key-value heads that they read.
  const PartRange keys = own.kv_heads * shape.head_dim;
  const uint32_t queries_each = shape.head_count / shape.kv_head_count;
  if (IsDividedByHeads(name)) return is_of(".attn_q.") ? keys * queries_each : keys;
  if (is_of(".attn_output.") || is_of(".ffn_down.")) return own.embedding;
  if (is_of(".ffn_gate.") || is_of(".ffn_up.")) return own.feed_forward;
  // The head, which may be the embedding's matrix.
  if (name == "output.weight" || name == "token_embd.weight") return own.vocab;
  return std::nullopt;
}

bool IsDividedByHeads(std::string_view name) {
  constexpr std::array<std::string_view, 3> kProducts = {".attn_q.", ".attn_k.", ".attn_v."};
  return std::ranges::any_of(
      kProducts, [name](std::string_view product) { return name.find(product) != name.npos; });
}

uint64_t BytesOfPart(const GroupPart& part, const Shape& shape, const TensorSpec& tensor,
                     uint64_t bytes) {
  if (const uint64_t fused = FusedRows(part, shape, tensor.name))
    return bytes / tensor.dims.back() * fused;
  const auto rows = DividedRows(part, shape, tensor.name);
  return rows ? bytes / tensor.dims.back() * rows->count() : bytes;
}

Status CheckGroup(const GroupPart& part, const Shape& shape) {
  if (part.is_whole()) return Ok();
  if (part.count > GroupPart::kMostParts || part.index >= part.count) {
    return InvalidArgument(fmt::format("part {} of a group of {} nodes; 2 to {} can be a group",
                                       part.index, part.count, GroupPart::kMostParts));
  }
  if (!shape.is_divisible() || shape.experts.count > 0) {
    return Unimplemented(
        fmt::format("a group of nodes cannot compute layers of {} together: give each node layers "
                    "of its own, as --split auto does",
                    ArchName(shape.arch)));
  }
  if (std::ranges::count(std::span(part.shares).first(part.count), 0u) > 0) {
    return InvalidArgument("a node of a group with no share of its work: leave it out");
  }
  for (uint32_t i = 0; i < part.count; ++i) {
    const PartRanges ranges = RangesOf(part.At(i), shape);
    if (ranges.kv_heads.count() > 0 && ranges.embedding.count() > 0 &&
        ranges.feed_forward.count() > 0 && ranges.vocab.count() > 0) {
      continue;
    }
    return InvalidArgument(
        fmt::format("part {} of a group of {} would have none of the model's {} key-value heads: "
                    "make the group smaller, or its shares more alike",
                    i + 1, part.count, shape.kv_head_count));
  }
  return Ok();
}

}  // namespace aster::model
