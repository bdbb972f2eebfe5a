// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The source of a command's nodes: processes that it starts, or its machine's cluster. Must not
// know what they compute.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "gguf/model_files.h"
#include "net/credentials.h"
#include "node/cluster_view.h"
#include "open/cluster_options.h"
#include "open/model_options.h"
#include "plan/planner.h"

namespace aster::open {

// A node of the cluster that cannot be given layers, and why: "it does not answer".
struct AbsentNode {
  wire::NodeId id;
  std::string name;
  std::string why;
  bool is_drained = false;  // it reports so itself, to all front ends
};

// Layers that a node already holds in the form that this command wants: they take no more memory.
struct SharedSlice {
  wire::NodeId node;
  model::Slice slice;
  uint64_t bytes = 0;
};

// The slices that can be shared: those of this model with this much memory for the KV cache.
struct WantedSlices {
  Hash128 fingerprint;
  uint64_t kv_bytes = 0;
  // The model's files, if they are on this machine: nodes may fetch weights from them if no node
  // has the model. They outlive the pool. Null: they are elsewhere.
  const gguf::ModelFiles* files = nullptr;
};

// The links from other nodes to one node, which measures the bytes that it receives. `place_of`
// gives a node's index in the list; nullopt for nodes that get no layers.
std::vector<plan::LinkAbility> LinksTo(
    size_t place, const cluster::NodeStatus& status,
    const std::function<std::optional<size_t>(const wire::NodeId&)>& place_of);

class NodePool {
 public:
  virtual ~NodePool() = default;

  // The nodes that may be given layers, and the measured links between them.
  const std::vector<plan::NodeAbility>& nodes() const { return nodes_; }
  const std::vector<plan::LinkAbility>& links() const { return links_; }
  const std::vector<AbsentNode>& absent() const { return absent_; }
  // Shared slices, whose bytes are not counted in the nodes' free memory.
  const std::vector<SharedSlice>& shared() const { return shared_; }
  // Whether all nodes must take part, because the options name a number of nodes.
  virtual bool wants_all() const = 0;
  // The credentials with which this process connects to the nodes.
  virtual net::Credentials Credentials() const = 0;
  // From the next Refresh on these nodes get no layers.
  virtual Status SetDrained(std::vector<wire::NodeId> nodes);
  // A route runs on these nodes. If one of them answers too late at a Refresh without lost nodes,
  // its last answer counts.
  virtual void SetUsed(std::set<wire::NodeId> /*nodes*/) {}
  // From the next Refresh on the memory of these routes counts as free.
  virtual void AddClosed(std::span<const wire::RouteId> /*routes*/) {}
  // Takes over the other pool's nodes and links, until the next Refresh.
  void SeeAs(const NodePool& other);
  // Kills a node that this command has started, as if its machine was switched off.
  virtual Status Kill(const wire::NodeId& node);
  // The --kv-cache counters of the nodes that this command has started, a line each.
  virtual std::vector<std::string> KvCacheLines() { return {}; }
  // Looks for nodes again after the nodes `lost` failed for the reason `why`; there may be new
  // ones. A node that only lost its connection and answers stays; one that cannot load the model is
  // left out for minutes.
  virtual Status Refresh(std::span<const wire::NodeId> lost, const Status& why) = 0;

 protected:
  std::vector<plan::NodeAbility> nodes_;
  std::vector<plan::LinkAbility> links_;
  std::vector<AbsentNode> absent_;
  std::vector<SharedSlice> shared_;
};

// This machine's cluster, through one of these nodes, or else through those seen last.
Result<std::unique_ptr<node::ClusterView>> ViewOfCluster(const std::vector<std::string>& via);

// The pool that the options ask for.
Result<std::unique_ptr<NodePool>> OpenNodePool(const ModelOptions& model,
                                               const ClusterOptions& cluster,
                                               const WantedSlices& wanted);

}  // namespace aster::open
