// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/node_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/machine.h"
#include "cluster/home.h"
#include "crypto/secrets.h"
#include "discovery/seeker.h"
#include "net/certificate.h"
#include "node/addresses.h"
#include "open/closed_routes.h"
#include "open/local_pool.h"
#include "open/node_view_cache.h"
#include "open/weight_lender.h"
#include "plan/link_doubts.h"
#include "wire/frame.h"

namespace aster::open {
namespace {

// A node with a shorter uptime is taken to have been restarted.
constexpr uint64_t kJustStartedMs = 20'000;
// A lost node that answers has only lost its connection. If that happens twice in this time, it is
// left out.
constexpr int64_t kForgivenNs = 30 * kNsPerSecond;
// How long a node that could not load the model gets no layers of it.
constexpr int64_t kRefusedNs = 600 * kNsPerSecond;

class ClusterPool final : public NodePool {
 public:
  ClusterPool(std::unique_ptr<node::ClusterView> view, net::Credentials credentials,
              const WantedSlices& wanted)
      : view_(std::move(view)), credentials_(std::move(credentials)), wanted_(wanted) {}

  bool wants_all() const override { return false; }
  net::Credentials Credentials() const override { return credentials_; }

  Status SetDrained(std::vector<wire::NodeId> nodes) override {
    drained_ = std::move(nodes);
    return Ok();
  }

  void SetUsed(std::set<wire::NodeId> nodes) override { view_cache_.SetUsed(std::move(nodes)); }

  void AddClosed(std::span<const wire::RouteId> routes) override { closed_.Add(routes); }

  Status Refresh(std::span<const wire::NodeId> lost, const Status& broken) override {
    const bool may_recover = broken.ok() || broken.error().code() == Code::kUnavailable;
    if (!may_recover) RefuseFor(lost, broken.error().code());
    std::vector<node::NodeView> views = TRY(Look(lost));
    if (lost.empty()) view_cache_.Complete(views);
    for (node::NodeView& view : views) {
      if (view.status) closed_.RemoveFrom(*view.status);
    }
    nodes_.clear();
    links_.clear();
    absent_.clear();
    shared_.clear();
    // Moves nodes that cannot be given layers to absent_.
    std::erase_if(views, [&](const node::NodeView& view) {
      std::string why = WhyAbsent(view);
      if (why.empty() && std::ranges::count(lost, view.member.node) > 0 &&
          !HasRecovered(view, may_recover)) {
        why = "has just failed";
      }
      if (why.empty() && IsRefused(view.member.node)) why = "could not load the model a while ago";
      const bool says_so = view.status && view.status->is_drained;
      if (says_so || std::ranges::count(drained_, view.member.node) > 0) why = "is drained";
      if (why.empty()) return false;
      absent_.push_back({.id = view.member.node,
                         .name = view.member.name,
                         .why = std::move(why),
                         .is_drained = says_so});
      return true;
    });
    // Links name nodes by their index, so all nodes come first.
    for (const node::NodeView& view : views) AddNode(view);
    for (const node::NodeView& view : views) AddLinks(view);
    link_doubts_.Apply(nodes_, links_, clock_.NowNs());
    if (wanted_.files != nullptr && !views.empty()) LendWeights(views);
    return Ok();
  }

 private:
  // If the nodes of the last look are all gone, others may have come since: another pool of this
  // machine may know them.
  Result<std::vector<node::NodeView>> Look(std::span<const wire::NodeId> lost) {
    auto views = view_->Look(lost);
    if (!views.ok()) {
      auto others = ViewOfCluster(/*via=*/{});
      if (!others.ok()) return views;
      view_ = *std::move(others);
      views = view_->Look(lost);
    }
    if (views.ok() && view_->members().size() != written_) {
      written_ = view_->members().size();
      const Status stored = node::RememberMembers(TRY(cluster::Home::OfUser()), view_->members());
      if (!stored.ok())
        log::Debug("the addresses of nodes could not be written",
                   {{"why", stored.error().message()}});
    }
    return views;
  }

  // Needed if no living node has the model, for instance because the only one with it has failed.
  void LendWeights(std::span<const node::NodeView> views) {
    const auto has_model = [&](const node::NodeView& view) {
      return std::ranges::count(view.description->models, wanted_.fingerprint,
                                &cluster::HeldModel::fingerprint) > 0;
    };
    if (std::ranges::any_of(views, has_model)) return;
    if (!lender_) {
      auto started = StartLender();
      if (!started.ok())
        return log::Warn("nodes cannot fetch the model from here",
                         {{"why", started.error().message()}});
      lender_ = *std::move(started);
    }
    view_->OfferWeights(views, lender_->offer());
  }
  Result<std::unique_ptr<WeightLender>> StartLender() const {
    const cluster::Identity& identity = view_->identity();
    auto revoked = TRY(TRY(cluster::Home::OfUser()).LoadRevocations(identity.ca_certificate));
    return WeightLender::Start(identity, std::move(revoked), *wanted_.files, wanted_.fingerprint);
  }

