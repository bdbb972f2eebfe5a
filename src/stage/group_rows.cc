// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "stage/group_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kv/layout.h"

namespace aster::stage {
namespace {

// KV chunks of a sequence that wait for parts.
constexpr size_t kMostGathering = 32;

}  // namespace

bool GroupRows::MayGather(wire::SequenceId sequence) {
  const auto waiting = std::ranges::count_if(
      gathering_, [&](const auto& item) { return item.second.own.rows.sequence == sequence; });
  if (static_cast<size_t>(waiting) < kMostGathering) return true;
  held_back_.insert(sequence);
  return false;
}

wire::SendKv GroupRows::Gather(StageMemory::OutgoingKv own) {
  // Parsing cannot fail: this node has just made the chunk.
  const kv::KvChunkHeader header = kv::ParseKvChunk(own.rows.chunk).value().header;
  const wire::SendKv order{.route = group_,
                           .sequence = own.rows.sequence,
                           .epoch = own.rows.epoch,
                           .layer_begin = header.layers.begin,
                           .layer_end = header.layers.end,
                           .begin = header.begin,
                           .end = header.end,
                           .step = kInOneChunk,
                           .to = {},
                           .ticket = ++last_ticket_};
  gathering_.emplace(last_ticket_, Gathering{.own = std::move(own), .parts = {}});
  return order;
}

Result<std::optional<StageMemory::OutgoingKv>> GroupRows::OnPart(const wire::NodeId& from,
                                                                 wire::KvRows&& rows) {
  // Rows of a sequence that is over, or of an earlier epoch, are dropped.
  const auto found = gathering_.find(rows.ticket);
  if (found == gathering_.end() || found->second.own.rows.epoch != rows.epoch) {
    return std::optional<StageMemory::OutgoingKv>();
  }
  Gathering& gathering = found->second;
  gathering.parts[from] = std::move(rows.chunk);
  if (gathering.parts.size() < members_.size()) return std::optional<StageMemory::OutgoingKv>();
  auto joined = Join(gathering);
  StageMemory::OutgoingKv outgoing = std::move(gathering.own);
  gathering_.erase(found);
  outgoing.rows.chunk = TRY(std::move(joined));
  return std::optional(std::move(outgoing));
}

Result<wire::Payload> GroupRows::Join(const Gathering& gathering) const {
  std::vector<kv::KvChunk> parts = {TRY(kv::ParseKvChunk(gathering.own.rows.chunk))};
  for (const Member& member : members_) {
    const auto part = gathering.parts.find(member.node);
    if (part == gathering.parts.end()) {
      return DataLoss(fmt::format("node {} has sent no rows", member.node.ToText()));
    }
    parts.push_back(TRY(kv::ParseKvChunk(part->second)));
  }
  const std::vector<uint8_t> whole = TRY(kv::JoinKvChunks(parts));
  return wire::Payload(whole.begin(), whole.end());
}

Result<std::vector<GroupRows::ForMember>> GroupRows::Divide(const wire::NodeId& from,
                                                            const kv::KvChunk& chunk,
                                                            const wire::KvTaken& taken) {
  Dividing dividing{.taken = {.sender = from, .reply = taken}, .missing = {}};
  dividing.taken.length = kv::kMaxPositions;
  std::vector<ForMember> all;
  for (const Member& member : members_) {
    dividing.missing.insert(member.node);
    ForMember& part = all.emplace_back();
    part.to = member.node;
    part.rows.route = group_;
    part.rows.sequence = taken.sequence;
    part.rows.epoch = taken.epoch;
    if (member.columns.is_whole()) {
      part.rows.chunk.assign(chunk.head.begin(), chunk.head.end());
      part.rows.chunk.insert(part.rows.chunk.end(), chunk.blocks.begin(), chunk.blocks.end());
      continue;
    }
    const std::vector<uint8_t> cut = TRY(kv::CutKvChunk(chunk, member.columns));
    part.rows.chunk.assign(cut.begin(), cut.end());
  }
  dividing_[taken.sequence].push_back(std::move(dividing));
  return all;
}

bool GroupRows::IsAwaited(const wire::NodeId& from, const wire::Holds& holds) const {
  const auto found = dividing_.find(holds.sequence);
  return found != dividing_.end() && std::ranges::any_of(found->second, [&](const Dividing& each) {
           return each.taken.reply.epoch == holds.epoch && each.missing.contains(from);
         });
}

std::optional<GroupRows::Taken> GroupRows::OnHolds(const wire::NodeId& from,
                                                   const wire::Holds& holds) {
  const auto found = dividing_.find(holds.sequence);
  if (found == dividing_.end()) return std::nullopt;
  // Rows are sent to each member in order, and each answers in that order.
  std::deque<Dividing>& all = found->second;
  const auto oldest =
      std::ranges::find_if(all, [&](const Dividing& each) { return each.missing.contains(from); });
  if (oldest == all.end() || oldest->taken.reply.epoch != holds.epoch) return std::nullopt;
  Taken& taken = oldest->taken;
  oldest->missing.erase(from);
  taken.length = std::min(taken.length, holds.length);
  if (taken.why.message().empty() && !holds.why.message().empty()) {
    taken.why = Error(holds.why).In(fmt::format("node {}", from.ToText()));
    taken.reply.end = 0;
  }
  if (!all.front().missing.empty()) return std::nullopt;
  Taken done = std::move(all.front().taken);
  all.pop_front();
  if (all.empty()) dividing_.erase(found);
  return done;
}

void GroupRows::Forget(wire::SequenceId sequence) {
  dividing_.erase(sequence);
  held_back_.erase(sequence);
  std::erase_if(gathering_,
                [&](const auto& item) { return item.second.own.rows.sequence == sequence; });
}

}  // namespace aster::stage
