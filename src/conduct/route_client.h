// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// One route as its conductor sees it: opened on all its nodes, ready, or broken. A broken route is
// never repaired: another one replaces it. Must not know requests.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "conduct/path.h"
#include "kv/layout.h"
#include "net/network.h"
#include "plan/plan.h"
#include "plan/route_model.h"
#include "stage/transfer_ticket.h"
#include "wire/messages.h"

namespace aster::conduct {

struct RouteOptions {
  wire::RowEncoding encoding = wire::RowEncoding::kF32;     // of rows between stages
  wire::RowEncoding kv_encoding = wire::RowEncoding::kF32;  // of KV transfers; or kQ8
  model::MemoryOptions memory;
  uint64_t kv_bytes = 0;                   // of KV cache on every node; 0: each node's default
  std::vector<std::string> own_addresses;  // where nodes reach the conductor; they may be empty
  // Longest time without progress; a driver may compile a GPU's shaders meanwhile.
  int64_t open_timeout_ns = 120 * kNsPerSecond;
};

// Whether a route with these options computes the same bits as one machine.
constexpr bool IsExact(const RouteOptions& options) {
  return options.encoding == wire::RowEncoding::kF32 &&
         options.kv_encoding == wire::RowEncoding::kF32;
}

// Of all nodes together.
struct OpenProgress {
  uint64_t done_bytes = 0;
  uint64_t total_bytes = 0;
  size_t ready_nodes = 0;
  size_t nodes = 0;
};

// Belongs to one thread. The network outlives it.
class RouteClient {
 public:
  enum class State : uint8_t { kOpening, kReady, kBroken };

  RouteClient(net::Network& network, const plan::RouteModel& model, plan::Plan plan,
              const RouteOptions& options, wire::RouteId id);
  // Closes the route on all nodes.
  ~RouteClient();
  RouteClient(const RouteClient&) = delete;
  RouteClient& operator=(const RouteClient&) = delete;

  // Handles events of this route's nodes; ignores others.
  void Handle(const net::Event& event);
  void Tick();
  int64_t next_tick_ns() const;

  void Break(Error why);

  State state() const { return state_; }
  bool is_ready() const { return state_ == State::kReady; }
  wire::RouteId id() const { return id_; }
  // Its id, and those of its groups' own routes.
  std::vector<wire::RouteId> AllIds() const;
  const plan::Plan& plan() const { return plan_; }
  // The stages of both paths, numbered as the route numbers them.
  const std::vector<plan::PlanStage>& stages() const { return stages_; }
  // Whether some stages only prefill, and others decode.
  bool has_decode_path() const { return !plan_.decode.empty(); }
  // The stages that prefill, and the stages that decode: the same ones without a decode path.
  Path prefill_path() const {
    const std::vector<plan::PlanStage>& path = has_decode_path() ? plan_.stages : stages_;
    return {.begin = 0, .end = static_cast<uint32_t>(path.size())};
  }
  Path decode_path() const {
    return {.begin = has_decode_path() ? prefill_path().end : 0,
            .end = static_cast<uint32_t>(stages_.size())};
  }
  // Whether `stage` is a stage of the route, and on this node.
  bool IsStageOf(const wire::NodeId& node, uint32_t stage) const {
    return stage < stages_.size() && stages_[stage].node.id == node;
  }
  // Whether a node is on both paths.
  bool HaveNodeInCommon(Path a, Path b) const;
  // Whether the last stage of either path is on this node.
  bool IsEndOfPath(const wire::NodeId& node) const {
    return IsStageOf(node, prefill_path().end - 1) || IsStageOf(node, decode_path().end - 1);
  }
  // The ticket of KV rows between two stages, or of rows that are sent to the conductor. On routes
  // without groups it is the number alone, as nodes of earlier versions know it.
  uint64_t TicketOf(const stage::TransferStages& stages, uint64_t number = 0) const {
    return plan_.has_groups() ? stage::TicketOf(stages, number) : number;
  }
  // The layout of the KV rows of all stages. Must not be called if the route broke on construction.
  const kv::Layout& layout() const { return *layout_; }
  // Whether all stages know draft tokens.
  bool TakesDrafts() const;
  // Whether all stages also check draft tokens if the conductor chooses the tokens, and take draft
  // tokens that are sent ahead.
  bool TakesDraftsAhead() const;
  // An error if a node cannot send back the states of a prompt.
  Status CheckStates() const;
  // Every node once.
  const std::vector<wire::NodeId>& nodes() const { return nodes_; }
  // Why the route is kBroken.
  const Error& why() const { return why_; }
  const std::vector<wire::NodeId>& lost() const { return lost_; }
  OpenProgress progress() const;
  // Positions that fit into the KV cache of every node, once the route is ready.
  uint64_t kv_positions() const;

  void Send(const wire::NodeId& node, wire::Message message);
  void SendToAll(const wire::Message& message);
  // Sends it to the stage that `work` names as its first.
  void SendWork(wire::Work work);

 private:
  bool AllSpeak(uint16_t protocol) const;

  struct NodeState {
    bool is_ready = false;
    uint64_t done_bytes = 0;
    uint64_t total_bytes = 0;
    uint64_t kv_positions = 0;
  };

  void Open(const plan::RouteModel& model, const RouteOptions& options);
  std::vector<wire::StageGroup> Groups() const;
  Result<kv::Layout> MakeLayout(const plan::RouteModel& model, const RouteOptions& options) const;
  void CheckProtocol(const wire::NodeId& node);
  void OnState(const wire::NodeId& from, const wire::RouteState& state);
  // The node of the stage after this node's; nothing if there are several, or none.
  std::optional<wire::NodeId> NextNodeOf(const wire::NodeId& node) const;
  Error LostLayers(const wire::NodeId& node, const Error& why) const;
  // The error with names of nodes beside their ids.
  Error Named(Error error) const;

  net::Network& network_;
  const plan::Plan plan_;
  const std::vector<plan::PlanStage> stages_;
  const wire::RouteId id_;
  const int64_t open_timeout_ns_;
  std::vector<wire::NodeId> nodes_;
  std::optional<kv::Layout> layout_;
  std::map<wire::NodeId, NodeState> states_;
  const int64_t begin_ns_;
  int64_t progress_ns_;  // when there was progress last
  State state_ = State::kOpening;
  Error why_{Code::kUnknown, ""};
  std::vector<wire::NodeId> lost_;
};

}  // namespace aster::conduct
