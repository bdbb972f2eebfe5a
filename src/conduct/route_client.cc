// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/route_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

namespace aster::conduct {
namespace {

// Whether a node that refuses a route for this reason lacks something that another node may have:
// the model, disk space, memory, a readable file. Then a plan without the node may work.
bool IsOfTheMachine(Code code) {
  return code == Code::kNotFound || code == Code::kResourceExhausted ||
         code == Code::kPermissionDenied || code == Code::kDataLoss;
}

}  // namespace

RouteClient::RouteClient(net::Network& network, const plan::RouteModel& model, plan::Plan plan,
                         const RouteOptions& options, wire::RouteId id)
    : network_(network),
      plan_(std::move(plan)),
      stages_(plan_.AllStages()),
      id_(id),
      open_timeout_ns_(options.open_timeout_ns),
      begin_ns_(network.clock().NowNs()),
      progress_ns_(begin_ns_) {
  // A node with several stages gets messages once.
  for (const plan::PlanStage& stage : stages_) {
    if (states_.try_emplace(stage.node.id).second) nodes_.push_back(stage.node.id);
  }
  Open(model, options);
  auto layout = MakeLayout(model, options);
  if (layout.ok()) {
    layout_ = *std::move(layout);
  } else {
    Break(layout.error());
  }
}

RouteClient::~RouteClient() {
  for (const wire::NodeId& node : nodes_) {
    // A node that cannot be reached sees that this one is down.
    static_cast<void>(network_.Send(node, wire::CloseRoute{.route = id_}));
  }
}

void RouteClient::Open(const plan::RouteModel& model, const RouteOptions& options) {
  // All stages have the same model, arithmetic, encodings and KV cache formats.
  wire::OpenRoute open;
  open.route = id_;
  open.conductor.node = network_.self();
  open.conductor.addresses = options.own_addresses;
  open.fingerprint = model.fingerprint;
  open.arithmetic = model.arithmetic;
  open.encoding = options.encoding;
  open.kv_encoding = options.kv_encoding;
  open.kv_type = static_cast<uint8_t>(options.memory.type);
  if (options.memory.plain_rows) open.kv_type |= wire::OpenRoute::kPlainRows;
  open.kv_window = options.memory.window;
  open.kv_sinks = options.memory.sinks;
  open.kv_bytes = options.kv_bytes;
  open.decode_stages = static_cast<uint32_t>(plan_.decode.size());
  for (const plan::PlanStage& stage : stages_) {
    open.stages.push_back({.node = stage.node.id,
                           .name = stage.node.name,
                           .addresses = stage.node.addresses,
                           .layer_begin = stage.slice.layer_begin,
                           .layer_end = stage.slice.layer_end,
                           .embedding = stage.slice.embedding,
                           .head = stage.slice.head});
    network_.Introduce(stage.node.id, stage.node.addresses);
  }
  open.groups = Groups();
  // Each stage gets the same message, except for its index.
  for (uint32_t i = 0; i < stages_.size(); ++i) {
    open.index = i;
    Send(stages_[i].node.id, open);
  }
}

std::vector<wire::StageGroup> RouteClient::Groups() const {
  std::vector<wire::StageGroup> groups;
  for (uint32_t i = 0; i < stages_.size(); ++i) {
    if (!stages_[i].is_group()) continue;
    wire::StageGroup& group = groups.emplace_back();
    group.stage = i;
    group.shares = stages_[i].shares;
    group.owns_experts = stages_[i].owns_experts;
    group.replicas = stages_[i].replicas;
    for (const plan::PlanNode& member : stages_[i].members) {
      wire::StageAddress& address = group.members.emplace_back();
      address.node = member.id;
      address.name = member.name;
      address.addresses = member.addresses;
    }
  }
  return groups;
}

std::vector<wire::RouteId> RouteClient::AllIds() const {
  std::vector<wire::RouteId> ids = {id_};
  for (uint32_t i = 0; i < stages_.size(); ++i) {
    if (stages_[i].is_group()) ids.push_back(plan::GroupRouteOf(id_, i, stages_[i].node.id));
  }
  return ids;
}

// The layout is named by everything that KV rows depend on, including the encoding of hidden states
// between stages.
Result<kv::Layout> RouteClient::MakeLayout(const plan::RouteModel& model,
                                           const RouteOptions& options) const {
  std::vector<wire::StageAddress> cuts;
  for (const plan::PlanStage& stage : stages_) {
    cuts.emplace_back().layer_end = stage.slice.layer_end;
  }
  return plan::LayoutOf(
      model.shape, options.memory,
      plan::MemoryName(model.fingerprint, options.encoding, options.kv_encoding, cuts));
}

bool RouteClient::AllSpeak(uint16_t protocol) const {
  return std::ranges::all_of(nodes_, [this, protocol](const wire::NodeId& node) {
    return network_.ProtocolOf(node) >= protocol;
  });
}

bool RouteClient::HaveNodeInCommon(Path a, Path b) const {
  const std::span<const plan::PlanStage> all = stages_;
  const auto of_b = all.subspan(b.begin, b.size());
  const auto is_on_b = [&](const plan::PlanStage& stage) {
    return std::ranges::any_of(
        of_b, [&](const plan::PlanStage& other) { return other.node.id == stage.node.id; });
  };
  return std::ranges::any_of(all.subspan(a.begin, a.size()), is_on_b);
}

bool RouteClient::TakesDrafts() const { return AllSpeak(wire::kDraftProtocol); }

bool RouteClient::TakesDraftsAhead() const { return AllSpeak(wire::kAheadProtocol); }

Status RouteClient::CheckStates() const {
  for (const wire::NodeId& node : nodes_) {
    const uint16_t protocol = network_.ProtocolOf(node);
    if (protocol >= wire::kGroupProtocol) continue;
    return FailedPrecondition(
        fmt::format("node {} speaks protocol {}, and embeddings need {}: bring both to the same "
                    "version of the program",
                    node.ToText(), protocol, wire::kGroupProtocol));
  }
  return Ok();
}

void RouteClient::Send(const wire::NodeId& node, wire::Message message) {
  if (state_ == State::kBroken) return;
  Status sent = network_.Send(node, std::move(message));
  // A failed send breaks the route at once: the stage would wait for the message for ever.
  if (sent.ok()) return;
  lost_.push_back(node);
  Break(LostLayers(node, sent.error()));
}

void RouteClient::SendToAll(const wire::Message& message) {
  for (const wire::NodeId& node : nodes_) Send(node, message);
}

void RouteClient::SendWork(wire::Work work) {
  const wire::NodeId& first = stages_[work.first_stage].node.id;
  Send(first, std::move(work));
}

void RouteClient::Break(Error why) {
  if (state_ == State::kBroken) return;
  state_ = State::kBroken;
  why_ = std::move(why);
}

Error RouteClient::LostLayers(const wire::NodeId& node, const Error& why) const {
  // The error names the missing layers and the node's name rather than its id.
  std::vector<std::string> slices;
  std::string name = node.ToText();
  for (const plan::PlanStage& stage : stages_) {
    if (!stage.Has(node)) continue;
    slices.push_back(plan::DescribeSlice(stage.slice));
    const auto member = std::ranges::find(stage.members, node, &plan::PlanNode::id);
    const plan::PlanNode& own = member == stage.members.end() ? stage.node : *member;
    if (!own.name.empty()) name = fmt::format("{} ({})", own.name, node.ToText());
  }
  // Restarting does not help a node that was revoked, or that refuses this one.
  const std::string_view advice =
      why.code() == Code::kPermissionDenied ? "" : "; start it again, or plan without it";
  return {Code::kUnavailable, fmt::format("{} are missing: node {} is not reachable: {}{}",
                                          fmt::join(slices, " and "), name, why.message(), advice)};
}

Error RouteClient::Named(Error error) const {
  std::string text = error.message();
  // Each node once, even if it has several stages.
  std::map<wire::NodeId, std::string> names;
  for (const plan::PlanStage& stage : stages_) {
    names[stage.node.id] = stage.node.name;
    for (const plan::PlanNode& member : stage.members) names[member.id] = member.name;
  }
  for (const auto& [node, called] : names) {
    if (called.empty()) continue;
    const std::string id = fmt::format("node {}", node.ToText());
    const std::string name = fmt::format("node {} ({})", called, node.ToText());
    for (size_t at = text.find(id); at != std::string::npos; at = text.find(id, at + name.size()))
      text.replace(at, id.size(), name);
  }
  return {error.code(), std::move(text)};
}

void RouteClient::Handle(const net::Event& event) {
  if (state_ == State::kBroken) return;
  if (event.kind == net::Event::Kind::kDown && states_.contains(event.from)) {
    // A late event: the route was opened over a newer connection.
    if (event.arrived_ns != 0 && event.arrived_ns < begin_ns_) return;
    // The conductor plans again without the nodes in lost().
    lost_.push_back(event.from);
    return Break(LostLayers(
        event.from, event.why.ok() ? Error(Code::kUnavailable, "it failed") : event.why.error()));
  }
  if (states_.contains(event.from)) CheckProtocol(event.from);
  if (event.kind != net::Event::Kind::kMessage || state_ == State::kBroken) return;
  if (const auto* state = std::get_if<wire::RouteState>(&event.message)) {
    OnState(event.from, *state);
  }
}

// Breaks the route if the node's protocol lacks a necessary feature. Called at its first message.
void RouteClient::CheckProtocol(const wire::NodeId& node) {
  const uint16_t protocol = network_.ProtocolOf(node);
  if (protocol >= wire::kKvTransferProtocol) return;
  lost_.push_back(node);
  Break(FailedPrecondition(
      fmt::format("node {} speaks protocol {}, and routes need {}: bring both to the same version "
                  "of the program, or plan without it",
                  node.ToText(), protocol, wire::kKvTransferProtocol)));
}

void RouteClient::OnState(const wire::NodeId& from, const wire::RouteState& state) {
  const auto found = states_.find(from);
  if (state.route != id_ || found == states_.end()) return;
  // Refused: the route breaks. Loading: progress restarts the timeout. Ready: the node is counted.
  NodeState& node = found->second;
  switch (state.kind) {
    case wire::RouteState::Kind::kRefused: {
      const std::optional<wire::NodeId> behind = NextNodeOf(from);
      if (state.lost != wire::NodeId()) {
        // It cannot reach another node of the route, or of its group: plans again without that one.
        lost_.push_back(state.lost);
        return Break(state.why.code() == Code::kUnavailable ? LostLayers(state.lost, state.why)
                                                            : Named(state.why));
      }
      if (IsOfTheMachine(state.why.code())) {
        // It cannot load or fetch the model, but another node may.
        lost_.push_back(from);
        return Break(Named(state.why));
      }
      if (state.why.code() != Code::kUnavailable || !behind) return Break(Named(state.why));
      // Older nodes do not say which: the next node, lost even if this machine reaches both.
      lost_.push_back(*behind);
      return Break(LostLayers(*behind, state.why));
    }
    case wire::RouteState::Kind::kLoading:
      if (state.done_bytes > node.done_bytes || state.total_bytes != node.total_bytes) {
        progress_ns_ = network_.clock().NowNs();
      }
      node.done_bytes = state.done_bytes;
      node.total_bytes = state.total_bytes;
      return;
    case wire::RouteState::Kind::kReady:
      progress_ns_ = network_.clock().NowNs();
      node = {.is_ready = true,
              .done_bytes = state.total_bytes,
              .total_bytes = state.total_bytes,
              .kv_positions = state.kv_positions};
      break;
  }
  const bool all_ready =
      std::ranges::all_of(states_, [](const auto& item) { return item.second.is_ready; });
  if (all_ready) state_ = State::kReady;
}

std::optional<wire::NodeId> RouteClient::NextNodeOf(const wire::NodeId& node) const {
  // If this node's stages have different next nodes, it is not known which one cannot be reached.
  std::optional<wire::NodeId> behind;
  for (size_t i = 1; i < stages_.size(); ++i) {
    const wire::NodeId& next = stages_[i].node.id;
    if (i == decode_path().begin || stages_[i - 1].node.id != node) continue;
    if (next == node || next == behind) continue;
    if (behind) return std::nullopt;
    behind = next;
  }
  return behind;
}

void RouteClient::Tick() {
  if (state_ != State::kOpening || network_.clock().NowNs() < next_tick_ns()) return;
  // Nodes that are not ready by now count as lost, so that the next plan is without them.
  std::vector<std::string> silent;
  for (const plan::PlanStage& stage : stages_) {
    if (!states_.at(stage.node.id).is_ready) {
      silent.push_back(
          fmt::format("{} on node {}", plan::DescribeSlice(stage.slice), stage.node.name));
      lost_.push_back(stage.node.id);
    }
  }
  Break(Error(Code::kDeadlineExceeded,
              fmt::format("no progress for {} s while {} was made ready",
                          open_timeout_ns_ / kNsPerSecond, fmt::join(silent, ", "))));
}

int64_t RouteClient::next_tick_ns() const {
  return state_ == State::kOpening ? progress_ns_ + open_timeout_ns_ : kNeverNs;
}

OpenProgress RouteClient::progress() const {
  OpenProgress progress{.nodes = nodes_.size()};
  for (const auto& [id, node] : states_) {
    progress.done_bytes += node.done_bytes;
    progress.total_bytes += node.total_bytes;
    progress.ready_nodes += node.is_ready ? 1 : 0;
  }
  return progress;
}

uint64_t RouteClient::kv_positions() const {
  // Every node holds rows of every sequence, so the smallest KV cache decides.
  uint64_t positions = std::numeric_limits<uint64_t>::max();
  for (const auto& [id, node] : states_) positions = std::min(positions, node.kv_positions);
  return positions;
}

}  // namespace aster::conduct
