// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The life of a conductor's requests, from one phase to the next (conduct/live_request.h).

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "conduct/conductor.h"
#include "engine/check_request.h"
#include "stage/stage_memory.h"

namespace aster::conduct {
namespace {

// A request fails if its segments are refused this many times without a token between.
constexpr uint32_t kMaxRefusals = 8;

}  // namespace

// --- Beginning.

Result<engine::RequestId> Conductor::Submit(engine::Request request) {
  CHECK(request.sequence != nullptr);
  LogitsCollector rows = CollectorOf(request);
  return SubmitWith(std::move(request), std::move(rows));
}

Result<engine::RequestId> Conductor::SubmitWith(engine::Request request, LogitsCollector logits) {
  // Refuses requests that can never be answered.
  RouteMemory* const memory = TRY(IdleMemoryOf(*request.sequence));
  TRY(engine::CheckRequest(model_.shape, tokenizer_, request));
  const uint32_t length = request.sequence->length();
  if (is_ready() && length > route_->client.kv_positions()) {
    return ResourceExhausted(
        fmt::format("a prompt of {} tokens does not fit into the KV cache of the nodes: {} tokens "
                    "fit; give them more with --kv-memory",
                    length, route_->client.kv_positions()));
  }
  auto speculation = TRY(drafts_.SpeculationFor(request));
  if (idle()) plans_.ForgetFailures();
  // It waits in the queue; Tick begins it once there is room.
  auto live = std::make_unique<LiveRequest>(++last_request_, std::move(request), tokenizer_,
                                            model_.shape.vocab_size, options_.isa, memory, NowNs());
  live->request.Speculate(std::move(speculation));
  live->pace = drafts_.PaceFor(live->request.request());
  live->logits = std::move(logits);
  ++counters_.submitted;
  TracePhase(*live, "waiting");
  queue_.Add(std::move(live));
  return last_request_;
}

// kBeginning: starts a new epoch. Sends all stages the text, and they reply how much of it their KV
// caches hold. Results and messages of earlier epochs are ignored from now on.
void Conductor::Begin(LiveRequest& live) {
  if (live.logits.wants_states()) {
    Status checked = route_->client.CheckStates();
    if (!checked.ok()) return Fail(live, std::move(checked).error());
  }
  live.phase = RequestPhase::kBeginning;
  TracePhase(live, "asking stages what they hold");
  // Ends everything that is in flight for the request.
  route_->pipeline.Abandon(live);
  route_->search.End(live);
  const wire::SequenceId sequence = live.memory->id();
  if (route_->sequence && route_->sequence->sequence() == sequence) route_->sequence.reset();
  live.memory->Begin();
  live.holds.clear();
  live.epoch = ++numbers_.epoch;
  live.history.emplace(route_->client.layout().digest());
  live.history->Append(live.request.sequence().tokens());
  // Every stage gets the text, and the options to sample and draft by itself.
  const engine::DraftOptions draft = RouteDrafts::AtHead(live, route_->client);
  const engine::Request& request = live.request.request();
  route_->client.SendToAll(wire::Begin{.route = route_->client.id(),
                                       .sequence = sequence,
                                       .tokens = live.request.sequence().tokens(),
                                       .sampling = stage::SamplingToWire(request.sampling),
                                       .epoch = live.epoch,
                                       .stop_tokens = request.stop_tokens,
                                       .draft_kind = static_cast<uint8_t>(draft.kind),
                                       .draft_most = static_cast<uint8_t>(draft.most)});
}

// All stages have replied how much of the text they hold: searches other nodes for the rest.
void Conductor::OnBegun(LiveRequest& live) {
  if (live.searched_route != route_->client.id())
    live.held_before = std::max(live.HeldBy(route_->client.prefill_path()),
                                live.HeldBy(route_->client.decode_path()));
  const PrefixSearch::Next next = route_->search.Start(live);
  if (next == PrefixSearch::Next::kWait) TracePhase(live, "asking other nodes what they hold");
  Follow(live, next);
}

// Does what the request's prefix search has decided.
void Conductor::Follow(LiveRequest& live, PrefixSearch::Next next) {
  switch (next) {
    case PrefixSearch::Next::kWait:
      return;
    case PrefixSearch::Next::kFetch:
      return TracePhase(live, "fetching KV rows");
    case PrefixSearch::Next::kRun:
      return Run(live);
    case PrefixSearch::Next::kBegin:
      return Begin(live);
  }
}

// kSyncing or kPrefill: missing KV rows are sent between the paths, or computed.
void Conductor::Run(LiveRequest& live) {
  route_->transfer.Start(live);
  uint32_t length = std::min(live.sent, live.length());
  // Rows whose logits are still wanted are computed again even if stages hold them.
  if (live.logits.is_wanted()) length = std::min(length, live.logits.next());
  live.memory->SetLength(length);
  live.request.Begin(NowNs());
  live.request.Adopt();  // rows that all stages hold count as cached
  live.sent = live.request.sequence().computed();
  live.started_ns = NowNs();
  live.started_at = live.sent;
  Predict(live);
  TracePhase(live, live.lacks_last_token() ? "decode" : "prefill");
}

// --- Forecasts.

PathForecast& Conductor::ForecastOf(const LiveRequest& live) {
  const bool is_direct = route_->client.has_decode_path() && !live.is_disaggregated();
  return is_direct ? costs_.decode() : costs_.prefill();
}

// Predicts the times of the request. It waits for prompts that the same path computes before it.
void Conductor::Predict(LiveRequest& live) {
  live.first_token_ns = live.last_token_ns = 0;
  uint32_t tokens = live.length() - live.sent;
  for (const auto& other : queue_.running()) {
    const bool is_before =
        other.get() != &live && other->has_prefill() && other->prefill_path == live.prefill_path;
    if (is_before) tokens += other->prefill_end() - other->sent;
  }
  const PathForecast& decodes =
      route_->client.has_decode_path() ? costs_.decode() : costs_.prefill();
  live.forecast = {.prompt_tokens = tokens,
                   .others = static_cast<uint32_t>(queue_.running().size() - 1),
                   .held_tokens = live.sent,
                   .fetched_tokens = live.sent - std::min(live.sent, live.held_before),
                   .is_direct = route_->client.has_decode_path() && !live.is_disaggregated(),
                   .fetch_s = live.fetch_s,
                   .first_token_s = ForecastOf(live).PrefillSeconds(tokens),
                   .token_s = decodes.TokenSeconds(queue_.running().size()),
                   .actual_fetch_s = live.actual_fetch_s};
}

void Conductor::LearnFirstToken(LiveRequest& live, int64_t now_ns) {
  live.first_token_ns = now_ns;
  const double actual_s = static_cast<double>(now_ns - live.started_ns) / 1e9;
  live.forecast.actual_first_token_s = actual_s;
  ForecastOf(live).LearnPrefill(live.forecast.prompt_tokens, actual_s);
}

void Conductor::LearnAnswer(LiveRequest& live) {
  constexpr size_t kMostForecasts = 64;
  const uint64_t generated = live.request.generated();
  const bool has_pace = live.first_token_ns > 0 && generated > 1;
  RequestForecast& of = live.forecast;
  of.answer_tokens = generated;
  if (has_pace) {
    of.actual_token_s = static_cast<double>(live.last_token_ns - live.first_token_ns) / 1e9 /
                        static_cast<double>(generated - 1);
  }
  ended_.emplace_back(live.request.id(), of);
  if (ended_.size() > kMostForecasts) ended_.pop_front();
  // With draft tokens the pace depends on the text, so it predicts no other request's.
  const bool is_drafted = live.request.request().draft.kind != engine::DraftKind::kNone;
  if (!has_pace || is_drafted || !route_) return;
  forecasts_.push_back(of);
  if (forecasts_.size() > kMostForecasts) forecasts_.pop_front();
  PathForecast& decodes = route_->client.has_decode_path() ? costs_.decode() : costs_.prefill();
  decodes.LearnToken(queue_.running().size(), of.actual_token_s);
}

const RequestForecast* Conductor::FindForecast(engine::RequestId id) const {
  for (const auto& [request, forecast] : ended_) {
    if (request == id) return &forecast;
  }
  return nullptr;
}

// --- Failures.

// A stage refused a segment. Begins again: stages may hold less than was assumed.
void Conductor::Refuse(LiveRequest& live, const Error& why) {
  ++counters_.refused;
  if (why.code() == Code::kResourceExhausted) return MakeRoom(live, why);
  if (++live.refusals > kMaxRefusals) return Fail(live, why);
  Begin(live);
}

// A stage has no memory for the request: first releases sequences that no request uses, then
// preempts the youngest request. A request that is alone fails.
void Conductor::MakeRoom(LiveRequest& live, const Error& why) {
  // If memory was released after this epoch began, it may be enough: one frame can refuse several
  // requests, and the first of them has already made room.
  SendForgotten();
  if (live.epoch <= freed_epoch_) return Begin(live);
  if (!ForgetUnused()) {
    LiveRequest& youngest = *queue_.running().back();
    if (queue_.running().size() == 1) return Fail(live, why);
    Preempt(youngest);
    if (&youngest == &live) return;
  }
  SendForgotten();
  Begin(live);
}

// Releases the sequences that no running request has; false if there are none.
bool Conductor::ForgetUnused() {
  bool has_forgotten = false;
  for (RouteMemory* memory : memories_->all) {
    const bool is_used = std::ranges::any_of(
        queue_.running(), [&](const auto& other) { return other->memory == memory; });
    if (is_used || !memory->is_begun()) continue;
    memory->Forget();
    has_forgotten = true;
  }
  return has_forgotten;
}

void Conductor::Preempt(LiveRequest& live) {
  // The request keeps its tokens. Every stage frees its KV rows, which are computed again later.
  ++counters_.preempted;
  route_->pipeline.Abandon(live);
  route_->search.End(live);
  live.memory->Forget();
  queue_.Preempt(live);
  TracePhase(live, "waiting");
}

void Conductor::SendForgotten() {
  if (!memories_->forgotten.empty()) freed_epoch_ = numbers_.epoch;
  for (const wire::SequenceId id : std::exchange(memories_->forgotten, {})) {
    route_->client.SendToAll(wire::End{.route = route_->client.id(), .sequence = id});
  }
}

// --- End.

void Conductor::Cancel(engine::RequestId id) {
  LiveRequest* const live =
      queue_.Find([&](const LiveRequest& other) { return other.request.id() == id; });
  // Only marks it: it ends in the next tick, outside of any callback.
  if (live != nullptr) live->request.Cancel();
}

void Conductor::FinishCancelled() {
  const auto is_cancelled = [](const LiveRequest& live) { return live.request.cancelled(); };
  // Callbacks may change the queue, so each search starts from its beginning.
  while (LiveRequest* const live = queue_.Find(is_cancelled)) {
    live->request.End(engine::FinishReason::kCancelled);
    Remove(*live);
  }
}

void Conductor::Fail(LiveRequest& live, Error why) {
  live.request.End(engine::FinishReason::kFailed, std::move(why));
  Remove(live);
}

// The request has ended: stops its computation and calls its callback.
void Conductor::Remove(LiveRequest& live) {
  // KV rows on the stages stay valid for later requests unless stages still compute segments, as
  // their KV cache then becomes longer than this conductor knows.
  if (route_) route_->pipeline.Halt(live);
  const bool is_computing = route_ && route_->pipeline.IsComputing(live);
  const bool is_known = live.is_running() || live.phase == RequestPhase::kWaiting;
  if (is_computing || !is_known) live.memory->Forget();
  if (route_) {
    route_->transfer.SyncRest(live);
    route_->search.End(live);
    route_->pipeline.Abandon(live);
  }
  LearnAnswer(live);
  const std::unique_ptr<LiveRequest> removed = queue_.Remove(live);
  TracePhase(*removed, nullptr);
  ++counters_.finished;
  counters_.cached_tokens += removed->request.counts().cached;
  counters_.replayed_tokens += removed->request.counts().replayed;
  // Comes last, as the callback may submit another request.
  removed->request.ReportFinish(NowNs());
}

void Conductor::TracePhase(const LiveRequest& live, const char* name) {
  if (options_.trace == nullptr) return;
  options_.trace->Phase(live.request.id(), name, NowNs());
}

}  // namespace aster::conduct