  static std::string WhyAbsent(const node::NodeView& view) {
    if (view.description && view.status) {
      return view.member.data_addresses.empty() ? "has no address" : "";
    }
    if (!view.why.empty()) return fmt::format("does not answer: {}", view.why);
    return fmt::format("does not answer ({})", cluster::MemberStateName(view.member.state));
  }

  // A stall passes; a full disk, or a missing or damaged file, would fail again at once.
  void RefuseFor(std::span<const wire::NodeId> lost, Code why) {
    if (why == Code::kDeadlineExceeded) return;
    for (const wire::NodeId& node : lost) refused_ns_[node] = clock_.NowNs();
  }
  bool IsRefused(const wire::NodeId& node) const {
    const auto found = refused_ns_.find(node);
    return found != refused_ns_.end() && clock_.NowNs() - found->second < kRefusedNs;
  }

  // Whether a lost node that answers may be used again.
  bool HasRecovered(const node::NodeView& view, bool may_recover) {
    if (!may_recover) return false;
    if (view.status->uptime_ms < kJustStartedMs) return true;
    const int64_t now_ns = clock_.NowNs();
    const auto forgiven = forgiven_ns_.find(view.member.node);
    if (forgiven != forgiven_ns_.end() && now_ns - forgiven->second < kForgivenNs) return false;
    forgiven_ns_[view.member.node] = now_ns;
    return true;
  }

  static std::vector<plan::DeviceAbility> DevicesOf(const cluster::Description& what) {
    std::vector<plan::DeviceAbility> devices;
    for (const cluster::DeviceDescription& device : what.devices) {
      devices.push_back({.name = device.name,
                         .memory_bytes = device.memory_bytes,
                         .multiply_flops_per_s = device.multiply_flops_per_s,
                         .memory_bytes_per_s = device.memory_bytes_per_s,
                         .bus_round_trip_s = static_cast<double>(device.bus_round_trip_ns) / 1e9,
                         .bus_bytes_per_s = device.bus_bytes_per_s,
                         .shares_memory = device.shares_memory});
    }
    return devices;
  }

  // The measured slices of the wanted model.
  std::vector<plan::MeasuredSlice> MeasuredOf(const cluster::NodeStatus& status) const {
    const auto times = [](const cluster::WorkRate::Times& from) -> plan::MeasuredSlice::Times {
      return {.seconds = static_cast<double>(from.ns) / kNsPerSecond,
              .rows = from.rows,
              .context = from.context,
              .waited_s = static_cast<double>(from.waited_ns) / kNsPerSecond};
    };
    std::vector<plan::MeasuredSlice> measured;
    for (const cluster::WorkRate& rate : status.rates) {
      if (rate.fingerprint != wanted_.fingerprint) continue;
      measured.push_back({.begin = rate.layers.begin,
                          .end = rate.layers.end,
                          .head = rate.head,
                          .part = rate.part,
                          .token = times(rate.decode),
                          .chunk = times(rate.prefill)});
    }
    return measured;
  }

  void AddNode(const node::NodeView& view) {
    const cluster::Description& what = *view.description;
    nodes_.push_back({.node = {.id = view.member.node,
                               .name = view.member.name,
                               .addresses = view.member.data_addresses},
                      .memory_bytes = what.memory_bytes -
                                      std::min(what.memory_bytes, view.status->memory_used_bytes),
                      .multiply_flops_per_s = what.multiply_flops_per_s,
                      .memory_bytes_per_s = what.memory_bytes_per_s,
                      .devices = DevicesOf(what),
                      .gpu_layers = what.gpu_layers,
                      .measured = MeasuredOf(*view.status),
                      .may_own_experts = what.protocol >= wire::kExpertsProtocol,
                      .may_divide_new = what.protocol >= wire::kBlocksProtocol});
    for (const cluster::SliceStatus& held : view.status->slices) {
      const SharedSlice shared{.node = view.member.node,
                               .slice = {.layer_begin = held.layers.begin,
                                         .layer_end = held.layers.end,
                                         .embedding = held.embedding,
                                         .head = held.head},
                               .bytes = held.weight_bytes + held.kv_budget_bytes};
      const bool is_known = std::ranges::any_of(shared_, [&](const SharedSlice& other) {
        return other.node == shared.node && other.slice == shared.slice;
      });
      const bool is_wanted = held.is_ready && held.fingerprint == wanted_.fingerprint &&
                             held.kv_budget_bytes == wanted_.kv_bytes;
      if (is_wanted && !is_known) shared_.push_back(shared);
    }
  }

  void AddLinks(const node::NodeView& view) {
    const std::optional<size_t> place = PlaceOf(view.member.node);
    if (!place) return;
    const auto added =
        LinksTo(*place, *view.status, [this](const wire::NodeId& node) { return PlaceOf(node); });
    links_.insert(links_.end(), added.begin(), added.end());
  }

  std::optional<size_t> PlaceOf(const wire::NodeId& node) const {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].node.id == node) return i;
    }
    return std::nullopt;
  }

  std::unique_ptr<node::ClusterView> view_;
  size_t written_ = 0;  // members whose addresses are stored
  const net::Credentials credentials_;
  const WantedSlices wanted_;
  std::vector<wire::NodeId> drained_;
  std::unique_ptr<WeightLender> lender_;  // set once nodes need it
  NodeViewCache view_cache_;
  ClosedRoutes closed_;
  plan::LinkDoubts link_doubts_;
  const SystemClock clock_;
  std::map<wire::NodeId, int64_t> forgiven_ns_;  // when
  std::map<wire::NodeId, int64_t> refused_ns_;   // when
};

