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
  Plan plan;
  for (const wire::StageAddress& stage : open.stages) plan.stages.push_back({{}, SliceOf(stage)});
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
                       .slice = SliceOf(open.stages[open.index]),
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
  if (open.index + 1 < open.stages.size()) {
    const wire::StageAddress& next = open.stages[open.index + 1];
    network_.Introduce(next.node, next.addresses);
  }
  Route& route = routes_[id];
  if (std::ranges::any_of(route.stages,
                          [&](const auto& entry) { return entry->index == open.index; })) {
    return;  // said twice
  }
  auto entry = std::make_unique<StageEntry>();
  entry->index = open.index;
  entry->slice = *std::move(slice);
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
          route.stages, [&](const auto& entry) { return entry->slice == slice; });
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
    HeldSlice& slice = *entry->slice;
    if (!slice.model) {
      is_ready = false;
      const SliceLoading::Progress progress = slice.loading->progress();
      entry->counters.done_bytes = progress.done_bytes;
      entry->counters.total_bytes = progress.total_bytes;
    } else if (!entry->stage) {
      entry->counters.done_bytes = entry->counters.total_bytes = slice.model->packed_bytes();
      entry->stage.emplace(route.open.route, route.open.encoding, *slice.model);
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
  // Slices of one node answer together: what all of them hold.
  std::optional<wire::Holds> least;
  for (const auto& entry : route->stages) {
    wire::Holds holds = entry->stage->Begin(begin);
    const bool is_refusal = !holds.why.message().empty();
    if (!least || is_refusal || holds.length < least->length) least = std::move(holds);
    if (is_refusal) break;
  }
  static_cast<void>(network_.Send(from, *std::move(least)));
}

void StageServer::OnEnd(const wire::NodeId& from, const wire::End& end) {
  const auto found = routes_.find(end.route);
  if (found == routes_.end() || found->second.open.conductor.node != from) return;
  for (const auto& entry : found->second.stages) {
    if (entry->stage) entry->stage->End(end.sequence);
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
  const auto index = static_cast<uint32_t>(std::min<size_t>(work.hops.size(), UINT32_MAX));
  const auto place =
      std::ranges::find_if(route.stages, [&](const auto& entry) { return entry->index == index; });
  const bool is_first = index == 0;
  const wire::NodeId& before = is_first || index > route.open.stages.size()
                                   ? route.open.conductor.node
                                   : route.open.stages[index - 1].node;
  if (place == route.stages.end() || before != from) return;  // nobody who has a say in it
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
  const std::vector<wire::StageAddress>& stages = found->second.open.stages;
  // The stage behind one of ours does not know the route any more.
  const bool is_next = std::ranges::any_of(found->second.stages, [&](const auto& entry) {
    return entry->index + 1 < stages.size() && stages[entry->index + 1].node == from;
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
    const std::vector<wire::StageAddress>& stages = route.open.stages;
    const bool is_next = std::ranges::any_of(route.stages, [&](const auto& entry) {
      return entry->index + 1 < stages.size() && stages[entry->index + 1].node == node;
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

void StageServer::Run(Route& route, StageEntry& entry) {
  const bool is_prefill =
      entry.decodes.empty() || (entry.prefill_is_next && !entry.prefills.empty());
  std::deque<QueuedWork>& queue = is_prefill ? entry.prefills : entry.decodes;
  entry.prefill_is_next = !is_prefill;
  QueuedWork queued = std::move(queue.front());
  queue.pop_front();
  entry.queued_bytes -= queued.bytes;

  const int64_t start_ns = network_.clock().NowNs();
  std::vector<wire::Hop> hops = std::move(queued.work.hops);
  Result<StageOutput> output = entry.stage->Compute(std::move(queued.work));
  if (!output.ok()) {
    return Break(route.open.route, std::move(output).error().In(fmt::format("node {}", Self())));
  }
  const wire::Hop hop{.queue_ns = static_cast<uint64_t>(start_ns - queued.arrived_ns),
                      .compute_ns = static_cast<uint64_t>(network_.clock().NowNs() - start_ns)};
  SendOn(route, entry, *std::move(output), hop, std::move(hops));
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
    output.next->hops = std::move(hops);
    const wire::NodeId next = open.stages[entry.index + 1].node;
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
        status.sequences = entry->stage->sequence_count();
        status.packed_bytes = entry->slice->model->packed_bytes();
        status.kv_held_bytes = entry->slice->model->memory().held_bytes;
        status.kv_budget_bytes = entry->slice->model->memory().budget_bytes;
      }
      all.push_back(status);
    }
  }
  return all;
}

}  // namespace aster::route
