// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/conductor.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "stage/stage_memory.h"

namespace aster::conduct {
namespace {

// Events that a step handles before it does its other work.
constexpr int kEventsPerStep = 256;

}  // namespace

Conductor::Conductor(net::Network& network, const plan::RouteModel& model,
                     const text::Tokenizer* tokenizer, plan::Plan plan, ConductorOptions options,
                     Replanner replanner, stage::LocalStages* local)
    : network_(network),
      model_(model),
      tokenizer_(tokenizer),
      options_(std::move(options)),
      local_(local),
      memories_(std::make_shared<RouteMemories>()),
      costs_(options_.route.kv_encoding, options_.prefill_tokens_per_s, options_.peers),
      peers_(options_.peers),
      drafts_(model_.shape, model_.shape.mtp_layers > 0 || model_.drafter_layer.has_value(),
              options_.proposers, network.clock(), frame_times_),
      schedule_({.chunk_pages = options_.chunk_pages,
                 .frames_per_stage = options_.frames_per_stage,
                 .longest_frame_ns = options_.longest_frame_ns,
                 .expected_token_ns = options_.prefill_tokens_per_s > 0
                                          ? kNsPerSecond / options_.prefill_tokens_per_s
                                          : 0}),
      queue_(options_.max_running),
      plans_(std::move(plan), model.shape.layer_count, std::move(replanner),
             {.max_failures = options_.max_replans, .wait_ns = options_.replan_wait_ns}),
      last_route_(options_.id_seed == 0 ? SystemSeed() : options_.id_seed) {
  CHECK(options_.chunk_pages > 0 && options_.frames_per_stage > 0 && options_.max_running > 0);
}

Conductor::~Conductor() {
  // Sequences outlive their requests here.
  memories_->route = 0;
  if (options_.trace != nullptr && route_) {
    options_.trace->CloseRoute(route_->client.id(), "it was no longer needed", NowNs());
  }
}

// --- Steps.

Status Conductor::Step() {
  if (is_stepping_) return FailedPrecondition("a callback cannot begin the next step");
  is_stepping_ = true;
  Tick();
  // The stages of this process compute one frame; if they had work, this step waits for no event.
  int64_t deadline_ns = std::min(NowNs() + kStepNs, next_tick_ns());
  if (local_ != nullptr && local_->has_work()) {
    local_->Compute();
    deadline_ns = 0;
  }
  // Handles the events that have arrived; if none has, waits for one until the next tick is due.
  if (!idle()) {
    for (int i = 0; i < kEventsPerStep; ++i) {
      std::optional<net::Event> event = network_.Receive(deadline_ns);
      if (!event) break;
      Handle(*std::move(event));
      deadline_ns = 0;  // waits for the first event only
    }
  }
  // Frames that have become possible by these events are sent in the same step.
  Tick();
  is_stepping_ = false;
  return Ok();
}

void Conductor::Tick() {
  if (local_ != nullptr) local_->Tick();
  FinishCancelled();
  // Opens a route if requests wait for one, and replaces one that broke.
  TickRoute();
  if (!is_ready()) return;
  // Stages release KV rows that no sequence needs before new requests ask for more.
  SendForgotten();
  // Waiting requests begin; searches for KV rows end when their time is up.
  while (LiveRequest* const live = queue_.Admit()) Begin(*live);
  for (const auto& live : queue_.running()) Follow(*live, route_->search.Tick(*live));
  SendFrames();
  CheckStall();
  if (route_->client.state() == RouteClient::State::kBroken) OnBroken();
}

int64_t Conductor::next_tick_ns() const {
  // The earliest of: local slices, a new plan, the deadline of a route that opens, a stall, a
  // search's deadline.
  int64_t next_ns = local_ == nullptr ? kNeverNs : local_->next_tick_ns();
  if (!route_) {
    return queue_.waiting().empty() ? next_ns : std::min(next_ns, plans_.open_at_ns());
  }
  next_ns = std::min(next_ns, route_->client.next_tick_ns());
  if (!queue_.running().empty()) next_ns = std::min(next_ns, last_message_ns_ + options_.stall_ns);
  for (const auto& live : queue_.running()) {
    next_ns = std::min(next_ns, route_->search.NextTickNs(*live));
  }
  return next_ns;
}

// --- Frames to stages.

void Conductor::SendFrames() {
  // KV transfers that are complete make their requests ready to decode.
  for (const auto& live : queue_.running()) route_->transfer.Advance(*live);
  // Decode before prefill: its frames are short, and users wait for them.
  for (const Frame& frame : schedule_.Decodes(queue_.running(), route_->pipeline.decodes())) {
    SendFrame(frame);
  }
  route_->pipeline.SendCancels();
  // Prompts fill each path up to its number of frames in flight.
  std::vector<Path> paths{route_->client.prefill_path()};
  if (route_->client.has_decode_path()) paths.push_back(route_->client.decode_path());
  for (const Path path : paths) {
    while (const std::optional<Frame> frame = schedule_.NextPrefill(
               queue_.running(), path, route_->pipeline.prefill_frames(path))) {
      SendFrame(*frame);
    }
  }
  SendAhead();
}

// Stages that would be idle compute draft tokens behind draft tokens that are in flight.
void Conductor::SendAhead() {
  const RouteClient& client = route_->client;
  const auto fills = [&](const auto& live) {
    return live->has_prefill() && client.HaveNodeInCommon(live->prefill_path, client.decode_path());
  };
  if (std::ranges::any_of(queue_.running(), fills)) return;
  for (const auto& live : queue_.running()) {
    while (route_->pipeline.MayDraftAhead(*live)) {
      std::vector<int32_t> drafts = drafts_.Ahead(*live, route_->client);
      live->chain.has_ended = drafts.empty();
      if (!drafts.empty()) route_->pipeline.SendAhead(*live, std::move(drafts));
    }
  }
}

void Conductor::SendFrame(const Frame& frame) {
  for (const FrameItem& item : frame.items) {
    // A segment that yields a token ends the prompt: the decode path takes over.
    const wire::Wanted wanted = item.live->WantedAfter(item.live->sent + item.count);
    const bool is_token = wanted == wire::Wanted::kToken || wanted == wire::Wanted::kLastLogits;
    if (is_token) route_->transfer.StartDecode(*item.live);
  }
  route_->pipeline.Send(frame);
}

// --- Messages of nodes.

void Conductor::TraceDrafts(const net::Event& event) {
  const auto* drafts = std::get_if<wire::DraftTokens>(&event.message);
  if (options_.trace == nullptr || event.kind != net::Event::Kind::kMessage || drafts == nullptr) {
    return;
  }
  options_.trace->AddDrafts({.node = event.from,
                             .text = drafts->draft,
                             .begin = drafts->begin,
                             .count = static_cast<uint32_t>(drafts->tokens.size()),
                             .arrived_ns = NowNs()});
}

void Conductor::Handle(net::Event event) {
  TraceDrafts(event);
  if (options_.on_event && options_.on_event(event)) {
    // New draft tokens may follow those in flight.
    for (const auto& live : queue_.running()) live->chain.has_ended = false;
  }
  if (local_ != nullptr) {
    // Messages for stages on this node are handled by these alone, kUp and kDown by both.
    if (event.kind == net::Event::Kind::kMessage && stage::IsForStages(event.message)) {
      return local_->Handle(std::move(event));
    }
    local_->Handle(event);
  }
  if (!route_) return;
  // The route's client handles every event first, as the route may become ready or break.
  const bool was_ready = is_ready();
  route_->client.Handle(event);
  if (!was_ready && is_ready()) {
    opening_ns_ = NowNs() - opened_ns_;
    if (options_.trace != nullptr) options_.trace->RouteIsReady(route_->client.id(), NowNs());
  }
  if (!is_ready()) return;
  // Searches must not wait for a node that is down.
  if (event.kind == net::Event::Kind::kDown) {
    for (const auto& live : queue_.running()) {
      Follow(*live, route_->search.OnDown(*live, event.from));
    }
  } else if (event.kind == net::Event::Kind::kMessage) {
    OnMessage(event.from, event.message, event.arrived_ns);
  }
}

void Conductor::OnMessage(const wire::NodeId& from, const wire::Message& message,
                          int64_t arrived_ns) {
  if (const auto* holds = std::get_if<wire::Holds>(&message)) {
    OnHolds(from, *holds);
  } else if (const auto* done = std::get_if<wire::Done>(&message)) {
    OnDone(from, *done, arrived_ns);
  } else if (const auto* rows = std::get_if<wire::KvRows>(&message)) {
    OnKvRows(from, *rows);
  } else if (const auto* found = std::get_if<wire::FoundKv>(&message)) {
    const auto [live, next] = route_->search.OnFoundKv(from, *found);
    if (live != nullptr) Follow(*live, next);
  }
}

void Conductor::OnHolds(const wire::NodeId& from, const wire::Holds& holds) {
  // Late messages of an earlier route are ignored.
  if (holds.route != route_->client.id()) return;
  last_message_ns_ = NowNs();
  // The message is about the transfer of a session, refuses a segment, or is the reply to a Begin
  // or to KV rows of a request.
  if (route_->sequence && route_->sequence->OnHolds(from, holds)) return;
  if (holds.attempt != 0) return OnRefusal(holds);
  // Only replies in the request's newest epoch count.
  LiveRequest* const live = queue_.Find([&](const LiveRequest& other) {
    return other.memory->id() == holds.sequence && other.epoch == holds.epoch &&
           other.phase != RequestPhase::kWaiting;
  });
  if (live == nullptr || !route_->client.IsStageOf(from, holds.stage)) return;
  if (!holds.why.message().empty()) return OnMissingRows(*live, holds);
  live->TakeHolds(holds);
  switch (live->phase) {
    case RequestPhase::kBeginning:
      if (live->holds.size() == route_->client.stages().size()) OnBegun(*live);
      return;
    case RequestPhase::kFetching:
      return Follow(*live, route_->search.OnHolds(*live));
    case RequestPhase::kSyncing:
      return route_->transfer.OnHolds(*live);
    default:
      return;  // Tick continues it
  }
}

// A stage refused a segment.
void Conductor::OnRefusal(const wire::Holds& holds) {
  const std::optional<Segment> segment = route_->pipeline.Refuse(holds.attempt);
  if (!segment || segment->live == nullptr) return;
  if (segment->is_ahead) {
    // Segments in flight before it are not affected.
    if (holds.why.code() == Code::kResourceExhausted) {
      segment->live->drafting = LiveRequest::Drafting::kNoMemory;
    }
    return;
  }
  if (segment->drafts.empty()) return Refuse(*segment->live, holds.why);
  // Draft tokens must not take memory from other requests: the segment is sent again without them.
  segment->live->drafting = LiveRequest::Drafting::kNoMemory;
  ++counters_.refused;
  Begin(*segment->live);
}

// A stage could not send or take KV rows, or not begin a text.
void Conductor::OnMissingRows(LiveRequest& live, const wire::Holds& holds) {
  if (live.phase == RequestPhase::kFetching) return Follow(live, route_->search.GiveUp(live));
  const bool is_beginning = live.phase == RequestPhase::kBeginning;
  // Rows that only serve the next turn (KV sync) may be missing.
  if (!is_beginning && !live.awaits_transfer()) return;
  if (holds.why.code() == Code::kResourceExhausted) return MakeRoom(live, holds.why);
  return is_beginning ? Fail(live, holds.why) : Refuse(live, holds.why);
}

void Conductor::OnDone(const wire::NodeId& from, const wire::Done& done, int64_t arrived_ns) {
  if (done.route != route_->client.id() || !route_->client.IsEndOfPath(from)) return;
  last_message_ns_ = NowNs();
  // The whole message is checked before any of it is used; an invalid one breaks the route.
  Status checked = route_->pipeline.Check(done);
  if (!checked.ok()) {
    return route_->client.Break(
        std::move(checked).error().In(fmt::format("node {}", from.ToText())));
  }
  const auto take = [this](const Segment& segment, const wire::SegmentResult& result,
                           std::span<const float> rows) { TakeResult(segment, result, rows); };
  route_->pipeline.Take(done, arrived_ns != 0 ? arrived_ns : last_message_ns_, take);
}

void Conductor::OnKvRows(const wire::NodeId& from, const wire::KvRows& rows) {
  if (route_->sequence && route_->sequence->OnKvRows(from, rows)) {
    last_message_ns_ = NowNs();
    return;
  }
  // Without a reply the node sends no more rows.
  const auto chunk = kv::ParseKvChunk(rows.chunk);
  if (!chunk.ok()) return;
  static_cast<void>(network_.Send(from, stage::RefusalOf(rows, chunk->header.layers)));
}

// All stages have computed a segment: advances its request, and passes its result on.
void Conductor::TakeResult(const Segment& segment, const wire::SegmentResult& result,
                           std::span<const float> rows) {
  LiveRequest& live = *segment.live;
  if (live.request.cancelled()) return;  // by a callback that has just run
  // A segment before this one was refused; the refusal has not arrived yet.
  if (segment.begin != live.memory->length()) return;
  // The segment's rows are in the KV cache of every stage now.
  live.memory->SetLength(segment.end);
  live.refusals = 0;
  plans_.ForgetFailures();
  const uint32_t count = segment.end - segment.begin;
  const bool is_prompt = live.request.generated() == 0;
  (is_prompt ? counters_.prefill_tokens : counters_.decode_tokens) += count;
  live.request.Advance(count);
  // Disaggregation: the time from here to the first token is the cost of the KV transfer.
  const bool is_prefilled = live.is_disaggregated() && segment.end == live.prefill_end();
  if (is_prompt && is_prefilled) live.transfer.prefilled_ns = NowNs();
  // The result has rows (logits or states), a token, or nothing.
  if (const size_t row_count = segment.row_count(); live.logits.is_wanted() && row_count > 0) {
    const auto first = static_cast<uint32_t>(segment.end - row_count);
    live.logits.Take(first, rows, rows.size() / row_count);
  }
  const bool is_token =
      segment.wanted == wire::Wanted::kToken || segment.wanted == wire::Wanted::kLastLogits;
  if (is_token) return TakeToken(segment, result, rows);
  // A request for no tokens ends when all of its text is computed.
  if (!live.logits.status().ok()) return Fail(live, live.logits.status().error());
  if (live.request.pending_count() > 0) return;
  live.request.End(engine::FinishReason::kLength);
  Remove(live);
}

void Conductor::TakeToken(const Segment& segment, const wire::SegmentResult& result,
                          std::span<const float> logits) {
  LiveRequest& live = *segment.live;
  const int64_t now_ns = NowNs();
  const bool was_edited = segment.wanted == wire::Wanted::kLastLogits;
  const uint64_t generated = live.request.generated();
  // The token is chosen here if the caller edits logits, otherwise by the stage with the head.
  bool is_last;
  if (was_edited) {
    is_last = live.request.TakeLogits(logits, now_ns);
  } else if (result.has_failed) {
    is_last = live.request.TakeChoice(result.why, now_ns);
  } else {
    engine::Choice choice{.id = result.token, .logprob = result.logprob};
    for (const wire::LogitOf& top : result.top) choice.top.push_back({top.id, top.logprob});
    is_last = live.request.TakeChoice(std::move(choice), now_ns);
  }
  // At the first token of a disaggregated prompt its KV transfer is complete.
  if (const int64_t prefilled_ns = std::exchange(live.transfer.prefilled_ns, 0)) {
    ++counters_.transferred_prompts;
    counters_.exposed_ns += now_ns - prefilled_ns;
    counters_.transferred_bytes += live.transfer.prompt_bytes;
  }
  if (live.request.generated() == 1) LearnFirstToken(live, now_ns);
  live.last_token_ns = now_ns;
  // The last token counts for the acceptance rate, too.
  if (live.request.generated() > generated) drafts_.FollowChain(live);
  if (is_last && was_edited) RouteDrafts::CountLast(live, segment.drafts.size(), segment.accepted);
  // The token is part of the text now; the next frame computes it.
  if (is_last) return Remove(live);
  live.history->Append(std::span(live.request.sequence().tokens()).last(1));
  // If tokens are chosen here, the stage's draft tokens begin after the segment's first row.
  drafts_.TakeStageDrafts(live, result.drafts, was_edited ? result.end : live.length());
  route_->transfer.SyncAnswer(live);
  if (live.request.generated() > 1) return;
  // The time until the first token is that of the prompt.
  const uint32_t prompt = live.length() - 1;
  costs_.LearnPrefill(prompt - std::min(prompt, live.started_at), now_ns - live.started_ns);
  TracePhase(live, "decode");
}

}  // namespace aster::conduct
