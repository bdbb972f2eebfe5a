// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Groups of a stage server: nodes that compute the layers of a stage together. The conductor sees
// only the leader; the other nodes see that node as their conductor.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "model/memory/memory.h"
#include "plan/route_model.h"
#include "stage/stage_server.h"

namespace aster::stage {
namespace {

// While an answer is decoded, its next frame comes within this time.
constexpr int64_t kSoonNs = 10 * kNsPerMs;

// Messages that are handled in order for a route, as each may depend on those before.
using InOrder = std::variant<wire::Begin, wire::Holds, wire::End, wire::Work, wire::SendKv,
                             wire::KvRows, wire::KvTaken, wire::Halt, wire::Cancel>;

// The route of such a message; nothing for any other one.
std::optional<wire::RouteId> RouteInOrder(const wire::Message& message) {
  const auto route_of = []<typename T>(const T& of) -> std::optional<wire::RouteId> {
    if constexpr (wire::kIsOneOf<T, InOrder>) return of.route;
    return std::nullopt;
  };
  return std::visit(route_of, static_cast<const wire::AnyMessage&>(message));
}

// What a deferred event takes in memory.
uint64_t DeferredBytes(const net::Event& event) {
  uint64_t bytes = sizeof(event);
  if (const auto* rows = std::get_if<wire::KvRows>(&event.message)) {
    bytes += rows->chunk.size();
  } else if (const auto* work = std::get_if<wire::Work>(&event.message)) {
    bytes += BytesOf(*work);
  } else if (const auto* begin = std::get_if<wire::Begin>(&event.message)) {
    bytes += (begin->tokens.size() + begin->stop_tokens.size()) * sizeof(int32_t) +
             begin->sampling.biases.size() * sizeof(wire::TokenBias);
  } else if (const auto* holds = std::get_if<wire::Holds>(&event.message)) {
    bytes += holds->why.message().size();
  }
  return bytes;
}

}  // namespace

void StageServer::JoinGroup(Route& route, const wire::OpenRoute& open) {
  const wire::StageGroup* const group = plan::GroupOf(open, open.index);
  if (group == nullptr) return;
  std::vector<wire::NodeId> nodes = {open.stages[open.index].node};
  for (const wire::StageAddress& member : group->members) {
    nodes.push_back(member.node);
    // Members send to one another; to the leader on the connection that it has made.
    if (open.part > 0 && member.node != network_.self())
      network_.Introduce(member.node, member.addresses);
  }
  const wire::RouteId id =
      open.part > 0 ? open.route : plan::GroupRouteOf(open.route, open.index, nodes.front());
  route.group =
      std::make_unique<Group>(network_, id, std::move(nodes), open.part, options_.max_queued_bytes);
  route.group_index = open.index;
  if (open.part == 0) route.members = std::make_unique<GroupMembers>(network_, id, open, *group);
}

// Chooses the experts that are on every node of a group that this one leads, if the plan does not.
void StageServer::ChooseReplicas(wire::OpenRoute& open) const {
  if (!options_.expert_uses || open.part > 0) return;
  for (wire::StageGroup& group : open.groups) {
    const bool is_asked = group.owns_experts && group.replicas > 0 && group.replicated.empty();
    if (group.stage == open.index && is_asked)
      group.replicated = options_.expert_uses->Replicated(open.fingerprint, group.replicas);
  }
}

// Only one node of a group counts: the others compute the same layers of the same tokens.
void StageServer::CountExperts(HeldSlice& slice) const {
  const model::Shape& shape = slice.model->shape();
  if (!options_.expert_uses || shape.experts.count == 0 || !slice.request.slice.part.is_leader())
    return;
  slice.model->CountExperts(options_.expert_uses->Of(slice.request.fingerprint, shape));
}

// The route whose group has this number and is led by this node, or null.
StageServer::Route* StageServer::RouteOfLedGroup(wire::RouteId group) {
  const auto found = std::ranges::find_if(routes_, [&](const auto& item) {
    return item.second.members && item.second.group->route() == group;
  });
  return found == routes_.end() ? nullptr : &found->second;
}

StageServer::StageEntry& StageServer::Route::GroupEntry() {
  return **std::ranges::find_if(stages,
                                [this](const auto& entry) { return entry->index == group_index; });
}

bool StageServer::Route::IsOfGroup(const StageMemory& memory) const {
  return group && std::ranges::any_of(stages, [&](const auto& entry) {
           return entry->index == group_index && &entry->stage->memory() == &memory;
         });
}

// --- KV rows of a group that this node leads.

void StageServer::MakeGroupRows(Route& route, const engine::LocalModel& model) {
  const model::GroupPart& part = model.weights().slice.part;
  const wire::StageGroup& group = *plan::GroupOf(route.open, route.group_index);
  std::vector<GroupRows::Member> members;
  for (uint32_t i = 0; i < group.members.size(); ++i) {
    members.push_back({group.members[i].node, model::ColumnsOf(part.At(i + 1), model.shape())});
  }
  route.group_rows = std::make_unique<GroupRows>(
      route.group->route(), model::ColumnsOf(part, model.shape()), std::move(members));
}

// A member has sent its columns of rows for another node: sends them on once all columns are here.
void StageServer::OnMemberRows(Route& route, const wire::NodeId& from, wire::KvRows&& rows) {
  if (!route.is_ready || !route.members->Has(from)) return;
  StageMemory& memory = route.GroupEntry().stage->memory();
  const wire::SequenceId sequence = rows.sequence;
  const auto chunk = kv::ParseKvChunk(rows.chunk);
  if (!chunk.ok()) {
    return TellHolds(route, memory, sequence, memory.model().layers(), chunk.error());
  }
  const kv::KvChunkHeader& header = chunk->header;
  static_cast<void>(network_.Send(from, wire::KvTaken{.route = rows.route,
                                                      .sequence = sequence,
                                                      .epoch = rows.epoch,
                                                      .ticket = rows.ticket,
                                                      .layer_begin = header.layers.begin,
                                                      .layer_end = header.layers.end,
                                                      .end = header.end}));
  auto whole = route.group_rows->OnPart(from, std::move(rows));
  if (!whole.ok()) {
    return TellHolds(route, memory, sequence, memory.model().layers(), whole.error());
  }
  if (!*whole) return;
  // If the node cannot be reached, kDown follows, and the route breaks (OnDown).
  static_cast<void>(network_.Send((*whole)->to, std::move((*whole)->rows)));
  for (const wire::SequenceId held : route.group_rows->Released()) SendRows(route, memory, held);
}

// Sends the members their columns of rows that came, after this node has taken its own.
void StageServer::SendParts(Route& route, const wire::NodeId& from, const kv::KvChunk& chunk,
                            const wire::KvTaken& taken) {
  auto parts = route.group_rows->Divide(from, chunk, taken);
  if (!parts.ok()) {
    const StageMemory& memory = route.GroupEntry().stage->memory();
    return TellHolds(route, memory, taken.sequence, chunk.header.layers, parts.error());
  }
  for (GroupRows::ForMember& part : *parts) {
    static_cast<void>(network_.Send(part.to, std::move(part.rows)));
  }
}

// Whether a frame of a group is in flight. It may wait long for other nodes, without a thread.
bool StageServer::AwaitsParts() const {
  return std::ranges::any_of(frames_in_flight_, &FrameInFlight::awaits_parts);
}

bool StageServer::AwaitsParts(const Route& route) const {
  return std::ranges::any_of(frames_in_flight_, [&](const FrameInFlight& frame) {
    return frame.awaits_parts && frame.route == route.open.route;
  });
}

// Whether the frame waits for other nodes now, rather than for a device of this node.
bool StageServer::WaitsForParts(const FrameInFlight& frame) {
  return frame.awaits_parts && !Stage::IsComputing(*frame.frame);
}

bool StageServer::ExpectsGroupMessage() const {
  if (AwaitsParts()) return true;
  // A group that has just computed gets its next work soon.
  if (network_.clock().NowNs() - last_end_ns_ > kSoonNs) return false;
  const auto last = routes_.find(last_computed_);
  return last != routes_.end() && last->second.group != nullptr;
}

// The route for whose frames the event must wait, or null. A message that changes sequences waits
// until no frame of its route waits for other nodes, and later ones of that route wait behind it.
// Nothing else waits: neither rows, with which frames go on, nor what ends a route, nor messages
// about other routes.
StageServer::Route* StageServer::RouteToAwait(const net::Event& event) {
  if (event.kind != net::Event::Kind::kMessage) return nullptr;
  const std::optional<wire::RouteId> id = RouteInOrder(event.message);
  if (!id) return nullptr;
  const auto found = routes_.find(*id);
  Route* const route = found != routes_.end() ? &found->second : RouteOfLedGroup(*id);
  if (route == nullptr) return nullptr;
  const bool changes = !std::holds_alternative<wire::Work>(event.message) &&
                       !std::holds_alternative<wire::Cancel>(event.message);
  return !route->deferred.empty() || (changes && AwaitsParts(*route)) ? route : nullptr;
}

// The senders may already send more: the network does not count a message that was received.
void StageServer::Defer(Route& route, net::Event event) {
  route.deferred_bytes += DeferredBytes(event);
  if (route.deferred_bytes <= options_.max_queued_bytes) {
    return route.deferred.push_back(std::move(event));
  }
  Break(route.open.route, ResourceExhausted(fmt::format(
                              "node {} gets more messages than its group computes", Self())));
}

void StageServer::HandleDeferred() {
  // Handling an event may end any route.
  const auto may_go_on = [this](const auto& item) {
    return !item.second.deferred.empty() && !AwaitsParts(item.second);
  };
  for (auto next = std::ranges::find_if(routes_, may_go_on); next != routes_.end();
       next = std::ranges::find_if(routes_, may_go_on)) {
    net::Event event = std::move(next->second.deferred.front());
    next->second.deferred.pop_front();
    next->second.deferred_bytes -= DeferredBytes(event);
    HandleNow(std::move(event));
  }
}

void StageServer::OnPartRows(const wire::NodeId& from, wire::PartRows&& rows) {
  const auto found = routes_.find(rows.route);
  Route* const route = found != routes_.end() ? &found->second : RouteOfLedGroup(rows.route);
  if (route == nullptr || !route->group) return;
  const Status taken = route->group->OnRows(from, std::move(rows));
  has_part_rows_ = AwaitsParts();
  if (!taken.ok()) Break(route->open.route, taken.error());
}

// A member's reply to Begin or to KV rows: the conductor gets the group's reply after the last one.
void StageServer::OnMemberHolds(const wire::NodeId& from, const wire::Holds& holds) {
  Route* const route = RouteOfLedGroup(holds.route);
  if (route == nullptr || !route->is_ready) return;
  Stage& stage = *route->GroupEntry().stage;
  const bool is_awaited =
      route->members->IsAwaited(holds) || route->group_rows->IsAwaited(from, holds);
  std::optional<wire::Holds> reply = route->members->OnHolds(from, holds);
  std::optional<GroupRows::Taken> taken;
  if (!reply) taken = route->group_rows->OnHolds(from, holds);
  if (taken) {
    reply = stage.HoldsOf(holds.sequence);
    reply->length = std::min(reply->length, taken->length);
    reply->why = taken->why;
  } else if (!is_awaited && holds.attempt == 0 && !holds.why.message().empty()) {
    // The member cannot send its columns of ordered rows: the conductor is told.
    route->group_rows->Forget(holds.sequence);
    return TellHolds(*route, stage.memory(), holds.sequence, stage.layers(), holds.why);
  }
  if (!reply) return;
  const auto* const state = stage.memory().Find(reply->sequence);
  if (state != nullptr) reply->hash = state->table.history().HashAt(reply->length);
  static_cast<void>(network_.Send(route->open.conductor.node, *std::move(reply)));
  if (!taken) return;
  static_cast<void>(network_.Send(taken->sender, taken->reply));
  SendRows(*route, stage.memory(), holds.sequence);
}

// Handles the state of a member; false if this node leads no group of that number.
bool StageServer::OnMemberState(const wire::NodeId& from, const wire::RouteState& state) {
  Route* const route = RouteOfLedGroup(state.route);
  if (route == nullptr || !route->members->Has(from)) return false;
  const Status status = route->members->OnState(from, state);
  if (status.ok()) return true;
  // Another node may have the model that this one lacks: the conductor plans without it.
  const bool is_lost = status.error().code() == Code::kNotFound;
  Break(route->open.route, status.error(), is_lost ? from : state.lost);
  return true;
}

}  // namespace aster::stage
