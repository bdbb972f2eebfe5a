// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The route of a conductor: opened, watched, and replaced when it breaks.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "conduct/conductor.h"

namespace aster::conduct {
namespace {

// Whether all nodes of the plan can take KV rows of this route; those of a group only exact ones.
bool TakesRows(const plan::Plan& plan, const RouteOptions& route) {
  return !plan.has_groups() || route.kv_encoding == wire::RowEncoding::kF32;
}

}  // namespace

Conductor::OpenedRoute::OpenedRoute(Conductor& conductor, wire::RouteId id)
    : client(conductor.network_, conductor.model_, conductor.plan(), conductor.options_.route, id),
      pipeline({.route = client,
                .clock = conductor.network_.clock(),
                .drafts = conductor.drafts_,
                .schedule = conductor.schedule_,
                .times = conductor.times_,
                .frame_times = conductor.frame_times_,
                .pace = conductor.pace_,
                .numbers = conductor.numbers_,
                .counters = conductor.counters_,
                .trace = conductor.options_.trace,
                .encoding = conductor.options_.route.encoding,
                .vocab_size = conductor.model_.shape.vocab_size,
                .embedding = conductor.model_.shape.embedding}),
      transfer(client, conductor.costs_, conductor.network_.clock(),
               {.direct_tokens = conductor.options_.direct_tokens,
                .sync_step = conductor.options_.kv_sync_step}),
      search({.network = conductor.network_,
              .route = client,
              .peers = conductor.peers_,
              .costs = conductor.costs_,
              .numbers = conductor.numbers_,
              .counters = conductor.counters_,
              .fetched = conductor.fetched_},
             {.is_enabled = conductor.options_.searches_peers &&
                            TakesRows(conductor.plan(), conductor.options_.route),
              .ask_ns = conductor.options_.ask_ns,
              .fetch_silence_ns = conductor.options_.fetch_silence_ns}) {}

void Conductor::OpenRoute() {
  // A new number, by which stages tell old messages from new ones.
  const wire::RouteId id = ++last_route_;
  route_ = std::make_unique<OpenedRoute>(*this, id);
  memories_->route = id;
  memories_->forgotten.clear();
  times_.Reset(route_->client.stages().size());
  frame_times_ = {};
  pace_.Reset(route_->client.stages().size());
  if (options_.planned) {
    costs_.OpenRoute(options_.planned(plan().stages), options_.planned(plan().decode));
  } else {
    costs_.OpenRoute({}, {});
  }
  last_message_ns_ = opened_ns_ = NowNs();
  if (options_.trace != nullptr) options_.trace->OpenRoute(id, plan(), last_message_ns_);
}

void Conductor::CloseRoute(const Error& why) {
  if (options_.trace != nullptr) {
    options_.trace->CloseRoute(route_->client.id(), why.message(), NowNs());
  }
  // Members end in the reverse order, and the client's end tells the nodes to drop the route.
  times_.End(NowNs());
  const std::vector<wire::RouteId> ids = route_->client.AllIds();
  route_.reset();
  if (options_.on_closed) options_.on_closed(ids);
  // KV rows that the stages hold are known only within the route.
  memories_->route = 0;
  memories_->forgotten.clear();
}

Status Conductor::Open(const std::function<void(const OpenProgress&)>& on_progress,
                       const std::function<bool()>& is_cancelled) {
  if (!route_) OpenRoute();
  for (uint32_t replans = 0; !is_ready();) {
    RouteClient& client = route_->client;
    if (client.state() == RouteClient::State::kBroken) {
      // If nodes were lost meanwhile, opens another plan, a limited number of times.
      const Error why = client.why();
      const std::vector<wire::NodeId> lost = client.lost();
      CloseRoute(why);
      // If no node was lost, another plan would break in the same way.
      if (lost.empty() || ++replans > options_.max_open_replans) return why;
      TRY(plans_.Replace(lost, why));
      counters_.replans = plans_.count();
      OpenRoute();
      continue;
    }
    // Otherwise the nodes are loading: their progress arrives as events.
    if (is_cancelled && is_cancelled()) return Error(Code::kCancelled, "the route was not opened");
    if (on_progress) on_progress(client.progress());
    if (local_ != nullptr) local_->Tick();
    auto event = network_.Receive(NowNs() + kStepNs);
    if (event) Handle(*std::move(event));
    client.Tick();
  }
  if (on_progress) on_progress(route_->client.progress());
  return Ok();
}

void Conductor::TickRoute() {
  // A route is opened when a request needs one, and only after the pause that follows a failure.
  if (!route_ && !queue_.waiting().empty() && NowNs() >= plans_.open_at_ns()) OpenRoute();
  if (!route_) return;
  route_->client.Tick();
  if (route_->client.state() == RouteClient::State::kBroken) OnBroken();
}

// Breaks the route if replies are due and no node has sent anything for stall_ns.
void Conductor::CheckStall() {
  const bool is_awaited = std::ranges::any_of(queue_.running(), [](const auto& live) {
    return live->in_flight > 0 || live->phase == RequestPhase::kBeginning ||
           live->phase == RequestPhase::kSyncing || live->lacks_last_token();
  });
  if (route_->pipeline.empty() && !is_awaited) last_message_ns_ = NowNs();
  if (NowNs() - last_message_ns_ < options_.stall_ns) return;
  route_->client.Break(
      Error(Code::kDeadlineExceeded,
            fmt::format("the route is stalled: no node that has work has answered for {} s",
                        options_.stall_ns / kNsPerSecond)));
}

// Closes the broken route and plans another one. Requests keep their tokens, and continue when it
// is ready.
void Conductor::OnBroken() {
  const Error why = route_->client.why();
  const std::vector<wire::NodeId> lost = route_->client.lost();
  // Running requests wait again, with their tokens and without their rows.
  CloseRoute(why);
  for (const auto& live : queue_.running()) TracePhase(*live, "waiting");
  queue_.SuspendAll();
  // The next route is opened after a pause that grows with failures in a row.
  plans_.OnBroken(NowNs());
  if (queue_.empty()) return;
  // The remaining nodes keep their KV rows for a while, so they are asked for them.
  const plan::Plan broken = plan();
  const Status replaced = plans_.ReplaceFailed(lost, why);
  if (!replaced.ok()) return FailWaiting(replaced.error());
  counters_.replans = plans_.count();
  peers_.AddFormer(broken, lost);
}

Status Conductor::Replan(const Error& why) {
  const plan::Plan former = plan();
  // Closes the route first, so that the memory of its slices is free for the next plan.
  if (route_) {
    CloseRoute(why);
    for (const auto& live : queue_.running()) TracePhase(*live, "waiting");
    queue_.SuspendAll();
  }
  TRY(plans_.Replace({}, why));
  counters_.replans = plans_.count();
  peers_.AddFormer(former, {});
  times_.Reset(plan().AllStages().size());
  pace_.Reset(plan().AllStages().size());
  return Ok();
}

void Conductor::FailWaiting(const Error& why) {
  // Callbacks may submit: requests that they submit do not fail.
  for (const auto& live : queue_.RemoveWaiting()) {
    TracePhase(*live, nullptr);
    live->request.End(engine::FinishReason::kFailed, why);
    ++counters_.finished;
    live->request.ReportFinish(NowNs());
  }
}

}  // namespace aster::conduct
