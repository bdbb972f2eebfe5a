// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What a node does for routes: loads slices, keeps their queues, computes one frame at a time and
// sends the result on. A state machine without threads and sockets: whoever owns it hands it events
// and calls Compute and Tick. Must not know who asks for texts.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/network.h"
#include "route/slice_source.h"
#include "route/stage.h"
#include "wire/messages.h"

namespace aster::route {

struct StageOptions {
  size_t max_routes = 64;
  uint64_t max_queued_bytes = uint64_t{1} << 30;  // of work, for a route
  size_t max_queued_frames = 1024;                // of work, for a route
  int64_t keep_slice_ns = 60 * kNsPerSecond;      // that no route uses any more
  int64_t progress_ns = 200 * kNsPerMs;           // between two reports of loading
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
  uint64_t queue_ns = 0;  // that frames waited
  uint64_t compute_ns = 0;
  uint64_t bytes_out = 0;
  uint64_t packed_bytes = 0;
  uint64_t kv_held_bytes = 0;
  uint64_t kv_budget_bytes = 0;
};

// Belongs to one thread. Network and source outlive it.
class StageServer {
 public:
  StageServer(net::Network& network, SliceSource& source, StageOptions options = {});
  ~StageServer();
  StageServer(const StageServer&) = delete;
  StageServer& operator=(const StageServer&) = delete;

  // Takes what is meant for stages; anything else is left alone.
  void Handle(const net::Event& event);
  void Handle(net::Event&& event);

  // Whether Compute has something to do.
  bool has_work() const;
  // Computes one frame and sends on what came of it.
  void Compute();

  // What time brings: slices that are loaded, reports, slices that nobody wants any more.
  void Tick();
  // When it has to be called next, of the network's clock; kNeverNs if events are enough.
  int64_t next_tick_ns() const;

  std::vector<StageRouteStatus> Snapshot() const;

 private:
  // Shared by routes that want the same; kept a while when none does.
  struct HeldSlice {
    SliceRequest request;
    std::unique_ptr<SliceLoading> loading;  // until it is there
    std::unique_ptr<engine::LocalModel> model;
    uint64_t bytes = 0;
    int64_t unused_since_ns = 0;
  };
  struct QueuedWork {
    wire::Work work;
    int64_t arrived_ns = 0;
    uint64_t bytes = 0;
  };
  // One of a route's stages that are on this node. Members in this order: what the stage remembers
  // lives in the slice.
  struct StageEntry {
    uint32_t index = 0;
    std::shared_ptr<HeldSlice> slice;
    std::optional<Stage> stage;      // once the slice is there
    std::deque<QueuedWork> decodes;  // one token a sequence
    std::deque<QueuedWork> prefills;
    bool prefill_is_next = false;  // they take turns where both wait
    uint64_t queued_bytes = 0;
    StageRouteStatus counters;

    bool has_work() const { return !decodes.empty() || !prefills.empty(); }
  };
  struct Route {
    wire::OpenRoute open;  // of the first stage that came
    std::vector<std::unique_ptr<StageEntry>> stages;
    size_t expected = 0;  // stages on this node
    bool is_ready = false;
    int64_t reported_ns = 0;
  };
  using Routes = std::map<wire::RouteId, Route>;

  void OnMessage(const wire::NodeId& from, wire::Message&& message, int64_t arrived_ns);
  void OnOpen(const wire::NodeId& from, wire::OpenRoute&& open);
  void OnBegin(const wire::NodeId& from, const wire::Begin& begin);
  void OnEnd(const wire::NodeId& from, const wire::End& end);
  void OnWork(const wire::NodeId& from, wire::Work&& work, int64_t arrived_ns);
  void OnClose(const wire::NodeId& from, wire::RouteId route);
  void OnRouteState(const wire::NodeId& from, const wire::RouteState& state);
  void OnDown(const wire::NodeId& node, const Error& why);

  Status CheckOpen(const wire::NodeId& from, const wire::OpenRoute& open) const;
  Result<std::shared_ptr<HeldSlice>> FindSlice(const wire::OpenRoute& open);
  void DropUnusedSlices(int64_t unused_for_ns);
  void TickRoute(Route& route, int64_t now_ns);
  void Run(Route& route, StageEntry& entry);
  void SendOn(Route& route, StageEntry& entry, StageOutput&& output, wire::Hop hop,
              std::vector<wire::Hop>&& hops);
  void Refuse(wire::RouteId route, const wire::NodeId& to, Error why);
  // The route cannot go on: its conductor is told.
  void Break(wire::RouteId route, Error why);
  void Drop(wire::RouteId route);
  Route* RouteOfConductor(const wire::NodeId& from, wire::RouteId route);
  std::string Self() const { return network_.self().ToText(); }

  net::Network& network_;
  SliceSource& source_;
  const StageOptions options_;
  std::vector<std::shared_ptr<HeldSlice>> slices_;
  Routes routes_;
  wire::RouteId last_computed_ = 0;  // whose turn it was
};

}  // namespace aster::route
