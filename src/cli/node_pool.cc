// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/node_pool.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/machine.h"
#include "cli/local_nodes.h"
#include "cluster/home.h"
#include "net/certificate.h"
#include "node/cluster_view.h"

namespace aster::cli {
namespace {

// Of a node that is up for less time it is taken that it was started again.
constexpr uint64_t kJustStartedMs = 20'000;

class LocalPool final : public NodePool {
 public:
  explicit LocalPool(LocalNodes nodes) : local_(std::move(nodes)) { nodes_ = local_.nodes(); }

  net::Credentials Credentials() const override { return local_.credentials(); }
  Status Refresh(std::span<const wire::NodeId> lost) override {
    std::erase_if(
        nodes_, [&](const route::PlanNode& node) { return std::ranges::count(lost, node.id) > 0; });
    return Ok();
  }

 private:
  LocalNodes local_;
};

class ClusterPool final : public NodePool {
 public:
  ClusterPool(std::unique_ptr<node::ClusterView> view, net::Credentials credentials)
      : view_(std::move(view)), credentials_(std::move(credentials)) {}

  net::Credentials Credentials() const override { return credentials_; }

  Status Refresh(std::span<const wire::NodeId> lost) override {
    nodes_.clear();
    for (const node::NodeView& view : TRY(view_->Look())) {
      if (!view.description || view.member.data_addresses.empty()) continue;
      const bool is_back = view.status->uptime_ms < kJustStartedMs;
      if (std::ranges::count(lost, view.member.node) > 0 && !is_back) continue;
      nodes_.push_back({.id = view.member.node,
                        .name = view.member.name,
                        .addresses = view.member.data_addresses});
    }
    return Ok();
  }

 private:
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
  if (!cluster.link.empty()) options.link = TRY(ParseLink(cluster.link).In("--link"));
  return std::unique_ptr<NodePool>(std::make_unique<LocalPool>(TRY(LocalNodes::Start(options))));
}

Result<std::unique_ptr<NodePool>> FindCluster(const std::vector<std::string>& via) {
  const SystemClock clock;
  const cluster::Home home = TRY(cluster::Home::OfUser());
  cluster::Identity identity = TRY(home.LoadIdentity(clock.WallNs() / kNsPerSecond));
  std::vector<std::string> addresses = via;
  if (addresses.empty()) {
    for (const cluster::RememberedPeer& peer : TRY(home.LoadPeers()))
      addresses.insert(addresses.end(), peer.addresses.begin(), peer.addresses.end());
  }
  // A front end is not the machine's node, which has the same certificate and may run beside it.
  net::Credentials credentials;
  credentials.authority = identity.ca_certificate;
  credentials.certificate = identity.certificate;
  credentials.key = identity.key;
  credentials.instance = TRY(net::RandomSecret(net::kInstanceBytes));
  auto pool = std::make_unique<ClusterPool>(
      TRY(node::ClusterView::Connect(std::move(identity), addresses)), std::move(credentials));
  TRY(pool->Refresh({}));
  if (!pool->nodes().empty()) return std::unique_ptr<NodePool>(std::move(pool));
  return Error(Code::kUnavailable,
               "no node of the cluster can compute now: start `aster node` on one; `aster cluster "
               "status` shows who is there");
}

}  // namespace

Result<std::unique_ptr<NodePool>> OpenNodePool(const ModelOptions& model,
                                               const ClusterOptions& cluster) {
  return cluster.cluster ? FindCluster(cluster.via) : StartLocally(model, cluster);
}

}  // namespace aster::cli
