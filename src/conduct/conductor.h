// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Answers requests on a model that several machines hold together: keeps their pipeline full, makes
// text of the tokens that come back, and goes on elsewhere when a machine fails. What a request is
// answered is what one machine would have answered. Must not know sockets, nor how layers compute.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "conduct/prefix_search.h"
#include "conduct/route_client.h"
#include "conduct/route_memory.h"
#include "conduct/trace.h"
#include "engine/answering.h"
#include "engine/running_request.h"
#include "kv/prefix_hash.h"
#include "net/network.h"
#include "plan/plan.h"
#include "plan/route_model.h"
#include "stage/stage_server.h"
#include "text/tokenizer.h"

namespace aster::conduct {

struct ConductorOptions {
  RouteOptions route;
  uint32_t chunk_pages = 2;       // of prompts, in a frame
  uint32_t frames_per_stage = 2;  // of prompts, under way
  uint32_t max_running = 64;      // requests
  // Prompts of so many new tokens are read by whoever decodes, where others read longer ones.
  uint32_t direct_tokens = 64;
  uint32_t kv_sync_step = 32;               // tokens of an answer that are worth a message
  int64_t stall_ns = 300 * kNsPerSecond;    // work is under way, and nobody says anything
  uint32_t max_replans = 8;                 // in a row, without a token between them
  int64_t replan_wait_ns = 100 * kNsPerMs;  // before the second one, and twice that before the next
  // Of routes that Open opens: others take over where nodes are lost on the way.
  uint32_t max_open_replans = 0;
  // Nodes that may remember texts beside those of the route, asked for each text that is new here.
  std::function<std::vector<KvPeer>()> peers = nullptr;
  bool searches_peers = true;                   // what is remembered, before it is computed
  double prefill_tokens_per_s = 0;              // as it was planned; 0: not known
  int64_t ask_ns = 500 * kNsPerMs;              // who has not answered then is not waited for
  int64_t fetch_silence_ns = 5 * kNsPerSecond;  // without any rows: computed instead
  uint64_t id_seed = 0;                         // for ids of routes; 0: the system's
  Trace* trace = nullptr;                       // where all of it is written down; outlives it
  // Who guesses ahead here, for routes whose stages do not do so themselves; outlives the
  // conductor. Null: nobody.
  engine::ProposerSource* proposers = nullptr;
};

// How long a step waits for events at most.
inline constexpr int64_t kStepNs = 20 * kNsPerMs;

// Another plan for a route that broke, given the nodes that were lost; or an error that says what
// is missing. May return the same plan, where nodes are expected back.
using Replanner = std::function<Result<plan::Plan>(
    const plan::Plan& broken, std::span<const wire::NodeId> lost, const Error& why)>;

// Of one stage since the route was opened.
struct HopTotals {
  uint64_t frames = 0;
  uint64_t queue_ns = 0;
  uint64_t compute_ns = 0;
  uint64_t bytes_out = 0;
  uint64_t send_ns = 0;  // on the way to the next stage, or back; about (conduct/trace.h)
  uint64_t idle_ns = 0;  // frames were under way on the route, and it computed none of them
};

// Since the conductor was made.
struct ConductorCounters {
  uint64_t submitted = 0;
  uint64_t finished = 0;  // cancelled and failed ones too
  uint64_t frames = 0;    // sent
  uint64_t prefill_tokens = 0;
  uint64_t decode_tokens = 0;
  uint64_t cached_tokens = 0;
  uint64_t replayed_tokens = 0;
  uint64_t refused = 0;              // segments that a stage did not compute
  uint64_t put_back = 0;             // times that a request gave its memory to older ones
  uint64_t replans = 0;              // routes that took another one's place
  uint64_t transferred_prompts = 0;  // prompts that others read than answer
  uint64_t fetched_tokens = 0;       // of what is cached: others gave what they remembered
  uint64_t fetched_bytes = 0;
  uint64_t fetches_given_up = 0;
  int64_t exposed_ns = 0;          // of these: from when they were read to their first token
  uint64_t transferred_bytes = 0;  // of rows that those who answer lacked
};

// What one node gave of what it remembered, since the conductor was made.
struct FetchedFrom {
  std::string name;
  uint64_t tokens = 0;
  uint64_t bytes = 0;
};

// The caller's thread does everything. Network, tokenizer and own stages outlive it; sequences may
// outlive it, too. Requests that are not finished when it is destroyed are dropped without a word.
class Conductor final : public engine::Answering {
 public:
  // Without a replanner, requests fail when a node does. `own` are the stages of this very process,
  // if it is part of the route: they share the network and are computed in Step.
  Conductor(net::Network& network, const plan::RouteModel& model, const text::Tokenizer* tokenizer,
            plan::Plan plan, ConductorOptions options = {}, Replanner replanner = nullptr,
            stage::StageServer* own = nullptr);
  ~Conductor() override;
  Conductor(const Conductor&) = delete;
  Conductor& operator=(const Conductor&) = delete;

