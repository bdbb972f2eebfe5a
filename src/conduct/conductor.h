// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Answers requests on a model that several machines hold together (pipeline parallel). The
// conductor opens a route and leads each request through its phases, with RequestQueue (admission
// and preemption), PrefixSearch (KV rows that other nodes hold), KvTransfer (KV rows between the
// paths) and Pipeline (frames in flight). An answer has the bits that one machine would compute,
// also when a machine fails meanwhile. Must not know sockets, nor how layers are computed.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "conduct/counters.h"
#include "conduct/frame_schedule.h"
#include "conduct/frame_times.h"
#include "conduct/kv_costs.h"
#include "conduct/kv_peers.h"
#include "conduct/kv_transfer.h"
#include "conduct/live_request.h"
#include "conduct/pipeline.h"
#include "conduct/prefix_search.h"
#include "conduct/replanning.h"
#include "conduct/request_queue.h"
#include "conduct/route_client.h"
#include "conduct/route_drafts.h"
#include "conduct/route_memory.h"
#include "conduct/sequence_transfer.h"
#include "conduct/stage_pace.h"
#include "conduct/stage_times.h"
#include "conduct/trace.h"
#include "engine/generator.h"
#include "kernels/isa_choice.h"
#include "net/network.h"
#include "plan/plan.h"
#include "plan/route_model.h"
#include "stage/local_stages.h"
#include "text/tokenizer.h"

namespace aster::conduct {

struct ConductorOptions {
  RouteOptions route;
  kernels::Isa isa = kernels::FastestIsa();              // of samplers here
  uint32_t chunk_pages = 2;                              // of prompts, in a frame
  uint32_t frames_per_stage = 2;                         // of prompts, in flight
  int64_t longest_frame_ns = 0;                          // FrameScheduleOptions
  uint32_t max_running = 64;                             // requests
  std::optional<uint32_t> direct_tokens = std::nullopt;  // KvTransferOptions
  uint32_t kv_sync_step = 32;                            // likewise, sync_step
  int64_t stall_ns = 300 * kNsPerSecond;    // after which silent nodes with work count as stalled
  uint32_t max_replans = 8;                 // in a row, without a token between them
  int64_t replan_wait_ns = 100 * kNsPerMs;  // before the second one, and twice that before the next
  uint32_t max_open_replans = 0;            // of a route that Open opens
  // Nodes outside the route that may hold KV rows; prefix search asks them, too.
  KvPeerList peers = nullptr;
  bool searches_peers = true;       // before anything is computed
  double prefill_tokens_per_s = 0;  // of the plan; 0: not known
  // The predicted times of a path of a plan; null: not known.
  std::function<PlannedPath(std::span<const plan::PlanStage>)> planned = nullptr;
  int64_t ask_ns = 500 * kNsPerMs;              // PrefixSearchOptions
  int64_t fetch_silence_ns = 5 * kNsPerSecond;  // likewise
  uint64_t id_seed = 0;                         // for ids of routes; 0: the system's
  Trace* trace = nullptr;                       // or null; outlives the conductor
  // Drafts tokens on this machine, for routes whose stages do not; null: none. Outlives it.
  engine::ProposerSource* proposers = nullptr;
  // Gets every event before the conductor does, as drafters on other machines use the same network.
  // Returns whether `proposers` may have new draft tokens because of it.
  std::function<bool(const net::Event&)> on_event = nullptr;
  // Gets all ids of a route that was closed, before the replanner is asked for another plan: its
  // nodes may not know yet that it is closed.
  std::function<void(std::span<const wire::RouteId>)> on_closed = nullptr;
};

// Older times of stages do not count for their current pace.
inline constexpr int64_t kNewestPaceNs = 5 * kNsPerSecond;

// How long a step waits for events at most.
inline constexpr int64_t kStepNs = 20 * kNsPerMs;

// All work is done on the caller's thread. Network, tokenizer and local stages outlive it;
// sequences may outlive it. Requests that are unfinished when it is destroyed get no callback.
class Conductor final : public engine::Generator {
 public:
  // Without a replanner, requests fail when a node does. `local`: the stages of this process, if it
  // is part of the route; they share the network and are computed in Step.
  Conductor(net::Network& network, const plan::RouteModel& model, const text::Tokenizer* tokenizer,
            plan::Plan plan, ConductorOptions options = {}, Replanner replanner = nullptr,
            stage::LocalStages* local = nullptr);
  ~Conductor() override;
  Conductor(const Conductor&) = delete;
  Conductor& operator=(const Conductor&) = delete;

  // Opens the route and waits until all of it is ready. (Step opens it, too, if requests wait.)
  Status Open(const std::function<void(const OpenProgress&)>& on_progress = nullptr,
              const std::function<bool()>& is_cancelled = nullptr);

  // Asks the replanner for another plan although no node failed: requests keep their tokens and
  // continue on the next route. After an error they continue with the old plan.
  Status Replan(const Error& why);
  // Nodes of former plans that will be switched off are not asked for KV rows any more.
  void Forget(std::span<const wire::NodeId> nodes) { peers_.Forget(nodes); }

  const model::Shape& shape() const override { return model_.shape; }
  engine::Sequence NewSequence() override;
  Result<engine::RequestId> Submit(engine::Request request) override;
  void Cancel(engine::RequestId id) override;
  bool idle() const override { return queue_.empty(); }
  Status Step() override;
  Status LogitsOf(std::span<const int32_t> tokens, size_t chunk, engine::LogitsSink sink) override;
  Status ExportRows(engine::Sequence& sequence, uint32_t begin, uint32_t end,
                    kv::KvChunkSink sink) override;
  Status ImportRows(engine::Sequence& sequence, Bytes chunk) override;

