// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A node's part of routes: loads slices, queues and computes frames, and sends their results on.
// While a device computes one frame, another one begins; a route's frames are finished before
// anything else changes its sequences. A state machine without threads and sockets: its owner
// passes events to it and calls Compute and Tick. Must not know requests and their clients.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "engine/proposer.h"
#include "net/network.h"
#include "stage/expert_uses.h"
#include "stage/group.h"
#include "stage/group_members.h"
#include "stage/group_rows.h"
#include "stage/kv_in_flight.h"
#include "stage/kv_server.h"
#include "stage/local_stages.h"
#include "stage/slice_source.h"
#include "stage/stage.h"
#include "stage/two_batch_overlap.h"
#include "stage/work_rates.h"
#include "wire/messages.h"

namespace aster::stage {

struct StageOptions {
  size_t max_routes = 64;
  uint64_t max_queued_bytes = uint64_t{1} << 30;  // of work, or deferred messages, for a route
  size_t max_queued_frames = 1024;                // of work, for a route
  int64_t keep_slice_ns = 60 * kNsPerSecond;      // time for which an unused slice is kept
  int64_t progress_ns = 200 * kNsPerMs;           // between two reports of loading
  uint64_t in_flight_bytes = kMaxInFlightBytes;   // limit for rows that a node has not taken
  // Makes the proposers that draft tokens for a model of this node; null: none.
  std::function<std::unique_ptr<engine::ProposerSource>(engine::LocalModel&)> proposers = nullptr;
  // For a Node: gets every event first, and returns true if it handles it (drafters); or null.
  std::function<bool(const net::Event&)> others = nullptr;
  // Counts which experts are chosen here, and decides which are on every node of a group that this
  // node leads; null: nothing is counted.
  std::shared_ptr<ExpertUses> expert_uses = nullptr;
  // Whether answers of a group may be computed in two frames that take turns if that is faster.
  bool two_batch_overlap = true;
};

// For people, and for plans.
struct StageRouteStatus {
  wire::RouteId route = 0;
  wire::NodeId conductor;
  Hash128 fingerprint;  // of the model
  model::Slice slice;
  bool is_ready = false;
  uint64_t done_bytes = 0;  // loaded
  uint64_t total_bytes = 0;
  size_t sequences = 0;
  size_t queued_frames = 0;
  uint64_t frames = 0;  // computed since it was opened
  uint64_t tokens = 0;
  uint64_t queue_ns = 0;  // time that frames waited
  uint64_t compute_ns = 0;
  uint64_t bytes_out = 0;
  uint64_t packed_bytes = 0;       // in main memory
  uint64_t main_memory_bytes = 0;  // with the KV cache there
  uint64_t kv_held_bytes = 0;
  uint64_t kv_budget_bytes = 0;
  uint32_t gpu_layers = 0;  // of the layers that are held for it
  bool is_counted = false;  // its weights and KV cache are an earlier stage's of the list
};

// What queued work takes in memory.
uint64_t BytesOf(const wire::Work& work);

// Belongs to one thread. Network and source outlive it.
class StageServer final : public LocalStages {
 public:
  StageServer(net::Network& network, SliceSource& source, StageOptions options = {});
  ~StageServer() override;
  StageServer(const StageServer&) = delete;
  StageServer& operator=(const StageServer&) = delete;

  void Handle(net::Event event) override;
  bool has_work() const override;
  void Compute() override;
  void Tick() override;
  // Whether a message from a node of a group is expected within microseconds.
  bool ExpectsGroupMessage() const;
  int64_t next_tick_ns() const override;

  std::vector<StageRouteStatus> Snapshot() const;
  // The times of the slices that this node has computed.
  std::vector<WorkRate> Rates() const { return rates_.All(); }
  // Whether a GPU was lost: since then the processor computes all layers.
  bool has_lost_gpu() const { return has_lost_gpu_; }

