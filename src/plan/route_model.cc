// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "plan/route_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "plan/plan.h"

namespace aster::plan {

Hash128 MemoryName(const Hash128& fingerprint, wire::RowEncoding encoding,
                   wire::RowEncoding kv_encoding, std::span<const wire::StageAddress> stages) {
  const bool is_exact = encoding == wire::RowEncoding::kF32;
  if (is_exact && kv_encoding == wire::RowEncoding::kF32) return fingerprint;
  Hasher hasher;
  hasher.AddValue(fingerprint.low);
  hasher.AddValue(fingerprint.high);
  hasher.AddValue(static_cast<uint8_t>(encoding));
  hasher.AddValue(static_cast<uint8_t>(kv_encoding));
  // With exact rows between stages, KV rows are close to the exact ones before a transfer, on any
  // node: the name does not depend on the slices.
  if (is_exact) return hasher.Digest();
  for (const wire::StageAddress& stage : stages) hasher.AddValue(stage.layer_end);
  return hasher.Digest();
}

Result<kv::Layout> LayoutOf(const model::Shape& shape, const model::MemoryOptions& memory,
                            const Hash128& memory_name) {
  return model::MakeMemoryLayout(shape, model::Narrowed(memory, shape), memory_name);
}

model::Slice SliceOf(const wire::StageAddress& stage) {
  return {.layer_begin = stage.layer_begin,
          .layer_end = stage.layer_end,
          .embedding = stage.embedding,
          .head = stage.head};
}

const wire::StageGroup* GroupOf(const wire::OpenRoute& open, uint32_t stage) {
  const auto found = std::ranges::find(open.groups, stage, &wire::StageGroup::stage);
  return found == open.groups.end() ? nullptr : &*found;
}

const wire::NodeId& NodeOf(const wire::OpenRoute& open) {
  if (open.part == 0) return open.stages[open.index].node;
  return GroupOf(open, open.index)->members[open.part - 1].node;
}

// The message's groups have not been checked before.
Status CheckGroupsOf(const wire::OpenRoute& open) {
  for (const wire::StageGroup& group : open.groups) {
    const size_t count = group.members.size() + 1;
    const bool shares_all =
        group.shares.size() == count && std::ranges::all_of(group.shares, [](uint32_t share) {
          return share > 0 && share <= kMostShare;
        });
    if (group.stage >= open.stages.size() || count < 2 || count > model::GroupPart::kMostParts ||
        !shares_all) {
      return InvalidArgument("a group that no plan has");
    }
  }
  for (const wire::StageGroup& group : open.groups) {
    const auto leads = [&](const wire::StageGroup& other) {
      return open.stages[other.stage].node == open.stages[group.stage].node;
    };
    if (std::ranges::count_if(open.groups, leads) > 1) {
      return InvalidArgument(fmt::format("node {} leads two groups of a route",
                                         open.stages[group.stage].node.ToText()));
    }
  }
  const wire::StageGroup* const own = GroupOf(open, open.index);
  if (open.part > 0 && (own == nullptr || open.part > own->members.size())) {
    return InvalidArgument(fmt::format("part {} of a group that has fewer", open.part));
  }
  if (!open.groups.empty() && open.decode_stages > 0 &&
      open.kv_encoding != wire::RowEncoding::kF32) {
    return Unimplemented("a group's KV rows travel exactly: leave --kv-wire out");
  }
  return Ok();
}

bool AreOfOneRoute(wire::OpenRoute a, wire::OpenRoute b) {
  b.index = a.index;
  for (wire::OpenRoute* const each : {&a, &b}) {
    for (wire::StageGroup& group : each->groups) group.replicated.clear();
  }
  return a == b;
}

wire::RouteId GroupRouteOf(wire::RouteId route, uint32_t stage, const wire::NodeId& leader) {
  Hasher hasher;
  hasher.AddValue(route);
  hasher.AddValue(stage);
  hasher.AddValue(leader.value.low);
  return hasher.Digest().low;
}

model::Slice OwnSliceOf(const wire::OpenRoute& open) {
  model::Slice slice = SliceOf(open.stages[open.index]);
  const wire::StageGroup* const group = GroupOf(open, open.index);
  if (group == nullptr) return slice;
  slice.part.index = open.part;
  slice.part.count = static_cast<uint32_t>(group->shares.size());
  std::ranges::copy(group->shares, slice.part.shares.begin());
  slice.part.owns_experts = group->owns_experts;
  slice.part.replicas = group->replicas;
  slice.part.replicated = group->replicated;
  return slice;
}

}  // namespace aster::plan