  // Opens the route and waits until all of it is ready. (Step does so, too, where requests wait.)
  Status Open(const std::function<void(const OpenProgress&)>& on_progress = nullptr,
              const std::function<bool()>& is_cancelled = nullptr);

  const model::Shape& shape() const override { return model_.shape; }
  engine::Sequence NewSequence() override;
  Result<engine::RequestId> Submit(engine::Request request) override;
  void Cancel(engine::RequestId id) override;
  bool idle() const override { return waiting_.empty() && running_.empty(); }
  Status Step() override;
  Status LogitsOf(std::span<const int32_t> tokens, size_t chunk, engine::LogitsSink sink) override;
  Status ExportRows(engine::Sequence& sequence, uint32_t begin, uint32_t end,
                    kv::KvChunkSink sink) override;
  Status ImportRows(engine::Sequence& sequence, Bytes chunk) override;

  // For loops that own the network; Step is made of these.
  void Handle(net::Event event);
  void Tick();
  int64_t next_tick_ns() const;

  const ConductorCounters& counters() const { return counters_; }
  // By stage.
  std::vector<HopTotals> hops() const;
  const std::map<wire::NodeId, FetchedFrom>& fetched() const { return fetched_; }
  const plan::Plan& plan() const { return plan_; }
  // Null while none is open.
  const RouteClient* route() const { return route_.get(); }

 private:
  // A request, and how far it is.
  struct Live;
  using Lives = std::vector<std::unique_ptr<Live>>;
  // A segment that the stages have.
  struct Flight {
    Live* live = nullptr;  // null: nobody waits for it any more
    uint32_t begin = 0;
    uint32_t end = 0;
    wire::Wanted wanted = wire::Wanted::kNothing;
    uint64_t frame = 0;
    uint32_t more = 0;  // tokens that may follow without being asked for
    bool is_halted = false;
    uint32_t first_stage = 0;
    std::shared_ptr<const std::vector<int32_t>> stops;  // tokens behind which none follow
    // Tokens that were sent behind it, of which those that are right will be answered too.
    std::vector<int32_t> drafts = {};
    uint32_t accepted = 0;  // of them
  };
  struct FrameInFlight {
    size_t open = 0;  // segments
    bool is_decode = false;
    uint32_t first_stage = 0;
    int64_t sent_ns = 0;  // 0: nobody sent it, the stage went on by itself
  };
  // The stages that a frame goes through.
  struct Path {
    uint32_t begin = 0;
    uint32_t end = 0;

    uint32_t size() const { return end - begin; }
  };
  // What is remembered of a sequence, on its way to or from here.
  struct Move {
    wire::RouteId route = 0;
    wire::SequenceId sequence = 0;
    uint64_t epoch = 0;
    kv::TokenHistory history;
    std::map<uint32_t, uint32_t> holds;  // by stage
    uint64_t ticket = 0;
    const kv::KvChunkSink* sink = nullptr;   // where rows go
    std::map<uint32_t, uint32_t> due;        // by first layer: up to which position
    std::map<uint32_t, uint32_t> holds_due;  // by stage: how often it will say what it holds
    Status why;
  };
  // What a request computes in a frame.
  struct FrameItem {
    Live* live;
    uint32_t count;
  };