 private:
  // Shared by the routes that need it; kept a while when none does.
  struct HeldSlice {
    SliceRequest request;
    std::unique_ptr<SliceLoading> loading;  // until it is loaded
    std::unique_ptr<engine::LocalModel> model;
    std::unique_ptr<engine::ProposerSource> proposers;        // or null
    wire::RowEncoding kv_encoding = wire::RowEncoding::kF32;  // that its memory is named by
    uint64_t bytes = 0;                                       // of main memory
    uint64_t gpu_bytes = 0;                                   // of GPUs'
    int64_t unused_since_ns = 0;
  };
  struct QueuedWork {
    wire::Work work;
    int64_t arrived_ns = 0;
    uint64_t bytes = 0;
  };
  struct StageEntry;
  // A frame that was begun and whose result was not sent. No two have a sequence in common.
  struct FrameInFlight {
    wire::RouteId route = 0;
    StageEntry* entry = nullptr;
    std::vector<wire::SequenceId> sequences;
    std::vector<wire::Hop> hops;  // of stages before this one
    int64_t arrived_ns = 0;
    int64_t start_ns = 0;
    std::unique_ptr<Stage::Frame> frame;
    bool awaits_parts = false;   // of a group: waits for columns of other nodes between layers
    int64_t waits_since_ns = 0;  // when it began to wait for these
    uint64_t gather_ns = 0;      // how long it has waited for them in all
    uint64_t busy_ns = 0;        // how long it was computed here
    bool is_alone = true;        // no other frame was in flight at the same time
    uint32_t rows = 0;
    uint32_t context = 0;      // the end of its longest text
    bool has_answers = false;  // several rows, some of them of answers or drafts
    size_t continued = 0;  // answers that the stage decodes by itself, in all frames; 0: none here
    bool computes_head = false;
  };
  // The KV cache of a route in a slice. Members in this order: it lives in the slice.
  struct HeldMemory {
    std::shared_ptr<HeldSlice> slice;
    std::optional<StageMemory> memory;  // once the slice is loaded
  };
  // A sequence that the stage decodes by itself, without the conductor asking for each token.
  struct Generation {
    uint64_t attempt = 0;
    uint32_t more = 0;             // tokens that may follow
    std::optional<int32_t> token;  // the newest, from when it was chosen until it is computed
    int64_t since_ns = 0;          // when it was chosen
  };
  // One of a route's stages that are on this node.
  struct StageEntry {
    uint32_t index = 0;
    std::shared_ptr<HeldMemory> held;
    std::optional<Stage> stage;      // once the slice is loaded
    std::deque<QueuedWork> decodes;  // one token a sequence
    std::deque<QueuedWork> prefills;
    std::map<wire::SequenceId, Generation> generations;
    bool is_of_group = false;
    TwoBatchOverlap overlap;
    bool prefill_is_next = false;  // prefills and decodes take turns where both wait
    bool decode_is_next = false;   // decodes that were sent and generations, likewise
    uint64_t queued_bytes = 0;
    StageRouteStatus counters;

    size_t waiting() const;  // generations that have a token to compute
    bool continues() const { return waiting() > 0; }
    bool has_work() const { return !decodes.empty() || !prefills.empty() || continues(); }
  };
  struct Route {
    wire::OpenRoute open;  // of the first stage that came
    std::vector<std::shared_ptr<HeldMemory>> memories;
    // If a group computes a stage here: the group; and if this node leads it, its members, and its
    // KV transfers once the slice is loaded.
    std::unique_ptr<Group> group;
    uint32_t group_index = 0;
    std::unique_ptr<GroupMembers> members;
    std::unique_ptr<GroupRows> group_rows;
    std::vector<std::unique_ptr<StageEntry>> stages;
    size_t expected = 0;  // stages on this node
    bool is_ready = false;
    int64_t reported_ns = 0;
    // Messages that would change its sequences while a frame of its group waits for other nodes.
    std::deque<net::Event> deferred;
    uint64_t deferred_bytes = 0;

