// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "stage/stage_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/units.h"
#include "kernels/arithmetic_version.h"
#include "kernels/rope.h"
#include "plan/plan.h"
#include "plan/route_model.h"

namespace aster::stage {
namespace {

constexpr int64_t kLoadPollNs = 5 * kNsPerMs;
// Positions of a prefill chunk for which memory is planned.
constexpr uint32_t kPlannedPrefillChunk = 512;

// The longest text that fits into the slice's KV cache.
uint32_t PositionsThatFit(const engine::LocalModel& model) {
  uint32_t fits = 0;
  uint32_t too_long = kernels::kRopePositions + 1;
  while (too_long - fits > 1) {
    const uint32_t length = fits + (too_long - fits) / 2;
    const bool is_in = model.layout().BytesFor(model.layers(), length, kPlannedPrefillChunk) <=
                       model.memory().budget_bytes;
    (is_in ? fits : too_long) = length;
  }
  return fits;
}

bool IsSameSlice(const SliceRequest& a, const SliceRequest& b) {
  return a.fingerprint == b.fingerprint && a.memory_name == b.memory_name && a.slice == b.slice &&
         a.memory == b.memory && a.kv_bytes == b.kv_bytes;
}

uint8_t KvTypeNumber(const wire::OpenRoute& open) {
  return open.kv_type & static_cast<uint8_t>(~wire::OpenRoute::kPlainRows);
}

// The layers of all of a node's stages that overlap with this one, directly or through others:
// these stages share weights and KV cache.
model::Slice HeldFor(const wire::OpenRoute& open) {
  // A node's part of a group has a slice of its own.
  if (plan::GroupOf(open, open.index) != nullptr) return plan::OwnSliceOf(open);
  // Grows until no stage of this node overlaps with it.
  model::Slice held = plan::SliceOf(open.stages[open.index]);
  for (bool has_grown = true; has_grown;) {
    has_grown = false;
    for (uint32_t i = 0; i < open.stages.size(); ++i) {
      const wire::StageAddress& stage = open.stages[i];
      if (plan::GroupOf(open, i) != nullptr) continue;
      const model::Slice other = plan::SliceOf(stage);
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

}  // namespace

StageServer::StageServer(net::Network& network, SliceSource& source, StageOptions options)
    : network_(network),
      source_(source),
      options_(std::move(options)),
      in_flight_(std::make_shared<KvInFlight>(options_.in_flight_bytes)),
      kv_server_(in_flight_) {}

StageServer::~StageServer() = default;

void StageServer::Handle(net::Event event) {
  if (Route* const busy = RouteToAwait(event)) {
    Defer(*busy, std::move(event));
  } else {
    HandleNow(std::move(event));
  }
  HandleDeferred();
}

void StageServer::HandleNow(net::Event event) {
  switch (event.kind) {
    case net::Event::Kind::kMessage:
      return OnMessage(event.from, std::move(event.message),
                       event.arrived_ns != 0 ? event.arrived_ns : network_.clock().NowNs());
    case net::Event::Kind::kDown:
      FinishFrames();
      return OnDown(event.from, event.why.ok() ? Error(Code::kUnavailable, "") : event.why.error());
    case net::Event::Kind::kUp:
      return;
  }
}

void StageServer::OnMessage(const wire::NodeId& from, wire::Message&& message, int64_t arrived_ns) {
  // PartRows, Work and Cancel do not change the sequences of frames in flight. No device computes
  // while any other message is handled.
  if (auto* rows = std::get_if<wire::PartRows>(&message)) {
    return OnPartRows(from, std::move(*rows));
  }
  if (const auto* cancel = std::get_if<wire::Cancel>(&message)) return OnCancel(from, *cancel);
  if (!std::holds_alternative<wire::Work>(message)) FinishFrames();
  if (auto* open = std::get_if<wire::OpenRoute>(&message)) {
    OnOpen(from, std::move(*open));
  } else if (auto* work = std::get_if<wire::Work>(&message)) {
    OnWork(from, std::move(*work), arrived_ns);
  } else if (const auto* begin = std::get_if<wire::Begin>(&message)) {
    OnBegin(from, *begin);
  } else if (const auto* end = std::get_if<wire::End>(&message)) {
    OnEnd(from, *end);
  } else if (auto* rows = std::get_if<wire::KvRows>(&message)) {
    OnKvRows(from, std::move(*rows));
  } else if (const auto* taken = std::get_if<wire::KvTaken>(&message)) {
    OnKvTaken(from, *taken);
  } else if (const auto* wanted = std::get_if<wire::SendKv>(&message)) {
    OnSendKv(from, *wanted);
  } else if (const auto* halt = std::get_if<wire::Halt>(&message)) {
    OnHalt(from, *halt);
  } else if (const auto* find = std::get_if<wire::FindKv>(&message)) {
    OnFindKv(from, *find);
  } else if (const auto* order = std::get_if<wire::FetchKv>(&message)) {
    OnFetchKv(from, *order);
  } else if (const auto* close = std::get_if<wire::CloseRoute>(&message)) {
    OnClose(from, close->route);
  } else if (const auto* state = std::get_if<wire::RouteState>(&message)) {
    OnRouteState(from, *state);
  } else if (const auto* holds = std::get_if<wire::Holds>(&message)) {
    OnMemberHolds(from, *holds);
  }
}

void StageServer::Refuse(wire::RouteId route, const wire::NodeId& to, Error why) {
  // If the message cannot be sent, the conductor sees that this node is down.
  static_cast<void>(network_.Send(
      to, wire::RouteState{
              .route = route, .kind = wire::RouteState::Kind::kRefused, .why = std::move(why)}));
}

void StageServer::Break(wire::RouteId route, Error why, const wire::NodeId& lost) {
  // Several failures may break a route at once: only the first is reported.
  const auto found = routes_.find(route);
  if (found == routes_.end()) return;
  const wire::NodeId conductor = found->second.open.conductor.node;
  // Before the message is sent: a conductor on this node may handle it at once.
  Drop(route);
  static_cast<void>(
      network_.Send(conductor, wire::RouteState{.route = route,
                                                .kind = wire::RouteState::Kind::kRefused,
                                                .why = std::move(why),
                                                .lost = lost}));
}

void StageServer::Drop(wire::RouteId id) {
  const auto found = routes_.find(id);
  if (found == routes_.end()) return;
  std::erase_if(frames_in_flight_, [&](const FrameInFlight& frame) { return frame.route == id; });
  // Its slices stay loaded for a while, with their KV cache, for the route that replaces this one.
  const int64_t now_ns = network_.clock().NowNs();
  for (const auto& held : found->second.memories) held->slice->unused_since_ns = now_ns;
  routes_.erase(found);
  if (options_.expert_uses) options_.expert_uses->Save();
}

// --- Opening.

Status StageServer::CheckOpen(const wire::NodeId& from, const wire::OpenRoute& open) const {
  // The message must come from the route's conductor, and the stage must be on this node.
  if (open.conductor.node != from) {
    return InvalidArgument("only a route's conductor may open it");
  }
  TRY(plan::CheckGroupsOf(open));
  if (open.index >= open.stages.size() || plan::NodeOf(open) != network_.self()) {
    return InvalidArgument(fmt::format("stage {} of the route is not node {}", open.index, Self()));
  }
  // The arithmetic and the formats must be exactly those of this version.
  if (open.arithmetic != kernels::kArithmeticVersion) {
    return FailedPrecondition(fmt::format(
        "node {} computes by arithmetic {}, and {} is asked for: run the same version of Asterism "
        "everywhere",
        Self(), kernels::kArithmeticVersion, open.arithmetic));
  }
  if (KvTypeNumber(open) >= kernels::kKvTypeCount) {
    return InvalidArgument(
        fmt::format("a KV type of number {}, which does not exist", open.kv_type));
  }
  if (open.kv_encoding == wire::RowEncoding::kBf16) {
    return Unimplemented("the encoding of KV transfers is bf16: exact and q8 are possible");
  }
  if (open.decode_stages >= open.stages.size()) {
    return InvalidArgument(fmt::format("{} of {} stages only decode: none is left for prefill",
                                       open.decode_stages, open.stages.size()));
  }
  // Each path must have every layer once, in order, with the embedding first and the head last.
  plan::Plan plan;
  for (const wire::StageAddress& stage : open.stages) {
    const bool decodes = plan.stages.size() + open.decode_stages >= open.stages.size();
    (decodes ? plan.decode : plan.stages).push_back({{}, plan::SliceOf(stage)});
  }
  TRY(plan::CheckPlan(plan, open.stages.back().layer_end));
  // Routes are bounded.
  if (!routes_.contains(open.route) && routes_.size() >= options_.max_routes) {
    return ResourceExhausted(
        fmt::format("node {} serves {} routes already", Self(), routes_.size()));
  }
  return Ok();
}

Result<std::shared_ptr<StageServer::HeldSlice>> StageServer::FindSlice(
    const wire::OpenRoute& open) {
  SliceRequest request{.fingerprint = open.fingerprint,
                       .memory_name = plan::MemoryName(open.fingerprint, open.encoding,
                                                       open.kv_encoding, open.stages),
                       .slice = HeldFor(open),
                       .memory = {.type = static_cast<kernels::KvType>(KvTypeNumber(open)),
                                  .window = open.kv_window,
                                  .sinks = open.kv_sinks,
                                  .plain_rows = (open.kv_type & wire::OpenRoute::kPlainRows) != 0},
                       .kv_bytes = open.kv_bytes};
  // Routes that need the same layers with the same kind of KV cache share a slice.
  for (const auto& slice : slices_) {
    if (IsSameSlice(slice->request, request)) return slice;
  }
  // Otherwise the slice is loaded; if memory is short, slices that no route uses are freed.
  Result<std::unique_ptr<SliceLoading>> loading = StartLoading(request);
  if (!loading.ok()) loading = StartWithMoreRoom(request, std::move(loading).error());
  if (!loading.ok()) return std::move(loading).error();
  auto slice = std::make_shared<HeldSlice>();
  slice->request = request;
  slice->kv_encoding = open.kv_encoding;
  slice->loading = *std::move(loading);
  CountReserved(*slice);
  slices_.push_back(slice);
  return slice;
}

// Starts loading into the memory that other slices leave.
Result<std::unique_ptr<SliceLoading>> StageServer::StartLoading(SliceRequest& request) {
  request.may_use_gpu = !has_lost_gpu_;
  request.used_bytes = request.used_gpu_bytes = 0;
  // Slices that are still loading count with what they have reserved.
  for (const auto& slice : slices_) {
    request.used_bytes += slice->bytes;
    request.used_gpu_bytes += slice->gpu_bytes;
  }
  return source_.Start(request);
}

// Starts loading again after slices that no route uses were freed, if memory was short.
Result<std::unique_ptr<SliceLoading>> StageServer::StartWithMoreRoom(SliceRequest& request,
                                                                     Error why) {
  // Only now, after the first try: freeing a slice loses its KV cache.
  const size_t held = slices_.size();
  if (why.code() == Code::kResourceExhausted) DropUnusedSlices(0);
  if (slices_.size() == held) return WhyNotShared(request, std::move(why));
  auto loading = StartLoading(request);
  if (!loading.ok()) return WhyNotShared(request, std::move(loading).error());
  return loading;
}

// Adds a hint to an out-of-memory error if a held slice has the same layers but another size of KV
// cache: with equal sizes the routes would share it.
Error StageServer::WhyNotShared(const SliceRequest& request, Error why) const {
  if (why.code() != Code::kResourceExhausted) return why;
  for (const auto& slice : slices_) {
    SliceRequest other = slice->request;
    const uint64_t kv_bytes = std::exchange(other.kv_bytes, request.kv_bytes);
    if (kv_bytes == 0 || !IsSameSlice(other, request)) continue;
    return {why.code(),
            fmt::format("{}; the same layers are held for another route with a KV cache of {}: ask "
                        "for the same size with --kv-memory to share them",
                        why.message(), FormatBytes(kv_bytes))};
  }
  return why;
}

std::shared_ptr<StageServer::HeldMemory> StageServer::FindMemory(Route& route,
                                                                 std::shared_ptr<HeldSlice> slice) {
  // Stages of one route with the same slice share its sequences, too.
  for (const auto& held : route.memories) {
    if (held->slice == slice) return held;
  }
  auto held = std::make_shared<HeldMemory>();
  held->slice = std::move(slice);
  route.memories.push_back(held);
  return held;
}

void StageServer::OnOpen(const wire::NodeId& from, wire::OpenRoute&& open) {
  // All checks come before anything is loaded or changed.
  const wire::RouteId id = open.route;
  Status checked = CheckOpen(from, open);
  if (!checked.ok()) return Refuse(id, from, std::move(checked).error());
  const auto existing = routes_.find(id);
  if (existing != routes_.end() && existing->second.open.conductor.node != from) {
    return Refuse(id, from,
                  Error(Code::kAlreadyExists, "another conductor has a route of that id"));
  }
  if (existing != routes_.end()) {
    const Route& route = existing->second;
    if (!plan::AreOfOneRoute(open, route.open)) {
      return Refuse(id, from, InvalidArgument("two stages of a route are opened by two plans"));
    }
    // Repeated messages change nothing.
    const auto is_here = [&](const auto& entry) { return entry->index == open.index; };
    if (route.follows() || std::ranges::any_of(route.stages, is_here)) return;
  }
  ChooseReplicas(open);
  auto slice = FindSlice(open);
  if (!slice.ok()) {
    Drop(id);
    return Refuse(
        id, from,
        std::move(slice).error().In(fmt::format(
            "{} on node {}", plan::DescribeSlice(plan::SliceOf(open.stages[open.index])), Self())));
  }
  // Introduces the nodes that this one will send to: that of the next stage, and with a decode path
  // those of all stages, as KV transfers may go to any of them.
  for (size_t i = 0; i < open.stages.size(); ++i) {
    const wire::StageAddress& stage = open.stages[i];
    const bool is_wanted = open.decode_stages > 0 || i == open.index + 1;
    if (is_wanted && stage.node != network_.self() && open.part == 0)
      network_.Introduce(stage.node, stage.addresses);
  }
  // Each stage on this node has a message of its own. The route is ready after the last one.
  Route& route = routes_[id];
  // The stage exists from now on; it computes once its slice is loaded (TickRoute).
  auto entry = std::make_unique<StageEntry>();
  entry->index = open.index;
  entry->held = FindMemory(route, *std::move(slice));
  entry->counters.route = id;
  entry->counters.conductor = from;
  entry->counters.fingerprint = open.fingerprint;
  entry->counters.slice = plan::OwnSliceOf(open);
  route.stages.push_back(std::move(entry));
  JoinGroup(route, open);
  if (route.stages.size() == 1) {
    route.expected = static_cast<size_t>(std::ranges::count(
        open.stages, network_.self(), [](const wire::StageAddress& stage) { return stage.node; }));
    if (open.part > 0) route.expected = 1;
    route.open = std::move(open);
  }
  if (route.members && route.members->unopened()) {
    const auto [node, why] = *route.members->unopened();
    return Break(id, Error(why).In(fmt::format("node {} of the group", node.ToText())), node);
  }
  Tick();
}

void StageServer::Tick() {
  // Takes slices that are loaded. One that failed leaves the list first, so that its memory counts
  // as free when OnFailedLoading tries again.
  const int64_t now_ns = network_.clock().NowNs();
  DropLostSlices();
  std::vector<std::pair<std::shared_ptr<HeldSlice>, Error>> failed;
  for (const auto& slice : slices_) {
    if (!slice->loading) continue;
    Status taken = TakeLoaded(*slice);
    if (!taken.ok()) failed.emplace_back(slice, std::move(taken).error());
  }
  // A slice that is neither loading nor loaded has failed.
  std::erase_if(slices_, [](const auto& slice) { return !slice->model && !slice->loading; });
  for (auto& [slice, why] : failed) OnFailedLoading(slice, std::move(why));
  // Routes become ready, or report their progress.
  for (auto& [id, route] : routes_) TickRoute(route, now_ns);
  DropUnusedSlices(options_.keep_slice_ns);
}

// Ok also while the slice is still loading; an error if loading has failed.
Status StageServer::TakeLoaded(HeldSlice& slice) {
  auto taken = slice.loading->Take();
  if (!taken) {
    // The size of a slice that is fetched from other nodes is known only after a while.
    CountReserved(slice);
    return Ok();
  }
  // From here on the slice counts with the memory that it really takes.
  slice.loading.reset();
  slice.model = TRY(*std::move(taken));
  CountExperts(slice);
  if (options_.proposers) slice.proposers = options_.proposers(*slice.model);
  slice.bytes = slice.model->main_memory_bytes();
  slice.gpu_bytes = slice.model->gpu_memory_bytes();
  if (slice.model->lost_gpu_while_loading()) NoteLostGpu(slice.model->gpu_note());
  return Ok();
}

std::vector<wire::RouteId> StageServer::UsersOf(const std::shared_ptr<HeldSlice>& slice) const {
  std::vector<wire::RouteId> users;
  for (const auto& [id, route] : routes_) {
    const bool uses = std::ranges::any_of(
        route.stages, [&](const auto& entry) { return entry->held->slice == slice; });
    if (uses) users.push_back(id);
  }
  return users;
}

// Frees slices whose GPU is lost, with their KV cache, and breaks their routes. The processor
// computes the routes that conductors open instead.
void StageServer::DropLostSlices() {
  std::vector<std::shared_ptr<HeldSlice>> lost;
  for (const auto& slice : slices_) {
    if (slice->model && slice->model->has_lost_gpu()) lost.push_back(slice);
  }
  for (const auto& slice : lost) {
    std::erase(slices_, slice);
    NoteLostGpu(slice->model->gpu_names());
    // Not kUnavailable, which would mean that the node of the next stage cannot be reached.
    for (const wire::RouteId id : UsersOf(slice)) {
      Break(id,
            Error(Code::kAborted, fmt::format("node {} has lost the GPU that held layers of {}",
                                              Self(), plan::DescribeSlice(slice->request.slice))));
    }
  }
}

// Logs the loss once, however many slices had layers on the GPU.
void StageServer::NoteLostGpu(const std::string& which) {
  if (std::exchange(has_lost_gpu_, true)) return;
  log::Warn("a GPU was lost; this node goes on without it", {{"gpu", which}});
}

void StageServer::OnFailedLoading(const std::shared_ptr<HeldSlice>& slice, Error why) {
  const std::vector<wire::RouteId> users = UsersOf(slice);
  if (users.empty()) return;
  // A fetched slice may fail late because it does not fit: freeing unused slices may help.
  auto again = StartWithMoreRoom(slice->request, std::move(why));
  if (again.ok()) {
    slice->loading = *std::move(again);
    CountReserved(*slice);
    slices_.push_back(slice);
    return;
  }
  for (const wire::RouteId id : users) {
    Break(id, Error(again.error()).In(fmt::format("node {}", Self())));
  }
}

void StageServer::TickRoute(Route& route, int64_t now_ns) {
  if (route.is_ready) return;
  // Sums the progress of all stages, and makes the stages whose slice is loaded.
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
      // Stages of one slice share its KV cache and sequences.
      std::optional<StageMemory>& memory = entry->held->memory;
      const bool is_group = route.group != nullptr && route.group_index == entry->index;
      if (!memory) {
        const auto kv_encoding = is_group ? wire::RowEncoding::kF32 : route.open.kv_encoding;
        memory.emplace(route.open.route, *slice.model, slice.proposers.get(), kv_encoding,
                       in_flight_, &network_.clock());
      }
      if (is_group && route.members) MakeGroupRows(route, *slice.model);
      entry->is_of_group = is_group;
      // Within a group rows are sent exactly.
      const auto encoding = route.follows() ? wire::RowEncoding::kF32 : route.open.encoding;
      entry->stage.emplace(route.open.route, encoding, *memory, entry->counters.slice, entry->index,
                           is_group ? route.group.get() : nullptr);
    }
    if (slice.model) {
      state.kv_positions = std::min<uint64_t>(state.kv_positions, PositionsThatFit(*slice.model));
    }
    state.done_bytes += entry->counters.done_bytes;
    state.total_bytes += entry->counters.total_bytes;
  }
  if (route.members) {
    is_ready = is_ready && route.members->is_ready();
    route.members->AddTo(state);
  }
  // Reports at once that the route is ready, its progress only from time to time.
  if (!is_ready && now_ns < route.reported_ns + options_.progress_ns) return;
  route.reported_ns = now_ns;
  route.is_ready = is_ready;
  state.kind = is_ready ? wire::RouteState::Kind::kReady : wire::RouteState::Kind::kLoading;
  if (!is_ready) state.kv_positions = 0;
  static_cast<void>(network_.Send(route.open.conductor.node, std::move(state)));
}

void StageServer::CountReserved(HeldSlice& slice) {
  slice.bytes = slice.loading->reserved_bytes();
  slice.gpu_bytes = slice.loading->reserved_gpu_bytes();
}

// Whether no route uses it. Stopping a slice that is loading may take as long as loading it.
bool StageServer::MayDrop(const std::shared_ptr<HeldSlice>& slice) {
  return slice.use_count() == 1 && (!slice->loading || slice->loading->CanGiveUp());
}

void StageServer::DropUnusedSlices(int64_t unused_for_ns) {
  const int64_t now_ns = network_.clock().NowNs();
  std::erase_if(slices_, [&](const auto& slice) {
    return MayDrop(slice) && now_ns - slice->unused_since_ns >= unused_for_ns;
  });
}

int64_t StageServer::next_tick_ns() const {
  const int64_t now_ns = network_.clock().NowNs();
  int64_t next_ns = kNeverNs;
  for (const auto& slice : slices_) {
    if (slice->loading) next_ns = std::min(next_ns, now_ns + kLoadPollNs);
    if (MayDrop(slice)) {
      next_ns = std::min(next_ns, slice->unused_since_ns + options_.keep_slice_ns);
    }
  }
  return next_ns;
}

void StageServer::OnRouteState(const wire::NodeId& from, const wire::RouteState& state) {
  if (OnMemberState(from, state)) return;
  const auto found = routes_.find(state.route);
  if (found == routes_.end() || state.kind != wire::RouteState::Kind::kRefused) return;
  // Only the next stage after one of this node's can break the route in this way.
  const bool is_next = std::ranges::any_of(found->second.stages, [&](const auto& entry) {
    const wire::StageAddress* const next = found->second.StageAfter(entry->index);
    return next != nullptr && next->node == from;
  });
  if (is_next && from != network_.self()) Break(state.route, state.why);
}

void StageServer::OnDown(const wire::NodeId& node, const Error& why) {
  // Its fetches end: rows that were sent to it for these no longer count as in flight.
  kv_server_.Forget(node);
  // Finds routes whose conductor is on the node, and routes that need the connection.
  std::vector<wire::RouteId> orphaned;
  std::vector<std::pair<wire::RouteId, const char*>> cut;
  for (const auto& [id, route] : routes_) {
    if (route.open.conductor.node == node) {
      orphaned.push_back(id);
    } else if (const char* const role = route.RoleOf(node)) {
      cut.emplace_back(id, role);
    }
  }
  // The KV cache stays with the slice: the route that replaces this one finds it again.
  for (const wire::RouteId id : orphaned) Drop(id);
  for (const auto& [id, role] : cut) {
    Break(id,
          Error(Code::kUnavailable, fmt::format("node {} cannot reach node {}{}: {}", Self(),
                                                node.ToText(), role, why.message())),
          node);
  }
  SendHeldBack();
}

std::vector<StageRouteStatus> StageServer::Snapshot() const {
  std::vector<StageRouteStatus> all;
  // Stages may share a slice: its bytes are those of the first that names it.
  std::set<const HeldSlice*> counted;
  for (const auto& [id, route] : routes_) {
    for (const auto& entry : route.stages) {
      StageRouteStatus status = entry->counters;
      status.is_ready = route.is_ready;
      status.is_counted = !counted.insert(entry->held->slice.get()).second;
      status.queued_frames = entry->decodes.size() + entry->prefills.size();
      if (entry->stage) {
        const engine::LocalModel& model = entry->stage->memory().model();
        status.sequences = entry->stage->memory().sequence_count();
        status.packed_bytes = model.packed_bytes();
        status.main_memory_bytes = model.main_memory_bytes();
        status.gpu_layers = model.gpu_layers();
        status.kv_held_bytes = model.memory().held_bytes;
        status.kv_budget_bytes = model.memory().budget_bytes;
      }
      all.push_back(status);
    }
  }
  return all;
}

}  // namespace aster::stage
