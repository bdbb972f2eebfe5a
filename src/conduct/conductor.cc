// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/conductor.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/random.h"
#include "conduct/live_request.h"
#include "engine/check_request.h"
#include "kernels/rope.h"

namespace aster::conduct {
namespace {

// As many events as a step takes before it looks after other things.
constexpr int kEventsPerStep = 256;
// Work that was refused so often without a token between is not tried again.
constexpr uint32_t kMaxRefusals = 8;
constexpr uint32_t kMaxBackoff = 8;

bool IsForStages(const wire::Message& message) {
  return std::holds_alternative<wire::OpenRoute>(message) ||
         std::holds_alternative<wire::CloseRoute>(message) ||
         std::holds_alternative<wire::Begin>(message) ||
         std::holds_alternative<wire::End>(message) ||
         std::holds_alternative<wire::Work>(message) ||
         std::holds_alternative<wire::SendKv>(message) ||
         std::holds_alternative<wire::KvTaken>(message) ||
         std::holds_alternative<wire::Halt>(message) ||
         std::holds_alternative<wire::FindKv>(message) ||
         std::holds_alternative<wire::FetchKv>(message) ||
         (std::holds_alternative<wire::KvRows>(message) &&
          std::get<wire::KvRows>(message).ticket == 0);
}

}  // namespace

Conductor::Conductor(net::Network& network, const plan::RouteModel& model,
                     const text::Tokenizer* tokenizer, plan::Plan plan, ConductorOptions options,
                     Replanner replanner, stage::StageServer* own)
    : network_(network),
      model_(model),
      tokenizer_(tokenizer),
      plan_(std::move(plan)),
      options_(std::move(options)),
      replanner_(std::move(replanner)),
      own_(own),
      memories_(std::make_shared<RouteMemories>()),
      page_positions_(kernels::kPagePositions),
      next_route_(options_.id_seed == 0 ? SystemSeed() : options_.id_seed) {
  CHECK(options_.chunk_pages > 0 && options_.frames_per_stage > 0 && options_.max_running > 0);
}

Conductor::~Conductor() {
  // Sequences outlive their requests here.
  memories_->route = 0;
  if (options_.trace != nullptr && route_) {
    options_.trace->CloseRoute(route_->id(), "it is not needed any more", network_.clock().NowNs());
  }
}

engine::Sequence Conductor::NewSequence() {
  return engine::Sequence(std::make_unique<RouteMemory>(memories_));
}

RouteMemory* Conductor::MemoryOf(engine::Sequence& sequence) const {
  const engine::SequenceMemory* const wanted = &sequence.memory();
  const auto found = std::ranges::find(memories_->all, wanted);
  return found == memories_->all.end() ? nullptr : *found;
}

Result<engine::RequestId> Conductor::Submit(engine::Request request) {
  return SubmitWith(std::move(request), {});
}

Result<engine::RequestId> Conductor::SubmitWith(engine::Request request, WantedLogits logits) {
  CHECK(request.sequence != nullptr);
  RouteMemory* const memory = MemoryOf(*request.sequence);
  if (memory == nullptr) return InvalidArgument("the sequence belongs to another model");
  for (const Lives* lives : {&waiting_, &running_}) {
    for (const auto& other : *lives) {
      if (&other->request.sequence() != request.sequence) continue;
      return FailedPrecondition(
          fmt::format("request {} has the sequence and is not finished", other->request.id()));
    }
  }
  TRY(engine::CheckRequest(model_.shape, tokenizer_, request));
  const uint32_t length = request.sequence->length();
  if (route_ && route_->is_ready() && length > route_->kv_positions()) {
    return ResourceExhausted(
        fmt::format("to remember a prompt of {} tokens takes more memory than its nodes have: {} "
                    "tokens fit",
                    length, route_->kv_positions()));
  }
  auto speculation = TRY(SpeculationFor(request));
  const engine::RequestId id = next_id_++;
  ++counters_.submitted;
  if (idle()) failures_ = 0;
  waiting_.push_back(std::make_unique<Live>(id, std::move(request), tokenizer_, model_.shape,
                                            memory, network_.clock().NowNs()));
  waiting_.back()->request.Speculate(std::move(speculation));
  waiting_.back()->sink = logits.sink;
  waiting_.back()->sink_chunk = logits.chunk;
  waiting_.back()->sink_begin = waiting_.back()->rows_told = logits.begin;
  TracePhase(*waiting_.back(), "waiting");
  return id;
}

void Conductor::Cancel(engine::RequestId id) {
  for (Lives* lives : {&waiting_, &running_}) {
    for (const auto& live : *lives) {
      if (live->request.id() == id) live->request.Cancel();
    }
  }
}

// --- Steps.

Status Conductor::Open(const std::function<void(const OpenProgress&)>& on_progress,
                       const std::function<bool()>& is_cancelled) {
  if (!route_) OpenNew();
  for (uint32_t replans = 0; !route_->is_ready();) {
    if (route_->state() == RouteClient::State::kBroken) {
      const Error why = route_->why();
      const std::vector<wire::NodeId> lost = route_->lost();
      if (options_.trace != nullptr) {
        options_.trace->CloseRoute(route_->id(), why.message(), network_.clock().NowNs());
      }
      route_.reset();
      memories_->route = 0;
      if (!replanner_ || lost.empty() || ++replans > options_.max_open_replans) return why;
      plan::Plan plan = TRY(replanner_(plan_, lost, why));
      TRY(plan::CheckPlan(plan, model_.shape.layer_count));
      TakePlan(std::move(plan), why);
      OpenNew();
      continue;
    }
    if (is_cancelled && is_cancelled()) return Error(Code::kCancelled, "the route was not opened");
    if (on_progress) on_progress(route_->progress());
    if (own_ != nullptr) own_->Tick();
    auto event = network_.Receive(network_.clock().NowNs() + kStepNs);
    if (event) Handle(*std::move(event));
    route_->Tick();
  }
  if (on_progress) on_progress(route_->progress());
  return Ok();
}

Status Conductor::Step() {
  if (stepping_) return FailedPrecondition("a callback cannot begin the next step");
  stepping_ = true;
  Tick();
  int64_t deadline_ns = std::min(network_.clock().NowNs() + kStepNs, next_tick_ns());
  if (own_ != nullptr && own_->has_work()) {
    own_->Compute();
    deadline_ns = 0;
  }
  if (!idle()) {
    for (int i = 0; i < kEventsPerStep; ++i) {
      std::optional<net::Event> event = network_.Receive(deadline_ns);
      if (!event) break;
      Handle(*std::move(event));
      deadline_ns = 0;  // what else is there already
    }
  }
  Tick();
  stepping_ = false;
  return Ok();
}

void Conductor::Handle(net::Event event) {
  if (own_ != nullptr) {
    if (event.kind == net::Event::Kind::kMessage && IsForStages(event.message)) {
      return own_->Handle(std::move(event));
    }
    own_->Handle(event);
  }
  if (!route_) return;
  const bool was_ready = route_->is_ready();
  route_->Handle(event);
  if (options_.trace != nullptr && !was_ready && route_->is_ready()) {
    options_.trace->RouteIsReady(route_->id(), network_.clock().NowNs());
  }
  if (!route_->is_ready()) return;
  if (event.kind == net::Event::Kind::kDown) OnGone(event.from);
  if (event.kind != net::Event::Kind::kMessage) return;
  if (const auto* holds = std::get_if<wire::Holds>(&event.message)) {
    OnHolds(event.from, *holds);
  } else if (const auto* done = std::get_if<wire::Done>(&event.message)) {
    OnDone(event.from, *done, event.arrived_ns);
  } else if (const auto* rows = std::get_if<wire::KvRows>(&event.message)) {
    OnKvRows(event.from, *rows);
  } else if (const auto* found = std::get_if<wire::FoundKv>(&event.message)) {
    OnFoundKv(event.from, *found);
  }
}

void Conductor::Tick() {
  if (own_ != nullptr) own_->Tick();
  FinishCancelled();
  TickRoute();
  if (!route_ || !route_->is_ready()) return;
  SendForgotten();
  Admit();
  TickSearches();
  SendDecodes();
  SendPrefills();
  CheckStall();
  if (route_->state() == RouteClient::State::kBroken) OnBroken();
}

int64_t Conductor::next_tick_ns() const {
  int64_t next_ns = own_ == nullptr ? kNeverNs : own_->next_tick_ns();
  if (route_) next_ns = std::min(next_ns, route_->next_tick_ns());
  if (!route_ && !waiting_.empty()) next_ns = std::min(next_ns, reopen_ns_);
  if (!running_.empty()) next_ns = std::min(next_ns, heard_ns_ + options_.stall_ns);
  for (const auto& live : running_) next_ns = std::min(next_ns, NextTickOf(*live));
  return next_ns;
}

// --- The route.

void Conductor::OpenNew() {
  const wire::RouteId id = ++next_route_;
  route_ = std::make_unique<RouteClient>(network_, model_, plan_, options_.route, id);
  memories_->route = id;
  memories_->forgotten.clear();
  hops_.assign(route_->stages().size(), {});
  worked_ns_ = 0;
  std::vector<wire::StageAddress> cuts;
  for (const plan::PlanStage& stage : route_->stages()) {
    cuts.emplace_back().layer_end = stage.slice.layer_end;
  }
  auto layout = plan::LayoutOf(model_.shape, options_.route.memory,
                               plan::MemoryName(model_.fingerprint, options_.route.encoding,
                                                options_.route.kv_encoding, cuts));
  if (layout.ok()) {
    layout_ = *std::move(layout);
    digest_ = layout_->digest();
  } else {
    route_->Break(layout.error());
  }
  heard_ns_ = network_.clock().NowNs();
  if (options_.trace != nullptr) options_.trace->OpenRoute(id, plan_, heard_ns_);
}

void Conductor::TickRoute() {
  const int64_t now_ns = network_.clock().NowNs();
  if (!route_ && !waiting_.empty() && now_ns >= reopen_ns_) OpenNew();
  if (!route_) return;
  route_->Tick();
  if (route_->state() == RouteClient::State::kBroken) OnBroken();
}

void Conductor::CheckStall() {
  const int64_t now_ns = network_.clock().NowNs();
  // Work, an answer to Begin, or rows on their way.
  const bool is_awaited = std::ranges::any_of(running_, [](const auto& live) {
    return live->in_flight > 0 || live->phase == Live::Phase::kBeginning || live->waits_for_rows ||
           live->is_ready_to_decode();
  });
  if (flights_.empty() && !is_awaited) heard_ns_ = now_ns;
  if (now_ns - heard_ns_ < options_.stall_ns) return;
  route_->Break(Error(Code::kDeadlineExceeded,
                      fmt::format("work is under way, and no node has said anything for {} s",
                                  options_.stall_ns / kNsPerSecond)));
}

// Requests keep their tokens, and go on where the next route is ready.
void Conductor::OnBroken() {
  const Error why = route_->why();
  const std::vector<wire::NodeId> lost = route_->lost();
  if (options_.trace != nullptr) {
    options_.trace->CloseRoute(route_->id(), why.message(), network_.clock().NowNs());
  }
  route_.reset();
  memories_->route = 0;
  memories_->forgotten.clear();
  flights_.clear();
  frames_.clear();
  decode_frames_ = 0;
  prefill_frames_.clear();
  move_.reset();
  is_tight_ = false;
  for (auto& live : running_) {
    live->phase = Live::Phase::kWaiting;
    live->in_flight = 0;
    live->request.turns() = {};
    live->search.reset();
    live->has_searched = false;
    TracePhase(*live, "waiting");
  }
  waiting_.insert(waiting_.end(), std::make_move_iterator(running_.begin()),
                  std::make_move_iterator(running_.end()));
  running_.clear();
  std::ranges::sort(waiting_, {}, [](const auto& live) { return live->request.id(); });
  const uint32_t backoff = std::min(failures_, kMaxBackoff);
  reopen_ns_ =
      network_.clock().NowNs() + (failures_ == 0 ? 0 : options_.replan_wait_ns << (backoff - 1));
  if (waiting_.empty()) return;
  if (!replanner_ || ++failures_ > options_.max_replans) return FailAll(why);
  Result<plan::Plan> plan = replanner_(plan_, lost, why);
  Status checked = plan.ok() ? plan::CheckPlan(*plan, model_.shape.layer_count) : plan.error();
  if (!checked.ok()) return FailAll(std::move(checked).error());
  for (const plan::PlanStage& stage : plan_.AllStages()) {
    former_[stage.node.id] = {.node = stage.node, .bytes_per_s = 0};
  }
  for (const wire::NodeId& node : lost) former_.erase(node);
  TakePlan(*std::move(plan), why);
}

void Conductor::TakePlan(plan::Plan plan, const Error& why) {
  plan_ = std::move(plan);
  ++counters_.replans;
  std::string nodes;
  for (const plan::PlanStage& stage : plan_.AllStages()) {
    nodes += (nodes.empty() ? "" : ", ") + stage.node.name;
  }
  log::Info("other nodes go on", {{"nodes", nodes}, {"why", why.message()}});
}

void Conductor::FailAll(const Error& why) {
  Lives failing = std::move(waiting_);
  waiting_.clear();
  for (auto& live : failing) {
    TracePhase(*live, nullptr);
    // Callbacks may submit: what is told now is not among those any more.
    live->request.End(engine::FinishReason::kFailed, why);
    ++counters_.finished;
    live->request.TellFinish(network_.clock().NowNs());
  }
}

// --- Requests.

void Conductor::FinishCancelled() {
  // Callbacks may submit and cancel, so every look is a new one.
  const auto find = [this]() -> Live* {
    for (Lives* lives : {&running_, &waiting_}) {
      for (const auto& live : *lives) {
        if (live->request.cancelled()) return live.get();
      }
    }
    return nullptr;
  };
  while (Live* live = find()) {
    live->request.End(engine::FinishReason::kCancelled);
    Remove(*live);
  }
}

void Conductor::SendForgotten() {
  for (const wire::SequenceId id : std::exchange(memories_->forgotten, {})) {
    route_->SendToAll(wire::End{.route = route_->id(), .sequence = id});
  }
}

void Conductor::Admit() {
  while (!waiting_.empty() && running_.size() < options_.max_running) {
    // Whoever was put back waits until somebody has ended.
    if (is_tight_ && !running_.empty()) return;
    Live& live = *waiting_.front();
    const auto place = std::ranges::upper_bound(
        running_, live.request.id(), {}, [](const auto& other) { return other->request.id(); });
    running_.insert(place, std::move(waiting_.front()));
    waiting_.erase(waiting_.begin());
    BeginRequest(live);
  }
}

void Conductor::BeginRequest(Live& live) {
  Void(live);
  live.phase = Live::Phase::kBeginning;
  TracePhase(live, "asking what is remembered");
  if (move_ && move_->sequence == live.memory->id()) move_.reset();
  EndSearch(live);
  live.holds.clear();
  live.epoch = ++last_epoch_;
  live.history.emplace(digest_);
  live.history->Append(live.request.sequence().tokens());
  engine::DraftOptions draft = live.request.request().draft;
  // Elsewhere only the stage with the head can guess, by the block beside it; and not where each
  // token is chosen here.
  const bool has_guesser = GoesOnByItself(live) || draft.kind == engine::DraftKind::kNextTokens;
  if (!has_guesser || live.request.request().edit_logits || !TakesDrafts()) draft = {.most = 0};
  route_->SendToAll(wire::Begin{.route = route_->id(),
                                .sequence = live.memory->id(),
                                .tokens = live.request.sequence().tokens(),
                                .sampling = stage::SamplingToWire(live.request.request().sampling),
                                .epoch = live.epoch,
                                .stop_tokens = live.request.request().stop_tokens,
                                .draft_kind = static_cast<uint8_t>(draft.kind),
                                .draft_most = static_cast<uint8_t>(draft.most)});
}

// Whether all stages know what guesses are.
bool Conductor::TakesDrafts() const {
  return std::ranges::all_of(route_->nodes(), [this](const wire::NodeId& node) {
    return network_.ProtocolOf(node) >= wire::kDraftProtocol;
  });
}

void Conductor::StartRunning(Live& live) {
  if (StartSearch(live)) return;
  live.phase = Live::Phase::kRunning;
  ChooseReaders(live);
  uint32_t length = std::min(live.sent, live.length());
  if (live.sink != nullptr) length = std::min(length, live.rows_told);
  live.memory->SetLength(length);
  live.request.Begin(network_.clock().NowNs());
  live.request.Adopt();  // counts what stages held
  live.sent = live.request.sequence().computed();
  live.started_ns = network_.clock().NowNs();
  live.started_at = live.sent;
  TracePhase(live, live.is_ready_to_decode() ? "answering" : "reading");
}

Conductor::Path Conductor::ReadingPath() const {
  const auto all = static_cast<uint32_t>(route_->stages().size());
  return {.begin = 0, .end = has_two_paths() ? route_->decode_begin() : all};
}

Conductor::Path Conductor::DecodingPath() const {
  return {.begin = route_->decode_begin(), .end = static_cast<uint32_t>(route_->stages().size())};
}

uint32_t Conductor::HeldBy(const Live& live, Path path) {
  uint32_t least = live.length();
  for (uint32_t stage = path.begin; stage < path.end; ++stage) {
    const auto held = live.holds.find(stage);
    least = std::min(least, held == live.holds.end() ? 0 : held->second);
  }
  return least;
}

// What a stage goes on with by itself ends. (What a Begin ends needs no word of its own.)
void Conductor::Halt(Live& live) {
  for (auto& [attempt, flight] : flights_) {
    if (flight.live != &live || flight.is_halted) continue;
    // What was guessed rightly is told in any case.
    if (flight.accepted > 0) flight.is_halted = true;
    if (flight.more == 0) continue;
    flight.is_halted = true;
    route_->Send(
        route_->stages().back().node.id,
        wire::Halt{.route = route_->id(), .sequence = live.memory->id(), .attempt = attempt});
  }
}

// Its segments that are under way do not count any more.
void Conductor::Void(Live& live) {
  for (auto& [attempt, flight] : flights_) {
    if (flight.live == &live) flight.live = nullptr;
  }
  live.in_flight = 0;
}

// A stage did not compute what it was sent: all are asked again what they hold.
void Conductor::Refused(Live& live, const Error& why) {
  ++counters_.refused;
  if (why.code() == Code::kResourceExhausted) return MakeRoom(live, why);
  if (++live.refusals > kMaxRefusals) return Fail(live, why);
  BeginRequest(live);
}

// Older requests never give way to younger ones, so that the oldest of all comes to its end.
void Conductor::MakeRoom(Live& live, const Error& why) {
  bool has_forgotten = false;
  for (RouteMemory* memory : memories_->all) {
    const bool is_used =
        std::ranges::any_of(running_, [&](const auto& other) { return other->memory == memory; });
    if (is_used || memory->length() == 0) continue;
    memory->Forget();
    has_forgotten = true;
  }
  if (!has_forgotten && running_.size() == 1) return Fail(live, why);
  if (!has_forgotten) {
    Live& youngest = *running_.back();
    const bool is_self = &youngest == &live;
    PutBack(youngest);
    if (is_self) return;
  }
  SendForgotten();
  BeginRequest(live);
}

void Conductor::PutBack(Live& live) {
  ++counters_.put_back;
  is_tight_ = true;
  Void(live);
  EndSearch(live);
  live.phase = Live::Phase::kWaiting;
  live.memory->Forget();
  live.request.turns() = {};
  TracePhase(live, "waiting");
  const auto place =
      std::ranges::find_if(running_, [&](const auto& other) { return other.get() == &live; });
  const auto into = std::ranges::upper_bound(waiting_, live.request.id(), {},
                                             [](const auto& other) { return other->request.id(); });
  waiting_.insert(into, std::move(*place));
  running_.erase(place);
}

void Conductor::Fail(Live& live, Error why) {
  live.request.End(engine::FinishReason::kFailed, std::move(why));
  Remove(live);
}

void Conductor::TracePhase(const Live& live, const char* name) {
  if (options_.trace == nullptr) return;
  options_.trace->Phase(live.request.id(), name, network_.clock().NowNs());
}

// Lets go of a request that has ended, and tells it so.
void Conductor::Remove(Live& live) {
  // What is under way is not computed for nobody. An answer that goes on by itself is halted, and
  // what is remembered of it stays.
  if (route_) Halt(live);
  const bool is_reading = std::ranges::any_of(flights_, [&](const auto& item) {
    return item.second.live == &live && !item.second.is_halted;
  });
  const bool is_begun = live.phase == Live::Phase::kRunning || live.phase == Live::Phase::kWaiting;
  if (is_reading || !is_begun) live.memory->Forget();
  if (route_) EndSearch(live);
  Void(live);
  std::unique_ptr<Live> gone;
  for (Lives* lives : {&running_, &waiting_}) {
    const auto place =
        std::ranges::find_if(*lives, [&](const auto& other) { return other.get() == &live; });
    if (place == lives->end()) continue;
    gone = std::move(*place);
    lives->erase(place);
    break;
  }
  is_tight_ = false;
  TracePhase(live, nullptr);
  ++counters_.finished;
  counters_.cached_tokens += gone->request.counts().cached;
  counters_.replayed_tokens += gone->request.counts().replayed;
  gone->request.TellFinish(network_.clock().NowNs());
}

}  // namespace aster::conduct
