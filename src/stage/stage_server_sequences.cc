// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Messages about sequences (Begin, End, Halt, Cancel) and KV transfers of a stage server.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "stage/stage_server.h"
#include "stage/transfer_ticket.h"

namespace aster::stage {
namespace {

bool IsOnRoute(const wire::OpenRoute& open, const wire::NodeId& node) {
  return std::ranges::count(open.stages, node, &wire::StageAddress::node) > 0;
}

Error Nothing() { return {Code::kUnknown, ""}; }

}  // namespace

StageServer::Route* StageServer::RouteOfConductor(const wire::NodeId& from, wire::RouteId route) {
  const auto found = routes_.find(route);
  if (found == routes_.end() || !found->second.is_ready) {
    Refuse(route, from,
           FailedPrecondition(fmt::format("node {} has no such route: open it again", Self())));
    return nullptr;
  }
  // Only the route's own conductor may send this; another node gets no reply.
  return found->second.open.conductor.node == from ? &found->second : nullptr;
}

void StageServer::OnBegin(const wire::NodeId& from, const wire::Begin& begin) {
  Route* const route = RouteOfConductor(from, begin.route);
  if (route == nullptr) return;
  // First refuses work of the epoch before, as the conductor waits for a reply to each attempt.
  for (const auto& entry : route->stages) EndGeneration(*route, *entry, begin.sequence);
  // Each stage reports how many of the tokens it holds, or why it holds none.
  for (const auto& held : route->memories) {
    const Status begun = held->memory->Begin(begin);
    for (const auto& entry : route->stages) {
      if (entry->held != held) continue;
      wire::Holds holds = entry->stage->HoldsOf(begin.sequence);
      holds.epoch = begin.epoch;
      if (!begun.ok()) holds.why = begun.error();
      // The reply of a group waits until all members have replied.
      if (route->members && entry->index == route->group_index) {
        route->group_rows->Forget(begin.sequence);
        route->members->Begin(begin, std::move(holds));
        continue;
      }
      static_cast<void>(network_.Send(from, std::move(holds)));
    }
  }
  // Transfers of the epoch before have ended: others may use their share of the bytes in flight.
  SendHeldBack();
}

void StageServer::OnEnd(const wire::NodeId& from, const wire::End& end) {
  const auto found = routes_.find(end.route);
  if (found == routes_.end() || found->second.open.conductor.node != from) return;
  if (!found->second.is_ready) return;
  for (const auto& entry : found->second.stages) {
    EndGeneration(found->second, *entry, end.sequence);
  }
  for (const auto& held : found->second.memories) held->memory->End(end.sequence);
  if (found->second.members) {
    wire::End own = end;
    own.route = found->second.group->route();
    found->second.group_rows->Forget(end.sequence);
    found->second.members->End(end.sequence);
    found->second.members->SendToAll(own);
  }
  SendHeldBack();
}

void StageServer::OnSendKv(const wire::NodeId& from, const wire::SendKv& order) {
  Route* const route = RouteOfConductor(from, order.route);
  if (route == nullptr) return;
  // Rows are sent only to the conductor and to nodes of the route.
  if (order.to != from && !IsOnRoute(route->open, order.to)) return;
  // The slice that has all of these layers sends the rows it has now, and others once computed.
  const kv::LayerRange layers = {order.layer_begin, order.layer_end};
  const auto named = StagesOf(order.ticket);
  StageMemory* const memory =
      route->MemoryOf(named ? std::optional(named->from) : std::nullopt, layers);
  if (memory == nullptr) return;
  const Status ordered = memory->SendKv(order);
  if (!ordered.ok()) return TellHolds(*route, *memory, order.sequence, layers, ordered.error());
  SendRows(*route, *memory, order.sequence);
}

StageMemory* StageServer::Route::MemoryOf(std::optional<uint32_t> stage,
                                          kv::LayerRange layers) const {
  StageMemory* found = nullptr;
  for (const auto& entry : stages) {
    StageMemory& memory = entry->stage->memory();
    if (!memory.model().layers().Contains(layers) || (stage && *stage != entry->index)) continue;
    if (found == nullptr || Decodes(entry->index)) found = &memory;
  }
  return found;
}

// --- This node's KV cache, for every node of the cluster.

KvPlaces StageServer::Places() const {
  KvPlaces places{.models = {}, .chunks = source_.page_chunks()};
  for (const auto& slice : slices_) {
    // A part of a group has whole rows only with some architectures.
    if (slice->model && slice->model->layout().columns().is_whole())
      places.models.push_back({slice->model.get(), slice->kv_encoding});
  }
  return places;
}

void StageServer::OnFindKv(const wire::NodeId& from, const wire::FindKv& find) {
  auto found = kv_server_.FindKv(from, find, Places(), network_.clock().NowNs());
  if (found) static_cast<void>(network_.Send(from, *std::move(found)));
}

void StageServer::OnFetchKv(const wire::NodeId& from, const wire::FetchKv& order) {
  // A connection to the receiver is opened only for an order that follows a query of its sender, so
  // that no node can make this one open connections at will.
  const bool is_taken = kv_server_.FetchKv(from, order, network_.clock().NowNs());
  const bool is_far = order.to.node != network_.self() && order.to.node != from;
  if (is_taken && is_far) network_.Introduce(order.to.node, order.to.addresses);
  ServeKv();
}

void StageServer::ServeKv() {
  const KvPlaces places = Places();
  while (auto outgoing = kv_server_.Next(places)) {
    const wire::NodeId to = outgoing->to;
    if (!network_.Send(to, std::move(outgoing->message)).ok()) kv_server_.Forget(to);
  }
}

void StageServer::OnKvTaken(const wire::NodeId& from, const wire::KvTaken& taken) {
  // The rows may belong to a fetch or to a transfer of a route: each ignores tickets of the other.
  kv_server_.OnKvTaken(from, taken);
  const auto found = routes_.find(taken.route);
  if (found != routes_.end() && found->second.is_ready) {
    for (const auto& held : found->second.memories) {
      held->memory->OnKvTaken(from, taken);
      SendRows(found->second, *held->memory, taken.sequence);
    }
  }
  SendHeldBack();
}

// Sends rows that waited because too many bytes were in flight. Called whenever bytes leave flight.
void StageServer::SendHeldBack() {
  ServeKv();
  for (auto& [id, route] : routes_) {
    if (!route.is_ready) continue;
    for (const auto& held : route.memories) {
      for (const wire::SequenceId sequence : held->memory->TakeHeldBack()) {
        SendRows(route, *held->memory, sequence);
      }
    }
  }
}

void StageServer::OnKvRows(const wire::NodeId& from, wire::KvRows&& rows) {
  if (Route* const leader_route = RouteOfLedGroup(rows.route)) {
    return OnMemberRows(*leader_route, from, std::move(rows));
  }
  const auto found = routes_.find(rows.route);
  if (found == routes_.end() || !found->second.is_ready) return;
  Route& route = found->second;
  // The sender need not be on the route. Only nodes that the conductor told the route's number know
  // it, as it is random; and the rows are checked in any case.
  Result<kv::KvChunk> chunk = kv::ParseKvChunk(rows.chunk);
  if (!chunk.ok()) {
    StageMemory& first = *route.memories.front()->memory;
    return TellHolds(route, first, rows.sequence, first.model().layers(), chunk.error());
  }
  // The chunk goes to the slice that has its layers.
  const kv::LayerRange layers = chunk->header.layers;
  const auto named = StagesOf(rows.ticket);
  StageMemory* const here = route.MemoryOf(named ? std::optional(named->to) : std::nullopt, layers);
  if (here == nullptr) return;
  StageMemory& memory = *here;
  const auto taken = memory.ImportKv(rows, *chunk);
  if (!taken.ok()) {
    // Tells the sender that these rows are not taken and no more should follow.
    static_cast<void>(network_.Send(from, RefusalOf(rows, layers)));
    return TellHolds(route, memory, rows.sequence, layers, taken.error());
  }
  if (!*taken) return;
  if (route.members && route.IsOfGroup(memory)) return SendParts(route, from, *chunk, **taken);
  TellHolds(route, memory, rows.sequence, layers, Nothing());
  // Sent to a conductor as well: a stage on its node may have sent the rows.
  static_cast<void>(network_.Send(from, **taken));
  // Other nodes may have ordered rows that are complete now.
  SendRows(route, memory, rows.sequence);
}

// Tells the conductor how many positions each stage of these layers holds, and an error if any.
void StageServer::TellHolds(const Route& route, const StageMemory& memory,
                            wire::SequenceId sequence, kv::LayerRange layers, const Error& why) {
  for (const auto& entry : route.stages) {
    const kv::LayerRange own = entry->stage->layers();
    if (&entry->stage->memory() != &memory || own.begin >= layers.end || layers.begin >= own.end) {
      continue;
    }
    wire::Holds holds = entry->stage->HoldsOf(sequence);
    holds.why = why;
    static_cast<void>(network_.Send(route.open.conductor.node, std::move(holds)));
  }
}

// Sends the rows that the transfers of a sequence may send now. Called whenever rows were computed,
// came or were taken.
void StageServer::SendRows(Route& route, StageMemory& memory, wire::SequenceId sequence) {
  // A frame in flight may change the sequence's states: its end sends the rows.
  if (IsInFlight(memory, sequence)) return;
  // While a stage decodes the sequence by itself, more rows are coming.
  const bool is_over = std::ranges::none_of(route.stages, [&](const auto& entry) {
    return &entry->stage->memory() == &memory && entry->generations.contains(sequence);
  });
  const bool joins =
      route.group_rows && !route.group_rows->has_whole_rows() && route.IsOfGroup(memory);
  while (!joins || route.group_rows->MayGather(sequence)) {
    auto next = memory.NextKv(sequence, is_over);
    if (!next.ok()) {
      return TellHolds(route, memory, sequence, memory.model().layers(), next.error());
    }
    if (!*next) return;
    if (joins) {
      // The other nodes of the group send their columns here first (OnMemberRows).
      wire::SendKv order = route.group_rows->Gather(std::move(**next));
      order.to = network_.self();
      route.members->SendToAll(order);
      continue;
    }
    const wire::NodeId to = (*next)->to;
    // If the node cannot be reached, kDown follows, and the route breaks (OnDown).
    if (!network_.Send(to, std::move((*next)->rows)).ok()) return;
  }
}

void StageServer::OnHalt(const wire::NodeId& from, const wire::Halt& halt) {
  Route* const route = RouteOfConductor(from, halt.route);
  if (route == nullptr) return;
  // KV sync sends its last rows now, fewer than a step.
  for (const auto& entry : route->stages) {
    EndGeneration(*route, *entry, halt.sequence, halt.attempt);
    SendRows(*route, entry->stage->memory(), halt.sequence);
  }
}

// Ends decoding of the sequence by the stage itself; `attempt`: only that one, 0: any. The
// conductor waits for a reply to each attempt, so it gets a refusal for each one that ends here.
void StageServer::EndGeneration(Route& route, StageEntry& entry, wire::SequenceId sequence,
                                uint64_t attempt) {
  // An attempt that has begun to decode.
  std::vector<uint64_t> ended;
  const auto is_meant = [&](uint64_t other) { return attempt == 0 || other == attempt; };
  const auto found = entry.generations.find(sequence);
  if (found != entry.generations.end() && is_meant(found->second.attempt)) {
    ended.push_back(found->second.attempt);
    entry.generations.erase(found);
  }
  // Attempts whose first token is still in a queue.
  const auto taken = TakeBack(entry, [&](const wire::WorkSegment& segment) {
    return segment.sequence == sequence && segment.more > 0 && is_meant(segment.attempt);
  });
  ended.insert(ended.end(), taken.begin(), taken.end());
  RefuseAttempts(route, entry, sequence, ended, "decoding was ended");
}

std::vector<uint64_t> StageServer::TakeBack(StageEntry& entry, IsMeant is_meant) {
  std::vector<uint64_t> attempts;
  for (std::deque<QueuedWork>* queue : {&entry.decodes, &entry.prefills}) {
    for (QueuedWork& queued : *queue) {
      std::erase_if(queued.work.segments, [&](const wire::WorkSegment& segment) {
        const bool is_taken = is_meant(segment);
        if (is_taken) attempts.push_back(segment.attempt);
        return is_taken;
      });
    }
    std::erase_if(*queue, [&](const QueuedWork& queued) {
      const bool is_empty = queued.work.segments.empty();
      if (is_empty) entry.queued_bytes -= queued.bytes;
      return is_empty;
    });
  }
  return attempts;
}

void StageServer::RefuseAttempts(const Route& route, const StageEntry& entry,
                                 wire::SequenceId sequence, std::span<const uint64_t> attempts,
                                 const char* why) {
  for (const uint64_t each : attempts) {
    wire::Holds holds = entry.stage->HoldsOf(sequence);
    holds.attempt = each;
    holds.why = Error(Code::kCancelled, why);
    static_cast<void>(network_.Send(route.open.conductor.node, std::move(holds)));
  }
}

// Drops queued segments of the attempts. Stage::Prepare refuses those that come later.
void StageServer::OnCancel(const wire::NodeId& from, const wire::Cancel& cancel) {
  const auto found = routes_.find(cancel.route);
  if (found == routes_.end() || found->second.open.conductor.node != from) return;
  if (!found->second.is_ready) return;
  for (const auto& entry : found->second.stages) {
    const auto taken = TakeBack(*entry, [&](const wire::WorkSegment& segment) {
      // Segments ahead have frames of their own, so no hidden states of others have to be moved.
      return segment.sequence == cancel.sequence && segment.attempt <= cancel.attempt &&
             segment.is_ahead();
    });
    StageMemory::Sequence* const state = entry->stage->memory().Find(cancel.sequence);
    if (state != nullptr) {
      uint64_t& newest = state->newest_attempt[entry->index];
      newest = std::max(newest, cancel.attempt);
    }
    RefuseAttempts(found->second, *entry, cancel.sequence, taken, "it was cancelled");
  }
}

void StageServer::OnClose(const wire::NodeId& from, wire::RouteId route) {
  const auto found = routes_.find(route);
  if (found != routes_.end() && found->second.open.conductor.node == from) Drop(route);
  SendHeldBack();
}

}  // namespace aster::stage
