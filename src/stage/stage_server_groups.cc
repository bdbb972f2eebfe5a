// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Groups of a stage server: nodes that compute the layers of a stage together. To the conductor the
// one that leads is the stage; to the others it is the conductor.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "plan/route_model.h"
#include "stage/stage_server.h"

namespace aster::stage {
namespace {

// More come only from nodes that do not keep to the protocol.
constexpr size_t kMostDeferred = 65536;

}  // namespace

void StageServer::JoinGroup(Route& route) {
  const wire::OpenRoute& open = route.open;
  const wire::StageGroup* const group = plan::GroupOf(open, open.index);
  if (group == nullptr) return;
  std::vector<wire::NodeId> nodes = {open.stages[open.index].node};
  for (const wire::StageAddress& member : group->members) {
    nodes.push_back(member.node);
    // They send to one another; to the one that leads on the connection that it has made.
    if (open.part > 0 && member.node != network_.self())
      network_.Introduce(member.node, member.addresses);
  }
  route.group = std::make_unique<Group>(network_, open.route, std::move(nodes), open.part,
                                        options_.max_queued_bytes);
  if (open.part == 0) route.members = std::make_unique<GroupMembers>(network_, open, *group);
}

// Whether a frame waits for another node: that may take long, and no thread waits for it.
bool StageServer::AwaitsParts() const {
  return std::ranges::any_of(under_way_, &UnderWay::awaits_parts);
}

bool StageServer::ExpectsSoon() const {
  if (AwaitsParts()) return true;
  // More work for a group that has just computed.
  const auto last = routes_.find(last_computed_);
  return last != routes_.end() && last->second.group != nullptr;
}

// Sequences stay as they are until all frames are done. Frames of a group wait for what comes as
// events, so others have to wait for their end.
bool StageServer::MayHandle(const net::Event& event) const {
  if (!AwaitsParts() && deferred_.empty()) return true;
  if (event.kind != net::Event::Kind::kMessage) return event.kind == net::Event::Kind::kUp;
  if (std::holds_alternative<wire::PartRows>(event.message)) return true;
  return deferred_.empty() && (std::holds_alternative<wire::Work>(event.message) ||
                               std::holds_alternative<wire::Cancel>(event.message));
}

void StageServer::HandleDeferred() {
  if (deferred_.size() > kMostDeferred && AwaitsParts()) {
    const auto waiting = std::ranges::find_if(under_way_, &UnderWay::awaits_parts);
    Break(waiting->route, ResourceExhausted(fmt::format(
                              "node {} gets more messages than its group computes", Self())));
  }
  while (!deferred_.empty() && !AwaitsParts()) {
    net::Event event = std::move(deferred_.front());
    deferred_.pop_front();
    HandleNow(std::move(event));
  }
}

void StageServer::OnPartRows(const wire::NodeId& from, wire::PartRows&& rows) {
  const auto found = routes_.find(rows.route);
  if (found == routes_.end() || !found->second.group) return;
  const wire::RouteId route = rows.route;
  const Status taken = found->second.group->OnRows(from, std::move(rows));
  has_part_rows_ = AwaitsParts();
  if (!taken.ok()) Break(route, taken.error());
}

// Of a sequence that begins: the conductor gets the group's reply when all have theirs.
void StageServer::OnMemberHolds(const wire::NodeId& from, const wire::Holds& holds) {
  const auto found = routes_.find(holds.route);
  if (found == routes_.end() || !found->second.members) return;
  Route& route = found->second;
  std::optional<wire::Holds> reply = route.members->OnHolds(from, holds);
  if (!reply) return;
  const auto* const state = route.memories.front()->memory->Find(reply->sequence);
  if (state != nullptr) reply->hash = state->table.history().HashAt(reply->length);
  static_cast<void>(network_.Send(route.open.conductor.node, *std::move(reply)));
}

// Whether it was about a group that this node leads.
bool StageServer::OnMemberState(const wire::NodeId& from, const wire::RouteState& state) {
  const auto found = routes_.find(state.route);
  if (found == routes_.end() || !found->second.members || !found->second.members->Has(from))
    return false;
  const Status status = found->second.members->OnState(from, state);
  if (status.ok()) return true;
  // Others may have what it lacks.
  const bool is_lost = status.error().code() == Code::kNotFound;
  Break(state.route, status.error(), is_lost ? from : state.lost);
  return true;
}

// Frames that wait for the node would wait for ever.
void StageServer::BreakGroupsOf(const wire::NodeId& node, const Error& why) {
  std::vector<wire::RouteId> broken;
  for (const auto& item : routes_) {
    const auto& [id, route] = item;
    if (!route.group) continue;
    if (route.open.conductor.node == node) {
      // OnDown drops the route.
      std::erase_if(under_way_,
                    [&item](const UnderWay& frame) { return frame.route == item.first; });
    } else if (route.group->Has(node) && node != network_.self()) {
      broken.push_back(id);
    }
  }
  for (const wire::RouteId id : broken) {
    Break(id,
          Error(Code::kUnavailable, fmt::format("node {} cannot reach node {} of its group: {}",
                                                Self(), node.ToText(), why.message())),
          node);
  }
}

}  // namespace aster::stage