    bool follows() const { return open.part > 0; }
    bool Decodes(uint32_t index) const { return index + open.decode_stages >= open.stages.size(); }
    // The stage that gets the result of this one; null for the last one of each path.
    const wire::StageAddress* StageAfter(uint32_t index) const;
    // Why the route breaks without the connection to a node, as words behind the node's name in an
    // error; null: it goes on.
    const char* RoleOf(const wire::NodeId& node) const;
    // The node that sends work to a stage.
    const wire::NodeId& SenderTo(uint32_t index) const;
    // The stage that a group computes; and whether `memory` is its KV cache.
    StageEntry& GroupEntry();
    bool IsOfGroup(const StageMemory& memory) const;
    // The KV cache of the named stage, if it is here and has these layers. If none is named, any
    // KV cache with these layers, preferably a decode stage's. Null: there is none.
    StageMemory* MemoryOf(std::optional<uint32_t> stage, kv::LayerRange layers) const;
  };
  using Routes = std::map<wire::RouteId, Route>;

  void HandleNow(net::Event event);
  bool AwaitsParts() const;
  bool AwaitsParts(const Route& route) const;
  static bool WaitsForParts(const FrameInFlight& frame);
  Route* RouteToAwait(const net::Event& event);
  void Defer(Route& route, net::Event event);
  void HandleDeferred();
  void OnMessage(const wire::NodeId& from, wire::Message&& message, int64_t arrived_ns);
  void OnOpen(const wire::NodeId& from, wire::OpenRoute&& open);
  void OnBegin(const wire::NodeId& from, const wire::Begin& begin);
  void OnEnd(const wire::NodeId& from, const wire::End& end);
  void OnWork(const wire::NodeId& from, wire::Work&& work, int64_t arrived_ns);
  void OnSendKv(const wire::NodeId& from, const wire::SendKv& order);
  void OnKvRows(const wire::NodeId& from, wire::KvRows&& rows);
  void OnKvTaken(const wire::NodeId& from, const wire::KvTaken& taken);
  void OnHalt(const wire::NodeId& from, const wire::Halt& halt);
  void OnCancel(const wire::NodeId& from, const wire::Cancel& cancel);
  void OnFindKv(const wire::NodeId& from, const wire::FindKv& find);
  void OnFetchKv(const wire::NodeId& from, const wire::FetchKv& order);
  void OnClose(const wire::NodeId& from, wire::RouteId route);
  void OnRouteState(const wire::NodeId& from, const wire::RouteState& state);
  void OnDown(const wire::NodeId& node, const Error& why);
  // Groups (stage_server_groups.cc).
  void ChooseReplicas(wire::OpenRoute& open) const;
  void CountExperts(HeldSlice& slice) const;
  void JoinGroup(Route& route, const wire::OpenRoute& open);
  Route* RouteOfLedGroup(wire::RouteId group);
  void MakeGroupRows(Route& route, const engine::LocalModel& model);
  void OnMemberRows(Route& route, const wire::NodeId& from, wire::KvRows&& rows);
  void SendParts(Route& route, const wire::NodeId& from, const kv::KvChunk& chunk,
                 const wire::KvTaken& taken);
  void OnPartRows(const wire::NodeId& from, wire::PartRows&& rows);
  void OnMemberHolds(const wire::NodeId& from, const wire::Holds& holds);
  bool OnMemberState(const wire::NodeId& from, const wire::RouteState& state);

