// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "stage/group_members.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace aster::stage {

GroupMembers::GroupMembers(net::Network& network, wire::RouteId group_route,
                           const wire::OpenRoute& open, const wire::StageGroup& group)
    : network_(network), route_(group_route) {
  wire::OpenRoute own = open;
  own.route = route_;
  own.conductor = {};
  own.conductor.node = network.self();
  for (const wire::StageAddress& member : group.members) {
    states_.try_emplace(member.node);
    network_.Introduce(member.node, member.addresses);
    ++own.part;
    // A member that cannot be reached is reported down by the network.
    const Status sent = network_.Send(member.node, own);
    if (!sent.ok() && !unopened_) unopened_.emplace(member.node, sent.error());
  }
}

GroupMembers::~GroupMembers() { SendToAll(wire::CloseRoute{.route = route_}); }

void GroupMembers::SendToAll(const wire::Message& message) const {
  for (const auto& [node, state] : states_) static_cast<void>(network_.Send(node, message));
}

Status GroupMembers::OnState(const wire::NodeId& from, const wire::RouteState& state) {
  if (state.kind == wire::RouteState::Kind::kRefused) return state.why;
  states_.at(from) = state;
  return Ok();
}

bool GroupMembers::is_ready() const {
  return std::ranges::all_of(
      states_, [](const auto& item) { return item.second.kind == wire::RouteState::Kind::kReady; });
}

void GroupMembers::AddTo(wire::RouteState& state) const {
  for (const auto& [node, other] : states_) {
    state.done_bytes += other.done_bytes;
    state.total_bytes += other.total_bytes;
    state.kv_positions = std::min(state.kv_positions, other.kv_positions);
  }
}

void GroupMembers::Begin(const wire::Begin& begin, wire::Holds own) {
  Waiting& waiting = waiting_[begin.sequence];
  waiting = {.holds = std::move(own), .missing = {}};
  for (const auto& [node, state] : states_) waiting.missing.insert(node);
  // Only the leader drafts.
  wire::Begin plain = begin;
  plain.draft_kind = 0;
  plain.route = route_;
  SendToAll(plain);
}

std::optional<wire::Holds> GroupMembers::OnHolds(const wire::NodeId& from,
                                                 const wire::Holds& holds) {
  const auto found = waiting_.find(holds.sequence);
  if (found == waiting_.end() || found->second.holds.epoch != holds.epoch) return std::nullopt;
  Waiting& waiting = found->second;
  if (waiting.missing.erase(from) == 0) return std::nullopt;
  waiting.holds.length = std::min(waiting.holds.length, holds.length);
  if (waiting.holds.why.message().empty() && !holds.why.message().empty()) {
    waiting.holds.why = Error(holds.why).In(fmt::format("node {}", from.ToText()));
  }
  if (!waiting.missing.empty()) return std::nullopt;
  wire::Holds reply = std::move(waiting.holds);
  waiting_.erase(found);
  return reply;
}

}  // namespace aster::stage