  // Of all rows from a position on, so many at a time at most; without a sink none are wanted.
  struct WantedLogits {
    engine::LogitsSink* sink = nullptr;
    uint32_t chunk = 0;
    uint32_t begin = 0;
  };

  Result<engine::RequestId> SubmitWith(engine::Request request, WantedLogits logits);
  Status Read(engine::Sequence& sequence, WantedLogits logits);
  RouteMemory* MemoryOf(engine::Sequence& sequence) const;
  // Moving what is remembered.
  Result<RouteMemory*> MemoryToMove(engine::Sequence& sequence) const;
  Status BeginMove(const engine::Sequence& sequence, const RouteMemory& memory);
  Status MoveUntil(FunctionRef<bool()> is_done);
  Path HoldersOf(const Move& move) const;
  void OnKvRows(const wire::NodeId& from, const wire::KvRows& rows);
  bool TakeHoldsOfMove(const wire::NodeId& from, const wire::Holds& holds);
  // The route.
  void OpenNew();
  void TickRoute();
  void OnBroken();
  void FailAll(const Error& why);
  void TakePlan(plan::Plan plan, const Error& why);
  void CheckStall();
  // What comes.
  void OnHolds(const wire::NodeId& from, const wire::Holds& holds);
  void OnDone(const wire::NodeId& from, const wire::Done& done, int64_t arrived_ns);
  Status CheckDone(const wire::Done& done) const;
  void TakeAnswer(const Flight& flight, const wire::SegmentResult& answer,
                  std::span<const float> logits);
  void TakeToken(Live& live, const Flight& flight, const wire::SegmentResult& answer,
                 std::span<const float> logits);
  void TakeRows(Live& live, const Flight& flight, std::span<const float> logits);
  void CountHops(const wire::Done& done, int64_t arrived_ns);
  // Of the trace, if one is kept.
  void TracePhase(const Live& live, const char* name);
  Flight Land(uint64_t attempt);
  void CountDrafts(const Flight& flight, const wire::SegmentResult& answer, bool goes_on);
  bool GoesOn(const wire::SegmentResult& answer) const;
  void Follow(uint64_t attempt);
  void EnterFrame(uint64_t number, const FrameInFlight& frame);
  void LeaveFrame(uint64_t number);
  size_t RowsOf(const Flight& flight) const;
  // Requests.
  void FinishCancelled();
  void SendForgotten();
  void Admit();
  void BeginRequest(Live& live);
  void StartRunning(Live& live);
  void ChooseReaders(Live& live);
  // What others remember of it.
  bool StartSearch(Live& live);
  std::vector<KvPeer> PeersToAsk() const;
  void OnFoundKv(const wire::NodeId& from, const wire::FoundKv& found);
  void OnGone(const wire::NodeId& node);
  static bool IsSource(const Live& live, const wire::NodeId& node);
  void ChooseSources(Live& live);
  std::vector<KvWant> WantsOf(const Live& live) const;
  void Fetch(Live& live, KvSources sources);
  void TakeFetched(Live& live);
  void GiveUpFetching(Live& live);
  void CountFetched(const Live& live);
  void EndSearch(Live& live);
  int64_t NextTickOf(const Live& live) const;
  void TickSearches();
  double BytesPerPosition(kv::LayerRange layers) const;
  double KvRateOf(const Live& live, const wire::NodeId& node) const;
  double SecondsToCompute(uint32_t count) const;
  // Both paths; the same where there is only one.
  Path ReadingPath() const;
  Path DecodingPath() const;
  bool has_two_paths() const { return route_->decode_begin() > 0; }
  Result<std::unique_ptr<engine::Speculation>> SpeculationFor(const engine::Request& request);
  bool TakesDrafts() const;
  std::vector<int32_t> DraftsFor(Live& live, wire::Wanted wanted, uint32_t most) const;
  // Whether its tokens come without being asked for one by one.
  bool GoesOnByItself(const Live& live) const;
  // The least that the stages of a path hold.
  static uint32_t HeldBy(const Live& live, Path path);
  // Rows that a stage of one path holds and one of the other lacks.
  struct KvTransferOrder {
    wire::NodeId from;
    wire::SendKv message;
    double bytes = 0;
  };
  std::vector<KvTransferOrder> OrdersOf(const Live& live, Path from, Path to, uint32_t end,
                                        uint32_t step) const;
  // All of them are wanted.
  void OrderTransfers(std::span<const KvTransferOrder> orders);
  bool IsWorthSending(const Live& live, std::span<const KvTransferOrder> orders,
                      uint32_t count) const;
  void LearnKvRates(const Live& live);
  void SyncKv(Live& live);
  bool HasRows(Live& live);
  bool NeedsRowsOf(const Live& live, uint32_t stage) const;
  void Halt(Live& live);
  void Refused(Live& live, const Error& why);
  void MakeRoom(Live& live, const Error& why);
  void PutBack(Live& live);
  void Void(Live& live);
  void Fail(Live& live, Error why);
  void Remove(Live& live);
  // What goes.
  void SendDecodes();
  void SendPrefills();
  uint32_t PagesOfFrame(std::span<const FrameItem> items, Path path) const;
  std::vector<FrameItem> PlanPrefill(Path path);
  void SendFrame(std::span<const FrameItem> items, bool is_decode, Path path);