  Status CheckOpen(const wire::NodeId& from, const wire::OpenRoute& open) const;
  Result<std::shared_ptr<HeldSlice>> FindSlice(const wire::OpenRoute& open);
  Result<std::unique_ptr<SliceLoading>> StartLoading(SliceRequest& request);
  Result<std::unique_ptr<SliceLoading>> StartWithMoreRoom(SliceRequest& request, Error why);
  Error WhyNotShared(const SliceRequest& request, Error why) const;
  std::shared_ptr<HeldMemory> FindMemory(Route& route, std::shared_ptr<HeldSlice> slice);
  static void CountReserved(HeldSlice& slice);
  static bool MayDrop(const std::shared_ptr<HeldSlice>& slice);
  void DropUnusedSlices(int64_t unused_for_ns);
  Status TakeLoaded(HeldSlice& slice);
  std::vector<wire::RouteId> UsersOf(const std::shared_ptr<HeldSlice>& slice) const;
  void DropLostSlices();
  void NoteLostGpu(const std::string& which);
  void OnFailedLoading(const std::shared_ptr<HeldSlice>& slice, Error why);
  void TickRoute(Route& route, int64_t now_ns);
  bool IsInFlight(const StageMemory& memory, wire::SequenceId sequence) const;
  // Removes segments from the queues, and returns their attempts.
  using IsMeant = FunctionRef<bool(const wire::WorkSegment&)>;
  static std::vector<uint64_t> TakeBack(StageEntry& entry, IsMeant is_meant);
  void RefuseAttempts(const Route& route, const StageEntry& entry, wire::SequenceId sequence,
                      std::span<const uint64_t> attempts, const char* why);
  bool CanBegin(const StageEntry& entry, const std::deque<QueuedWork>& queue) const;
  bool CanBegin(const Route& route, const StageEntry& entry) const;
  bool HasSlot(const Route& route) const;
  bool CanContinue(const StageEntry& entry) const;
  size_t AnswersInFlight(const StageEntry& entry) const;
  size_t MostContinued(const StageEntry& entry) const;
  QueuedWork NextWork(StageEntry& entry, bool& continues);
  bool BeginNext();
  void BeginFrame(Route& route, StageEntry& entry);
  bool AdvanceFrames();
  void FinishFrames();
  void Finish(FrameInFlight done);
  void EndGeneration(Route& route, StageEntry& entry, wire::SequenceId sequence,
                     uint64_t attempt = 0);
  void ContinueGenerations(StageEntry& entry, const StageOutput& output);
  void ContinueGenerations(StageEntry& entry, const wire::Done& done);
  void TellDecodeStages(const Route& route, const StageEntry& entry, wire::SequenceId sequence);
  KvPlaces Places() const;
  void ServeKv();
  void SendHeldBack();
  void SendRows(Route& route, StageMemory& memory, wire::SequenceId sequence);
  void TellHolds(const Route& route, const StageMemory& memory, wire::SequenceId sequence,
                 kv::LayerRange layers, const Error& why);
  model::Progress Advance(FrameInFlight& frame) const;
  std::vector<wire::Hop> HopsFor(const wire::NodeId& node, std::vector<wire::Hop> hops) const;
  void SendOn(Route& route, StageEntry& entry, StageOutput&& output, wire::Hop hop,
              std::vector<wire::Hop>&& hops);
  void Refuse(wire::RouteId route, const wire::NodeId& to, Error why);
  // Drops a route that cannot continue, and tells its conductor.
  void Break(wire::RouteId route, Error why, const wire::NodeId& lost = {});
  void Drop(wire::RouteId id);
  Route* RouteOfConductor(const wire::NodeId& from, wire::RouteId route);
  std::string Self() const { return network_.self().ToText(); }

  net::Network& network_;
  SliceSource& source_;
  const StageOptions options_;
  std::vector<std::shared_ptr<HeldSlice>> slices_;
  Routes routes_;
  const std::shared_ptr<KvInFlight> in_flight_;
  KvServer kv_server_;
  std::vector<FrameInFlight> frames_in_flight_;  // the oldest first; destroyed before their routes
  bool has_part_rows_ = false;                   // since frames were advanced last
  int64_t last_end_ns_ = 0;                      // when a frame was finished
  WorkRates rates_;
  wire::RouteId last_computed_ = 0;  // the route whose turn it was
  bool has_lost_gpu_ = false;        // once: from then on the processor computes all layers
};

}  // namespace aster::stage