Result<std::unique_ptr<NodePool>> FindCluster(const std::vector<std::string>& via,
                                              const WantedSlices& wanted) {
  std::unique_ptr<node::ClusterView> view = TRY(ViewOfCluster(via));
  // A front end is not the machine's node, which has the same certificate and may run at the same
  // time.
  net::Credentials credentials;
  credentials.authority = view->identity().ca_certificate;
  credentials.certificate = view->identity().certificate;
  credentials.key = view->identity().key;
  credentials.instance = TRY(crypto::RandomSecret(net::kInstanceBytes));
  auto pool = std::make_unique<ClusterPool>(std::move(view), std::move(credentials), wanted);
  TRY(pool->Refresh({}, Ok()));
  if (!pool->nodes().empty()) return std::unique_ptr<NodePool>(std::move(pool));
  return Error(Code::kUnavailable,
               "no node of the cluster can compute now: start `aster node` on one; `aster cluster "
               "status` lists the nodes");
}

// If no node answers at the known addresses: they may have others now.
Result<std::unique_ptr<node::ClusterView>> ConnectOrSeek(
    const cluster::Identity& identity, const std::vector<std::string>& addresses) {
  constexpr int64_t kSeekNs = 2 * kNsPerSecond;
  auto view = node::ClusterView::Connect(identity, addresses);
  const auto port = TRY(discovery::PortFromEnvironment());
  if (view.ok() || !port) return view;
  SystemClock clock;
  const auto seeker =
      TRY(discovery::Seeker::Start(discovery::ClusterLabel(identity.ca_certificate), *port, clock));
  const int64_t deadline_ns = clock.NowNs() + kSeekNs;
  while (const auto address = seeker->Next(deadline_ns)) {
    if (auto found = node::ClusterView::Connect(identity, {*address}); found.ok()) return found;
  }
  return Error(view.error().code(),
               view.error().message() + "\nNo node answers by discovery on this network either.");
}

}  // namespace

Status NodePool::Kill(const wire::NodeId& /*node*/) {
  return FailedPrecondition("a command can only kill nodes that it has started");
}

Status NodePool::SetDrained(std::vector<wire::NodeId> /*nodes*/) {
  return FailedPrecondition("only a node of a cluster can be drained");
}

void NodePool::SeeAs(const NodePool& other) {
  nodes_ = other.nodes_;
  links_ = other.links_;
  absent_ = other.absent_;
  shared_ = other.shared_;
}

Result<std::unique_ptr<node::ClusterView>> ViewOfCluster(const std::vector<std::string>& via) {
  const SystemClock clock;
  const cluster::Home home = TRY(cluster::Home::OfUser());
  const cluster::Identity identity = TRY(home.LoadIdentity(clock.WallNs() / kNsPerSecond));
  std::vector<std::string> addresses;
  for (const std::string& text : via)
    addresses.push_back(TRY(cluster::ParseHostPort(text, node::kDefaultPort).In("--via")).ToText());
  if (via.empty()) addresses = TRY(home.LoadAddresses());
  auto view = TRY(via.empty() ? ConnectOrSeek(identity, addresses)
                              : node::ClusterView::Connect(identity, addresses));
  // For the next command: a machine without a node does not learn of others otherwise.
  if (const Status stored = node::RememberMembers(home, view->members()); !stored.ok())
    log::Debug("the addresses of nodes could not be written", {{"why", stored.error().message()}});
  return view;
}

Result<std::unique_ptr<NodePool>> OpenNodePool(const ModelOptions& model,
                                               const ClusterOptions& cluster,
                                               const WantedSlices& wanted) {
  return cluster.cluster ? FindCluster(cluster.via, wanted)
                         : StartLocalPool(model, cluster, wanted);
}

std::vector<plan::LinkAbility> LinksTo(
    size_t place, const cluster::NodeStatus& status,
    const std::function<std::optional<size_t>(const wire::NodeId&)>& place_of) {
  constexpr double kNsPerS = 1e9;
  // Rates are measured on some links only; the others count as the slowest of these.
  double least = 0;
  for (const cluster::LinkStatus& link : status.links) {
    if (link.bytes_per_s > 0)
      least = least > 0 ? std::min(least, link.bytes_per_s) : link.bytes_per_s;
  }
  std::vector<plan::LinkAbility> links;
  for (const cluster::LinkStatus& link : status.links) {
    const std::optional<size_t> from = place_of(link.peer);
    if (!from || link.round_trip_ns == 0) continue;
    links.push_back({.from = *from,
                     .to = place,
                     .round_trip_s = static_cast<double>(link.round_trip_ns) / kNsPerS,
                     .bytes_per_s = link.bytes_per_s > 0 ? link.bytes_per_s : least});
  }
  return links;
}

}  // namespace aster::open
