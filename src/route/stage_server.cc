// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "route/stage_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "kernels/arithmetic_version.h"
#include "kernels/rope.h"
#include "route/plan.h"
#include "route/route_model.h"

namespace aster::route {
namespace {

constexpr int64_t kLoadPollNs = 5 * kNsPerMs;
// Positions that are computed together at most, where memory for them is foreseen.
constexpr uint32_t kForeseenChunk = 512;

// The longest text that the slice's memory holds.
uint32_t PositionsThatFit(const engine::LocalModel& model) {
  uint32_t fits = 0;
  uint32_t too_long = kernels::kRopePositions + 1;
  while (too_long - fits > 1) {
    const uint32_t length = fits + (too_long - fits) / 2;
    const bool is_in = model.layout().BytesFor(model.layers(), length, kForeseenChunk) <=
                       model.memory().budget_bytes;
    (is_in ? fits : too_long) = length;
  }
  return fits;
}

bool IsSameSlice(const SliceRequest& a, const SliceRequest& b) {
  return a.fingerprint == b.fingerprint && a.memory_name == b.memory_name && a.slice == b.slice &&
         a.memory.type == b.memory.type && a.memory.window == b.memory.window &&
         a.memory.sinks == b.memory.sinks && a.kv_bytes == b.kv_bytes;
}

bool IsDecode(const wire::Work& work) {
  return std::ranges::all_of(
      work.segments, [](const wire::WorkSegment& segment) { return segment.tokens.size() == 1; });
}

bool HaveSequenceInCommon(const wire::Work& a, const wire::Work& b) {
  return std::ranges::any_of(a.segments, [&](const wire::WorkSegment& segment) {
    return std::ranges::count(b.segments, segment.sequence, &wire::WorkSegment::sequence) > 0;
  });
}

// All layers of a node that overlap with those of the stage: they are held and remembered together.
model::Slice HeldFor(const wire::OpenRoute& open) {
  model::Slice held = SliceOf(open.stages[open.index]);
  for (bool has_grown = true; has_grown;) {
    has_grown = false;
    for (const wire::StageAddress& stage : open.stages) {
      const model::Slice other = SliceOf(stage);
      const bool overlaps =
          other.layer_begin < held.layer_end && held.layer_begin < other.layer_end;
      if (stage.node != open.stages[open.index].node || !overlaps || held.Contains(other)) continue;
      held = {.layer_begin = std::min(held.layer_begin, other.layer_begin),
              .layer_end = std::max(held.layer_end, other.layer_end),
              .embedding = held.embedding || other.embedding,
              .head = held.head || other.head};
      has_grown = true;
    }
  }
  return held;
}

bool IsOnRoute(const wire::OpenRoute& open, const wire::NodeId& node) {
  return std::ranges::count(open.stages, node, &wire::StageAddress::node) > 0;
}

Error Nothing() { return {Code::kUnknown, ""}; }

uint64_t BytesOf(const wire::Work& work) {
  uint64_t bytes = work.rows.size() + work.segments.size() * sizeof(wire::WorkSegment);
  for (const wire::WorkSegment& segment : work.segments) bytes += segment.tokens.size() * 4;
  return bytes;
}

}  // namespace

StageServer::StageServer(net::Network& network, SliceSource& source, StageOptions options)
    : network_(network), source_(source), options_(options) {}

StageServer::~StageServer() = default;

void StageServer::Handle(const net::Event& event) { Handle(net::Event(event)); }

void StageServer::Handle(net::Event&& event) {
  switch (event.kind) {
    case net::Event::Kind::kMessage:
      return OnMessage(event.from, std::move(event.message),
                       event.arrived_ns != 0 ? event.arrived_ns : network_.clock().NowNs());
    case net::Event::Kind::kDown:
      return OnDown(event.from, event.why.ok() ? Error(Code::kUnavailable, "") : event.why.error());
    case net::Event::Kind::kUp:
      return;
  }
}

void StageServer::OnMessage(const wire::NodeId& from, wire::Message&& message, int64_t arrived_ns) {
  if (auto* open = std::get_if<wire::OpenRoute>(&message)) {
    OnOpen(from, std::move(*open));
  } else if (auto* work = std::get_if<wire::Work>(&message)) {
    OnWork(from, std::move(*work), arrived_ns);
  } else if (const auto* begin = std::get_if<wire::Begin>(&message)) {
    OnBegin(from, *begin);
  } else if (const auto* end = std::get_if<wire::End>(&message)) {
    OnEnd(from, *end);
  } else if (const auto* rows = std::get_if<wire::Rows>(&message)) {
    OnRows(from, *rows);
  } else if (const auto* took = std::get_if<wire::Took>(&message)) {
    OnTook(from, *took);
  } else if (const auto* wanted = std::get_if<wire::HandOver>(&message)) {
    OnHandOver(from, *wanted);
  } else if (const auto* halt = std::get_if<wire::Halt>(&message)) {
    OnHalt(from, *halt);
  } else if (const auto* close = std::get_if<wire::CloseRoute>(&message)) {
    OnClose(from, close->route);
  } else if (const auto* state = std::get_if<wire::RouteState>(&message)) {
    OnRouteState(from, *state);
  }
}

void StageServer::Refuse(wire::RouteId route, const wire::NodeId& to, Error why) {
  // If it cannot be told, it will see that we are down.
  static_cast<void>(network_.Send(
      to, wire::RouteState{
              .route = route, .kind = wire::RouteState::Kind::kRefused, .why = std::move(why)}));
}

void StageServer::Break(wire::RouteId route, Error why) {
  const auto found = routes_.find(route);
  if (found == routes_.end()) return;
  const wire::NodeId conductor = found->second.open.conductor.node;
  Drop(route);
  Refuse(route, conductor, std::move(why));
}

void StageServer::Drop(wire::RouteId route) {
  routes_.erase(route);
  const int64_t now_ns = network_.clock().NowNs();
  for (const auto& slice : slices_) {
    if (slice.use_count() == 1) slice->unused_since_ns = now_ns;
  }
}

// --- Opening.

Status StageServer::CheckOpen(const wire::NodeId& from, const wire::OpenRoute& open) const {
  if (open.conductor.node != from) {
    return InvalidArgument("a route is opened by its conductor, and by nobody else");
  }
  if (open.index >= open.stages.size() || open.stages[open.index].node != network_.self()) {
    return InvalidArgument(fmt::format("stage {} of the route is not node {}", open.index, Self()));
  }
  if (open.arithmetic != kernels::kArithmeticVersion) {
    return FailedPrecondition(fmt::format(
        "node {} computes by arithmetic {}, and {} is asked for: run the same version of Asterism "
        "everywhere",
        Self(), kernels::kArithmeticVersion, open.arithmetic));
  }
  if (open.kv_type > static_cast<uint8_t>(kernels::KvType::kQ8)) {
    return InvalidArgument(fmt::format("no type of keys and values is number {}", open.kv_type));
  }
  if (open.decode_stages >= open.stages.size()) {
    return InvalidArgument(fmt::format("{} of {} stages only decode: nobody reads prompts",
                                       open.decode_stages, open.stages.size()));
  }
  Plan plan;
  for (const wire::StageAddress& stage : open.stages) {
    const bool decodes = plan.stages.size() + open.decode_stages >= open.stages.size();
    (decodes ? plan.decode : plan.stages).push_back({{}, SliceOf(stage)});
  }
  TRY(CheckPlan(plan, open.stages.back().layer_end));
  if (!routes_.contains(open.route) && routes_.size() >= options_.max_routes) {
    return ResourceExhausted(
        fmt::format("node {} serves {} routes already", Self(), routes_.size()));
  }
  return Ok();
}

Result<std::shared_ptr<StageServer::HeldSlice>> StageServer::FindSlice(
    const wire::OpenRoute& open) {
  SliceRequest request{.fingerprint = open.fingerprint,
                       .memory_name = MemoryName(open.fingerprint, open.encoding, open.stages),
                       .slice = HeldFor(open),
                       .memory = {.type = static_cast<kernels::KvType>(open.kv_type),
                                  .window = open.kv_window,
                                  .sinks = open.kv_sinks},
                       .kv_bytes = open.kv_bytes};
  for (const auto& slice : slices_) {
    if (IsSameSlice(slice->request, request)) return slice;
  }
  const auto start = [&]() -> Result<std::unique_ptr<SliceLoading>> {
    request.used_bytes = 0;
    for (const auto& slice : slices_) request.used_bytes += slice->bytes;
    return source_.Start(request);
  };
  Result<std::unique_ptr<SliceLoading>> loading = start();
  if (!loading.ok() && loading.error().code() == Code::kResourceExhausted) {
    DropUnusedSlices(0);
    loading = start();
  }
  if (!loading.ok()) return std::move(loading).error();
  auto slice = std::make_shared<HeldSlice>();
  slice->request = request;
  slice->loading = *std::move(loading);
  slice->bytes = slice->loading->reserved_bytes();
  slices_.push_back(slice);
  return slice;
}

std::shared_ptr<StageServer::HeldMemory> StageServer::FindMemory(Route& route,
                                                                 std::shared_ptr<HeldSlice> slice) {
  for (const auto& held : route.memories) {
    if (held->slice == slice) return held;
  }
  auto held = std::make_shared<HeldMemory>();
  held->slice = std::move(slice);
  route.memories.push_back(held);
  return held;
}

void StageServer::OnOpen(const wire::NodeId& from, wire::OpenRoute&& open) {
  const wire::RouteId id = open.route;
  Status checked = CheckOpen(from, open);
  if (!checked.ok()) return Refuse(id, from, std::move(checked).error());
  const auto existing = routes_.find(id);
  if (existing != routes_.end() && existing->second.open.conductor.node != from) {
    return Refuse(id, from,
                  Error(Code::kAlreadyExists, "another conductor has a route of that id"));
  }
  auto slice = FindSlice(open);
  if (!slice.ok()) {
    Drop(id);
    return Refuse(id, from,
                  std::move(slice).error().In(fmt::format(
                      "{} on node {}", DescribeSlice(SliceOf(open.stages[open.index])), Self())));
  }
  for (size_t i = 0; i < open.stages.size(); ++i) {
    const wire::StageAddress& stage = open.stages[i];
    // With a path of their own for answers, rows may go to any of them.
    const bool is_wanted = open.decode_stages > 0 || i == open.index + 1;
    if (is_wanted && stage.node != network_.self()) network_.Introduce(stage.node, stage.addresses);
  }
  Route& route = routes_[id];
  if (std::ranges::any_of(route.stages,
                          [&](const auto& entry) { return entry->index == open.index; })) {
    return;  // said twice
  }
  auto entry = std::make_unique<StageEntry>();
  entry->index = open.index;
  entry->held = FindMemory(route, *std::move(slice));
  entry->counters.route = id;
  entry->counters.conductor = from;
  entry->counters.fingerprint = open.fingerprint;
  entry->counters.slice = SliceOf(open.stages[open.index]);
  route.stages.push_back(std::move(entry));
  if (route.stages.size() == 1) {
    route.expected = static_cast<size_t>(std::ranges::count(
        open.stages, network_.self(), [](const wire::StageAddress& stage) { return stage.node; }));
    route.open = std::move(open);
  }
  Tick();
}

void StageServer::Tick() {
  const int64_t now_ns = network_.clock().NowNs();
  for (const auto& slice : slices_) {
    if (!slice->loading) continue;
    auto taken = slice->loading->Take();
    if (!taken) {
      // One that is fetched learns only on its way how much it takes.
      slice->bytes = slice->loading->reserved_bytes();
      continue;
    }
    slice->loading.reset();
    if (taken->ok()) {
      slice->model = *std::move(*taken);
      slice->bytes = slice->model->packed_bytes() + slice->model->memory().budget_bytes;
      continue;
    }
    std::vector<wire::RouteId> broken;
    for (const auto& [id, route] : routes_) {
      const bool uses = std::ranges::any_of(
          route.stages, [&](const auto& entry) { return entry->held->slice == slice; });
      if (uses) broken.push_back(id);
    }
    for (const wire::RouteId id : broken) {
      Break(id, Error(taken->error()).In(fmt::format("node {}", Self())));
    }
  }
  std::erase_if(slices_, [](const auto& slice) { return !slice->model && !slice->loading; });
  for (auto& [id, route] : routes_) TickRoute(route, now_ns);
  DropUnusedSlices(options_.keep_slice_ns);
}

void StageServer::TickRoute(Route& route, int64_t now_ns) {
  if (route.is_ready) return;
  wire::RouteState state{.route = route.open.route};
  bool is_ready = route.stages.size() == route.expected;
  state.kv_positions = kernels::kRopePositions;
  for (const auto& entry : route.stages) {
    HeldSlice& slice = *entry->held->slice;
    if (!slice.model) {
      is_ready = false;
      const SliceLoading::Progress progress = slice.loading->progress();
      entry->counters.done_bytes = progress.done_bytes;
      entry->counters.total_bytes = progress.total_bytes;
    } else if (!entry->stage) {
      entry->counters.done_bytes = entry->counters.total_bytes = slice.model->packed_bytes();
      std::optional<StageMemory>& memory = entry->held->memory;
      if (!memory) memory.emplace(route.open.route, *slice.model);
      entry->stage.emplace(route.open.route, route.open.encoding, *memory, entry->counters.slice,
                           entry->index);
    }
    if (slice.model) {
      state.kv_positions = std::min<uint64_t>(state.kv_positions, PositionsThatFit(*slice.model));
    }
    state.done_bytes += entry->counters.done_bytes;
    state.total_bytes += entry->counters.total_bytes;
  }
  if (!is_ready && now_ns < route.reported_ns + options_.progress_ns) return;
  route.reported_ns = now_ns;
  route.is_ready = is_ready;
  state.kind = is_ready ? wire::RouteState::Kind::kReady : wire::RouteState::Kind::kLoading;
  if (!is_ready) state.kv_positions = 0;
  static_cast<void>(network_.Send(route.open.conductor.node, std::move(state)));
}

void StageServer::DropUnusedSlices(int64_t unused_for_ns) {
  const int64_t now_ns = network_.clock().NowNs();
  std::erase_if(slices_, [&](const auto& slice) {
    // One that is being loaded may not be stopped without waiting for it.
    return slice.use_count() == 1 && (!slice->loading || slice->loading->CanGiveUp()) &&
           now_ns - slice->unused_since_ns >= unused_for_ns;
  });
}

int64_t StageServer::next_tick_ns() const {
  const int64_t now_ns = network_.clock().NowNs();
  int64_t next_ns = kNeverNs;
  for (const auto& slice : slices_) {
    if (slice->loading) next_ns = std::min(next_ns, now_ns + kLoadPollNs);
    if (slice.use_count() == 1) {
      next_ns = std::min(next_ns, slice->unused_since_ns + options_.keep_slice_ns);
    }
  }
  return next_ns;
}

// --- Sequences and work.

StageServer::Route* StageServer::RouteOfConductor(const wire::NodeId& from, wire::RouteId route) {
  const auto found = routes_.find(route);
  if (found == routes_.end() || !found->second.is_ready) {
    Refuse(route, from,
           FailedPrecondition(fmt::format("node {} has no such route: open it anew", Self())));
    return nullptr;
  }
  // Others have no business here; they learn nothing.
  return found->second.open.conductor.node == from ? &found->second : nullptr;
}

void StageServer::OnBegin(const wire::NodeId& from, const wire::Begin& begin) {
  Route* const route = RouteOfConductor(from, begin.route);
  if (route == nullptr) return;
  for (const auto& entry : route->stages) EndGeneration(*route, *entry, begin.sequence);
  for (const auto& held : route->memories) {
    const Status begun = held->memory->Begin(begin);
    for (const auto& entry : route->stages) {
      if (entry->held != held) continue;
      wire::Holds holds = entry->stage->HoldsOf(begin.sequence);
      holds.epoch = begin.epoch;
      if (!begun.ok()) holds.why = begun.error();
      static_cast<void>(network_.Send(from, std::move(holds)));
    }
  }
}

void StageServer::OnEnd(const wire::NodeId& from, const wire::End& end) {
  const auto found = routes_.find(end.route);
  if (found == routes_.end() || found->second.open.conductor.node != from) return;
  if (!found->second.is_ready) return;
  for (const auto& entry : found->second.stages) {
    EndGeneration(found->second, *entry, end.sequence);
  }
  for (const auto& held : found->second.memories) held->memory->End(end.sequence);
}

void StageServer::OnHandOver(const wire::NodeId& from, const wire::HandOver& wanted) {
  Route* const route = RouteOfConductor(from, wanted.route);
  if (route == nullptr) return;
  if (wanted.to != from && !IsOnRoute(route->open, wanted.to)) return;
  const kv::LayerRange layers = {wanted.layer_begin, wanted.layer_end};
  for (const auto& held : route->memories) {
    StageMemory& memory = *held->memory;
    if (!memory.model().layers().Contains(layers)) continue;
    const Status ordered = memory.HandOver(wanted);
    if (!ordered.ok()) return TellHolds(*route, memory, wanted.sequence, layers, ordered.error());
    return SendRows(*route, memory, wanted.sequence);
  }
}

void StageServer::OnTook(const wire::NodeId& from, const wire::Took& took) {
  const auto found = routes_.find(took.route);
  if (found == routes_.end() || !found->second.is_ready) return;
  for (const auto& held : found->second.memories) {
    held->memory->Took(from, took);
    SendRows(found->second, *held->memory, took.sequence);
  }
}

void StageServer::OnRows(const wire::NodeId& from, const wire::Rows& rows) {
  const auto found = routes_.find(rows.route);
  if (found == routes_.end() || !found->second.is_ready) return;
  Route& route = found->second;
  if (from != route.open.conductor.node && !IsOnRoute(route.open, from)) return;
  for (const auto& held : route.memories) {
    StageMemory& memory = *held->memory;
    const auto layers = LayersOfParcel(rows.parcel);
    const bool is_here = layers.ok() && memory.model().layers().Contains(*layers);
    if (layers.ok() && !is_here) continue;
    auto took =
        layers.ok() ? memory.Import(rows) : Result<std::optional<wire::Took>>(layers.error());
    if (!took.ok()) {
      return TellHolds(route, memory, rows.sequence, is_here ? *layers : memory.model().layers(),
                       took.error());
    }
    if (!*took) return;
    TellHolds(route, memory, rows.sequence, *layers, Nothing());
    if (from != route.open.conductor.node) static_cast<void>(network_.Send(from, **took));
    return SendRows(route, memory, rows.sequence);
  }
}

// What all stages of these layers hold now, or why they hold no more.
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

// What others want of it and has come to be.
void StageServer::SendRows(Route& route, StageMemory& memory, wire::SequenceId sequence) {
  const bool is_over = std::ranges::none_of(route.stages, [&](const auto& entry) {
    return &entry->stage->memory() == &memory && entry->generations.contains(sequence);
  });
  while (true) {
    auto next = memory.NextRows(sequence, is_over);
    if (!next.ok()) {
      return TellHolds(route, memory, sequence, memory.model().layers(), next.error());
    }
    if (!*next) return;
    const wire::NodeId to = (*next)->to;
    // Who cannot be reached is down, which the conductor sees for itself.
    if (!network_.Send(to, std::move((*next)->rows)).ok()) return;
  }
}

void StageServer::OnHalt(const wire::NodeId& from, const wire::Halt& halt) {
  Route* const route = RouteOfConductor(from, halt.route);
  if (route == nullptr) return;
  for (const auto& entry : route->stages) {
    EndGeneration(*route, *entry, halt.sequence, halt.attempt);
    SendRows(*route, entry->stage->memory(), halt.sequence);
  }
}

// The conductor counts on an answer to each attempt, and gets a refusal for those that end here;
// `attempt`: only that one, 0: any. One whose first token was not computed yet leaves the queue.
void StageServer::EndGeneration(Route& route, StageEntry& entry, wire::SequenceId sequence,
                                uint64_t attempt) {
  std::vector<uint64_t> ended;
  const auto is_meant = [&](uint64_t other) { return attempt == 0 || other == attempt; };
  const auto found = entry.generations.find(sequence);
  if (found != entry.generations.end() && is_meant(found->second.attempt)) {
    ended.push_back(found->second.attempt);
    entry.generations.erase(found);
  }
  for (std::deque<QueuedWork>* queue : {&entry.decodes, &entry.prefills}) {
    for (QueuedWork& queued : *queue) {
      std::erase_if(queued.work.segments, [&](const wire::WorkSegment& segment) {
        const bool ends =
            segment.sequence == sequence && segment.more > 0 && is_meant(segment.attempt);
        if (ends) ended.push_back(segment.attempt);
        return ends;
      });
    }
    std::erase_if(*queue, [&](const QueuedWork& queued) {
      const bool is_empty = queued.work.segments.empty();
      if (is_empty) entry.queued_bytes -= queued.bytes;
      return is_empty;
    });
  }
  for (const uint64_t each : ended) {
    wire::Holds holds = entry.stage->HoldsOf(sequence);
    holds.attempt = each;
    holds.why = Error(Code::kCancelled, "it was ended");
    static_cast<void>(network_.Send(route.open.conductor.node, std::move(holds)));
  }
}

void StageServer::OnClose(const wire::NodeId& from, wire::RouteId route) {
  const auto found = routes_.find(route);
  if (found != routes_.end() && found->second.open.conductor.node == from) Drop(route);
}

void StageServer::OnWork(const wire::NodeId& from, wire::Work&& work, int64_t arrived_ns) {
  const auto found = routes_.find(work.route);
  if (found == routes_.end() || !found->second.is_ready) {
    return Refuse(
        work.route, from,
        FailedPrecondition(fmt::format("node {} has no such route: open it anew", Self())));
  }
  Route& route = found->second;
  // As many hops are behind it as there are stages before this one.
  const uint64_t index = uint64_t{work.first_stage} + work.hops.size();
  const auto place =
      std::ranges::find_if(route.stages, [&](const auto& entry) { return entry->index == index; });
  if (place == route.stages.end()) return;
  const bool begins_here = route.Behind((*place)->index - 1) == nullptr;
  if (begins_here != work.hops.empty() || route.Before((*place)->index) != from) {
    return;  // nobody who has a say in it
  }
  StageEntry& entry = **place;
  QueuedWork queued{.work = std::move(work), .arrived_ns = arrived_ns};
  queued.bytes = BytesOf(queued.work);
  if (entry.queued_bytes + queued.bytes > options_.max_queued_bytes ||
      entry.decodes.size() + entry.prefills.size() >= options_.max_queued_frames) {
    return Break(route.open.route,
                 ResourceExhausted(fmt::format("node {} has {} bytes of work waiting, and more "
                                               "comes than it computes",
                                               Self(), entry.queued_bytes)));
  }
  entry.queued_bytes += queued.bytes;
  // The last token of a prompt looks like an answer's, and must not overtake what comes before it.
  const bool follows = std::ranges::any_of(entry.prefills, [&](const QueuedWork& earlier) {
    return HaveSequenceInCommon(earlier.work, queued.work);
  });
  const bool is_decode = IsDecode(queued.work) && !follows;
  (is_decode ? entry.decodes : entry.prefills).push_back(std::move(queued));
}

void StageServer::OnRouteState(const wire::NodeId& from, const wire::RouteState& state) {
  const auto found = routes_.find(state.route);
  if (found == routes_.end() || state.kind != wire::RouteState::Kind::kRefused) return;
  // The stage behind one of ours does not know the route any more.
  const bool is_next = std::ranges::any_of(found->second.stages, [&](const auto& entry) {
    const wire::StageAddress* const behind = found->second.Behind(entry->index);
    return behind != nullptr && behind->node == from;
  });
  if (is_next && from != network_.self()) Break(state.route, state.why);
}

void StageServer::OnDown(const wire::NodeId& node, const Error& why) {
  std::vector<wire::RouteId> orphaned, cut;
  for (const auto& [id, route] : routes_) {
    if (route.open.conductor.node == node) {
      orphaned.push_back(id);
      continue;
    }
    const bool is_next = std::ranges::any_of(route.stages, [&, &held = route](const auto& entry) {
      const wire::StageAddress* const behind = held.Behind(entry->index);
      return behind != nullptr && behind->node == node;
    });
    if (is_next) cut.push_back(id);
  }
  // A conductor that lost us opens another route; what was computed stays with the slice.
  for (const wire::RouteId id : orphaned) Drop(id);
  for (const wire::RouteId id : cut) {
    Break(id, Error(Code::kUnavailable, fmt::format("node {} cannot reach node {}: {}", Self(),
                                                    node.ToText(), why.message())));
  }
}

// --- Computing.

bool StageServer::has_work() const {
  return std::ranges::any_of(routes_, [](const auto& item) {
    return std::ranges::any_of(item.second.stages,
                               [](const auto& entry) { return entry->has_work(); });
  });
}

void StageServer::Compute() {
  // Routes in turn, beginning behind the one that had the last.
  auto place = routes_.upper_bound(last_computed_);
  for (size_t i = 0; i < routes_.size(); ++i, ++place) {
    if (place == routes_.end()) place = routes_.begin();
    // The last stage first: what has come far is finished before more is begun.
    StageEntry* chosen = nullptr;
    for (const auto& entry : place->second.stages) {
      if (entry->has_work() && (chosen == nullptr || entry->index > chosen->index)) {
        chosen = entry.get();
      }
    }
    if (chosen == nullptr) continue;
    last_computed_ = place->first;
    return Run(place->second, *chosen);
  }
}

const wire::StageAddress* StageServer::Route::Behind(uint32_t index) const {
  const auto next = static_cast<uint32_t>(index + 1);  // 0 behind "the one before the first"
  const size_t decode_begin = open.stages.size() - open.decode_stages;
  const bool begins = next == 0 || next == decode_begin;
  return begins || next >= open.stages.size() ? nullptr : &open.stages[next];
}

const wire::NodeId& StageServer::Route::Before(uint32_t index) const {
  const bool begins = Behind(index - 1) == nullptr;
  return begins ? open.conductor.node : open.stages[index - 1].node;
}

bool StageServer::StageEntry::continues() const {
  return std::ranges::any_of(generations,
                             [](const auto& item) { return item.second.token.has_value(); });
}

// All answers that go on by themselves take their next step together.
StageServer::QueuedWork StageServer::NextWork(StageEntry& entry, bool& continues) {
  const bool waits = !entry.prefills.empty();
  const bool decodes = !entry.decodes.empty() || entry.continues();
  const bool is_prefill = waits && (!decodes || entry.prefill_is_next);
  entry.prefill_is_next = !is_prefill;
  continues = !is_prefill && entry.continues() && (entry.decodes.empty() || !entry.decode_is_next);
  if (!continues) {
    std::deque<QueuedWork>& queue = is_prefill ? entry.prefills : entry.decodes;
    QueuedWork queued = std::move(queue.front());
    queue.pop_front();
    entry.queued_bytes -= queued.bytes;
    if (!is_prefill) entry.decode_is_next = false;
    return queued;
  }
  entry.decode_is_next = true;
  QueuedWork queued{.work = {}, .arrived_ns = network_.clock().NowNs()};
  queued.work.route = entry.counters.route;
  for (auto& [sequence, generation] : entry.generations) {
    if (!generation.token) continue;
    queued.arrived_ns = std::min(queued.arrived_ns, generation.since_ns);
    queued.work.segments.push_back(
        entry.stage->Continuation(sequence, generation.attempt, *generation.token));
    generation.token.reset();
  }
  return queued;
}

void StageServer::Run(Route& route, StageEntry& entry) {
  bool continues = false;
  QueuedWork queued = NextWork(entry, continues);
  std::vector<wire::SequenceId> sequences;
  for (const wire::WorkSegment& segment : queued.work.segments) {
    sequences.push_back(segment.sequence);
    const bool can_go_on = entry.stage->part().embedding && entry.stage->part().head;
    if (segment.more > 0 && segment.ask == wire::Ask::kToken && can_go_on) {
      entry.generations[segment.sequence] = {
          .attempt = segment.attempt, .more = segment.more, .token = {}, .since_ns = 0};
    }
  }
  const int64_t start_ns = network_.clock().NowNs();
  std::vector<wire::Hop> hops = std::move(queued.work.hops);
  if (continues) queued.work.encoding = route.open.encoding;
  Result<StageOutput> output = entry.stage->Compute(std::move(queued.work), continues);
  if (!output.ok()) {
    return Break(route.open.route, std::move(output).error().In(fmt::format("node {}", Self())));
  }
  const wire::Hop hop{.queue_ns = static_cast<uint64_t>(start_ns - queued.arrived_ns),
                      .compute_ns = static_cast<uint64_t>(network_.clock().NowNs() - start_ns)};
  GoOn(entry, *output);
  const wire::RouteId id = route.open.route;
  StageMemory& memory = entry.stage->memory();
  SendOn(route, entry, *std::move(output), hop, std::move(hops));
  if (!routes_.contains(id)) return;  // it broke
  const bool reads = route.open.decode_stages > 0 && !route.Decodes(entry.index);
  for (const wire::SequenceId sequence : sequences) {
    // Whoever decodes here may have waited for these layers.
    if (reads) TellOthers(route, entry, sequence);
    SendRows(route, memory, sequence);
  }
}

void StageServer::TellOthers(const Route& route, const StageEntry& entry,
                             wire::SequenceId sequence) {
  for (const auto& other : route.stages) {
    if (other->held != entry.held || !route.Decodes(other->index)) continue;
    static_cast<void>(network_.Send(route.open.conductor.node, other->stage->HoldsOf(sequence)));
  }
}

// Whether answers that go on by themselves do so.
void StageServer::GoOn(StageEntry& entry, const StageOutput& output) {
  for (const wire::Holds& refused : output.refused) entry.generations.erase(refused.sequence);
  if (!output.done) return;
  for (const wire::Answer& answer : output.done->answers) {
    const auto found = entry.generations.find(answer.sequence);
    if (found == entry.generations.end() || found->second.attempt != answer.attempt) continue;
    Generation& generation = found->second;
    if (answer.has_failed || generation.more == 0 ||
        entry.stage->memory().StopsAt(answer.sequence, answer.token)) {
      entry.generations.erase(found);
      continue;
    }
    --generation.more;
    generation.token = answer.token;
    generation.since_ns = network_.clock().NowNs();
  }
}

void StageServer::SendOn(Route& route, StageEntry& entry, StageOutput&& output, wire::Hop hop,
                         std::vector<wire::Hop>&& hops) {
  const wire::OpenRoute& open = route.open;
  hop.bytes_out = output.next   ? output.next->rows.size()
                  : output.done ? output.done->logits.size()
                                : 0;
  StageRouteStatus& counters = entry.counters;
  ++counters.frames;
  counters.tokens += output.tokens;
  counters.queue_ns += hop.queue_ns;
  counters.compute_ns += hop.compute_ns;
  counters.bytes_out += hop.bytes_out;
  hops.push_back(hop);
  for (wire::Holds& holds : output.refused) {
    static_cast<void>(network_.Send(open.conductor.node, std::move(holds)));
  }
  if (output.done) {
    output.done->hops = std::move(hops);
    static_cast<void>(network_.Send(open.conductor.node, *std::move(output.done)));
  } else if (output.next) {
    output.next->first_stage = entry.index + 1 - static_cast<uint32_t>(hops.size());
    output.next->hops = std::move(hops);
    const wire::NodeId next = route.Behind(entry.index)->node;
    Status sent = network_.Send(next, *std::move(output.next));
    if (!sent.ok()) {
      Break(open.route,
            std::move(sent).error().In(fmt::format("from node {} to {}", Self(), next.ToText())));
    }
  }
}

std::vector<StageRouteStatus> StageServer::Snapshot() const {
  std::vector<StageRouteStatus> all;
  for (const auto& [id, route] : routes_) {
    for (const auto& entry : route.stages) {
      StageRouteStatus status = entry->counters;
      status.is_ready = route.is_ready;
      status.queued_frames = entry->decodes.size() + entry->prefills.size();
      if (entry->stage) {
        const engine::LocalModel& model = entry->stage->memory().model();
        status.sequences = entry->stage->memory().sequence_count();
        status.packed_bytes = model.packed_bytes();
        status.kv_held_bytes = model.memory().held_bytes;
        status.kv_budget_bytes = model.memory().budget_bytes;
      }
      all.push_back(status);
    }
  }
  return all;
}

}  // namespace aster::route