  net::Network& network_;
  const plan::RouteModel model_;
  const text::Tokenizer* const tokenizer_;
  plan::Plan plan_;
  const ConductorOptions options_;
  const Replanner replanner_;
  stage::StageServer* const own_;

  const std::shared_ptr<RouteMemories> memories_;
  std::unique_ptr<RouteClient> route_;
  Hash128 digest_;           // of the route's empty history
  uint32_t page_positions_;  // of its memory
  uint64_t next_route_;
  uint32_t failures_ = 0;  // of routes, since something was computed
  int64_t reopen_ns_ = 0;
  int64_t heard_ns_ = 0;

  engine::DraftTimesByKind draft_times_;      // by DraftKind
  Lives waiting_;                             // the oldest first
  Lives running_;                             // begun, or about to; the oldest first
  bool is_tight_ = false;                     // a request was put back, and none has ended since
  std::map<uint64_t, Flight> flights_;        // by attempt
  std::map<uint64_t, FrameInFlight> frames_;  // by number
  size_t decode_frames_ = 0;
  std::map<uint32_t, size_t> prefill_frames_;  // by the first stage of their path
  uint64_t last_epoch_ = 0;
  uint64_t last_ticket_ = 0;
  std::optional<Move> move_;
  std::optional<kv::Layout> layout_;               // of the route's rows
  std::map<wire::NodeId, KvPeer> former_;          // of plans before this one, that were not lost
  std::map<wire::NodeId, int64_t> slow_until_ns_;  // they did not answer, and are not asked
  std::map<wire::NodeId, double> kv_rates_;        // bytes per second, as they were seen
  std::map<wire::NodeId, FetchedFrom> fetched_;
  double prefill_rate_ = 0;  // tokens per second, as it was seen
  uint64_t last_query_ = 0;
  uint64_t last_attempt_ = 0;
  uint64_t last_frame_ = 0;
  engine::RequestId next_id_ = 1;
  engine::RequestId last_prefilled_ = 0;  // whose turn it was
  bool stepping_ = false;
  ConductorCounters counters_;
  std::vector<HopTotals> hops_;  // without times of being idle
  int64_t worked_ns_ = 0;        // since the route was opened, until no frame was under way
  int64_t work_began_ns_ = 0;    // while frames are under way
};

}  // namespace aster::conduct
