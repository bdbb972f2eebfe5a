// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/node_pool.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/machine.h"
#include "cli/local_nodes.h"
#include "cluster/home.h"
#include "net/certificate.h"
#include "route/file_slice_source.h"

namespace aster::cli {
namespace {

// Of a node that is up for less time it is taken that it was started again.
constexpr uint64_t kJustStartedMs = 20'000;

class LocalPool final : public NodePool {
 public:
  explicit LocalPool(LocalNodes nodes) : local_(std::move(nodes)) {
    const uint64_t share = static_cast<uint64_t>(static_cast<double>(DetectMemory().total_bytes) *
                                                 route::kDefaultMemoryShare) /
                           local_.nodes().size();
    for (const route::PlanNode& node : local_.nodes())
      nodes_.push_back({.node = node, .memory_bytes = share});
  }

  bool wants_all() const override { return true; }
  net::Credentials Credentials() const override { return local_.credentials(); }
  Status Kill(const wire::NodeId& node) override { return local_.Kill(node); }
  Status Refresh(std::span<const wire::NodeId> lost) override {
    std::erase_if(nodes_, [&](const route::NodeAbility& able) {
      return std::ranges::count(lost, able.node.id) > 0;
    });
    return Ok();
  }

 private:
  LocalNodes local_;
};

class ClusterPool final : public NodePool {
 public:
  ClusterPool(std::unique_ptr<node::ClusterView> view, net::Credentials credentials)
      : view_(std::move(view)), credentials_(std::move(credentials)) {}

  bool wants_all() const override { return false; }
  net::Credentials Credentials() const override { return credentials_; }

  Status Refresh(std::span<const wire::NodeId> lost) override {
    nodes_.clear();
    links_.clear();
    std::vector<node::NodeView> views = TRY(view_->Look());
    std::erase_if(views, [&](const node::NodeView& view) {
      if (!view.description || view.member.data_addresses.empty()) return true;
      const bool is_back = view.status->uptime_ms < kJustStartedMs;
      return std::ranges::count(lost, view.member.node) > 0 && !is_back;
    });
    for (const node::NodeView& view : views) AddNode(view);
    for (const node::NodeView& view : views) AddLinks(view);
    return Ok();
  }

 private:
  void AddNode(const node::NodeView& view) {
    const cluster::Description& what = *view.description;
    nodes_.push_back({.node = {.id = view.member.node,
                               .name = view.member.name,
                               .addresses = view.member.data_addresses},
                      .memory_bytes = what.memory_bytes -
                                      std::min(what.memory_bytes, view.status->memory_used_bytes),
                      .multiply_flops_per_s = what.multiply_flops_per_s,
                      .memory_bytes_per_s = what.memory_bytes_per_s});
  }

  void AddLinks(const node::NodeView& view) {
    constexpr double kNsPerS = 1e9;
    const std::optional<size_t> from = PlaceOf(view.member.node);
    for (const cluster::LinkStatus& link : view.status->links) {
      const std::optional<size_t> to = PlaceOf(link.peer);
      if (!from || !to || link.round_trip_ns == 0) continue;
      links_.push_back({.from = *from,
                        .to = *to,
                        .round_trip_s = static_cast<double>(link.round_trip_ns) / kNsPerS,
                        .bytes_per_s = link.bytes_per_s});
    }
  }

  std::optional<size_t> PlaceOf(const wire::NodeId& node) const {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].node.id == node) return i;
    }
    return std::nullopt;
  }

  const std::unique_ptr<node::ClusterView> view_;
  const net::Credentials credentials_;
};

Result<std::unique_ptr<NodePool>> StartLocally(const ModelOptions& model,
                                               const ClusterOptions& cluster) {
  // As many threads as there are cores, all nodes together.
  const size_t threads = model.threads > 0
                             ? model.threads
                             : std::max<size_t>(1, UsableCpuCount() / cluster.local_nodes);
  LocalNodesOptions options{
      .count = cluster.local_nodes, .node_arguments = model.paths, .pinned = cluster.pinned};
  options.node_arguments.insert(options.node_arguments.end(),
                                {"--threads", std::to_string(threads)});
  const std::vector<std::string> kv_cache = model.kv_cache.Arguments();
  options.node_arguments.insert(options.node_arguments.end(), kv_cache.begin(), kv_cache.end());
  if (!cluster.link.empty()) options.link = TRY(ParseLink(cluster.link).In("--link"));
  return std::unique_ptr<NodePool>(std::make_unique<LocalPool>(TRY(LocalNodes::Start(options))));
}

Result<std::unique_ptr<NodePool>> FindCluster(const std::vector<std::string>& via) {
  std::unique_ptr<node::ClusterView> view = TRY(ViewOfCluster(via));
  // A front end is not the machine's node, which has the same certificate and may run beside it.
  net::Credentials credentials;
  credentials.authority = view->identity().ca_certificate;
  credentials.certificate = view->identity().certificate;
  credentials.key = view->identity().key;
  credentials.instance = TRY(net::RandomSecret(net::kInstanceBytes));
  auto pool = std::make_unique<ClusterPool>(std::move(view), std::move(credentials));
  TRY(pool->Refresh({}));
  if (!pool->nodes().empty()) return std::unique_ptr<NodePool>(std::move(pool));
  return Error(Code::kUnavailable,
               "no node of the cluster can compute now: start `aster node` on one; `aster cluster "
               "status` shows who is there");
}

}  // namespace

Status NodePool::Kill(const wire::NodeId& /*node*/) {
  return FailedPrecondition("only nodes that a command has started itself are killed by it");
}

Result<std::unique_ptr<node::ClusterView>> ViewOfCluster(const std::vector<std::string>& via) {
  const SystemClock clock;
  const cluster::Home home = TRY(cluster::Home::OfUser());
  cluster::Identity identity = TRY(home.LoadIdentity(clock.WallNs() / kNsPerSecond));
  std::vector<std::string> addresses = via;
  if (addresses.empty()) addresses = TRY(home.LoadAddresses());
  return node::ClusterView::Connect(std::move(identity), addresses);
}

Result<std::unique_ptr<NodePool>> OpenNodePool(const ModelOptions& model,
                                               const ClusterOptions& cluster) {
  return cluster.cluster ? FindCluster(cluster.via) : StartLocally(model, cluster);
}

}  // namespace aster::cli