  // The parts of Step, for a loop that receives from the network itself.
  void Handle(net::Event event);
  void Tick();
  int64_t next_tick_ns() const;

  const ConductorCounters& counters() const { return counters_; }
  std::vector<HopFigures> hops() const { return times_.Totals(NowNs()); }  // by stage
  const FetchedByNode& fetched() const { return fetched_; }
  // Forecasts of the last requests that were answered, the newest last.
  const std::deque<RequestForecast>& forecasts() const { return forecasts_; }
  // The forecast of one of the last requests that ended, or null. Known from the request's
  // on_finish on, and valid until the next request ends.
  const RequestForecast* FindForecast(engine::RequestId id) const;
  // The pace of each stage of the route, from frames of the last seconds.
  std::vector<StagePace::Pace> paces() const { return pace_.Paces(NowNs(), kNewestPaceNs); }
  // How long the last route took to open; 0: no route was ready yet.
  int64_t opening_ns() const { return opening_ns_; }
  const plan::Plan& plan() const { return plans_.plan(); }
  // Null while none is open.
  const RouteClient* route() const { return route_ ? &route_->client : nullptr; }

 private:
  // Everything that ends with a route. The order counts: later members use earlier ones.
  struct OpenedRoute {
    OpenedRoute(Conductor& conductor, wire::RouteId id);

    RouteClient client;
    Pipeline pipeline;
    KvTransfer transfer;
    PrefixSearch search;
    std::optional<SequenceTransfer> sequence;  // the newest transfer to or from this process
  };

  int64_t NowNs() const { return network_.clock().NowNs(); }
  bool is_ready() const { return route_ && route_->client.is_ready(); }

  // The route (conductor_route.cc).
  void OpenRoute();
  void TickRoute();
  void CheckStall();
  void OnBroken();
  void CloseRoute(const Error& why);
  void FailWaiting(const Error& why);

  // Requests (conductor_requests.cc).
  Result<engine::RequestId> SubmitWith(engine::Request request, LogitsCollector logits);
  void FinishCancelled();
  void Begin(LiveRequest& live);
  void OnBegun(LiveRequest& live);
  void Follow(LiveRequest& live, PrefixSearch::Next next);
  void Run(LiveRequest& live);
  PathForecast& ForecastOf(const LiveRequest& live);
  void Predict(LiveRequest& live);
  void LearnFirstToken(LiveRequest& live, int64_t now_ns);
  void LearnAnswer(LiveRequest& live);
  void Refuse(LiveRequest& live, const Error& why);
  void MakeRoom(LiveRequest& live, const Error& why);
  bool ForgetUnused();
  void Preempt(LiveRequest& live);
  void Fail(LiveRequest& live, Error why);
  void Remove(LiveRequest& live);
  void SendForgotten();
  void TracePhase(const LiveRequest& live, const char* name);
  void TraceDrafts(const net::Event& event);

  // Frames, and messages of stages (conductor.cc).
  void SendFrames();
  void SendFrame(const Frame& frame);
  void SendAhead();
  void OnMessage(const wire::NodeId& from, const wire::Message& message, int64_t arrived_ns);
  void OnHolds(const wire::NodeId& from, const wire::Holds& holds);
  void OnRefusal(const wire::Holds& holds);
  void OnMissingRows(LiveRequest& live, const wire::Holds& holds);
  void OnDone(const wire::NodeId& from, const wire::Done& done, int64_t arrived_ns);
  void OnKvRows(const wire::NodeId& from, const wire::KvRows& rows);
  void TakeResult(const Segment& segment, const wire::SegmentResult& result,
                  std::span<const float> rows);
  void TakeToken(const Segment& segment, const wire::SegmentResult& result,
                 std::span<const float> logits);

  // Sequences that no request has (conductor_sequences.cc).
  Status Compute(engine::Sequence& sequence, LogitsCollector logits);
  LogitsCollector CollectorOf(const engine::Request& request) const;
  uint32_t RowsOfFrame(uint32_t width) const;
  RouteMemory* MemoryOf(engine::Sequence& sequence) const;
  Result<RouteMemory*> IdleMemoryOf(engine::Sequence& sequence) const;
  Status CheckWholeRows() const;
  Status StartTransfer(const engine::Sequence& sequence, RouteMemory& memory);
  Status TransferUntil(FunctionRef<bool()> is_done);

  net::Network& network_;
  const plan::RouteModel model_;
  const text::Tokenizer* const tokenizer_;
  const ConductorOptions options_;
  stage::LocalStages* const local_;
  const std::shared_ptr<RouteMemories> memories_;

  // Members from here on live longer than any route.
  ConductorCounters counters_;
  Numbers numbers_;
  uint64_t freed_epoch_ = 0;  // the newest epoch when stages were last told to release a sequence
  FetchedByNode fetched_;
  std::deque<RequestForecast> forecasts_;
  std::deque<std::pair<engine::RequestId, RequestForecast>> ended_;  // drafted ones too
  StageTimes times_;
  FrameTimes frame_times_;
  StagePace pace_;
  KvCosts costs_;
  KvPeers peers_;
  RouteDrafts drafts_;
  FrameSchedule schedule_;
  RequestQueue queue_;
  Replanning plans_;

  std::unique_ptr<OpenedRoute> route_;  // null while none is open
  wire::RouteId last_route_;
  engine::RequestId last_request_ = 0;
  int64_t opened_ns_ = 0;        // when the route was opened
  int64_t opening_ns_ = 0;       // how long it took until it was ready
  int64_t last_message_ns_ = 0;  // when a node last sent anything, or no message was expected
  bool is_stepping_ = false;
};

}  // namespace aster::conduct
