// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Where a command's nodes come from: processes that it starts, or its machine's cluster. Must not
// know what they are asked to compute.
#pragma once

#include <functional>
#include <memory>
#include <optional>
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
  bool is_drained = false;  // it says so itself, to all front ends
};

// Layers that a node holds already, as this command wants them: they cost no memory once more.
struct SharedSlice {
  wire::NodeId node;
  model::Slice slice;
  uint64_t bytes = 0;
};

// Of which model slices can be shared, and with how much for keys and values.
struct WantedSlices {
  Hash128 fingerprint;
  uint64_t kv_bytes = 0;
  // Where they are on this machine: nodes may fetch weights of them where no node has the model.
  // Outlives the pool; null where they are elsewhere.
  const gguf::ModelFiles* files = nullptr;
};

// The ways to a node from others, which it measures as bytes that come to it. `place_of` says which
// of the nodes one is; nothing of nodes that are given no layers.
std::vector<plan::LinkAbility> LinksTo(
    size_t place, const cluster::NodeStatus& status,
    const std::function<std::optional<size_t>(const wire::NodeId&)>& place_of);

class NodePool {
 public:
  virtual ~NodePool() = default;

  // Those that may be given layers, and the ways between them as far as they were measured.
  const std::vector<plan::NodeAbility>& nodes() const { return nodes_; }
  const std::vector<plan::LinkAbility>& links() const { return links_; }
  const std::vector<AbsentNode>& absent() const { return absent_; }
  // Their bytes are not among what nodes have free.
  const std::vector<SharedSlice>& shared() const { return shared_; }
  // Whether all of them have to take part: the options name a number of nodes.
  virtual bool wants_all() const = 0;
  // With which this process talks to them.
  virtual net::Credentials Credentials() const = 0;
  // These are given no layers from the next Refresh on, whatever they can do.
  virtual Status SetDrained(std::vector<wire::NodeId> nodes);
  // One that this command has started ends at once, without a word.
  virtual Status Kill(const wire::NodeId& node);
  // What those that this command has started say of their --kv-cache, a line each.
  virtual std::vector<std::string> KvCacheLines() { return {}; }
  // Which of them are left, now that these did not do what they should, for that reason; there may
  // be new ones. Those that only lost their connection and answer stay; those that cannot load the
  // model are left out for minutes.
  virtual Status Refresh(std::span<const wire::NodeId> lost, const Status& why) = 0;

 protected:
  std::vector<plan::NodeAbility> nodes_;
  std::vector<plan::LinkAbility> links_;
  std::vector<AbsentNode> absent_;
  std::vector<SharedSlice> shared_;
};

// This machine's cluster, through one of these nodes or, without any, those that it saw last.
Result<std::unique_ptr<node::ClusterView>> ViewOfCluster(const std::vector<std::string>& via);

// That the options ask for.
Result<std::unique_ptr<NodePool>> OpenNodePool(const ModelOptions& model,
                                               const ClusterOptions& cluster,
                                               const WantedSlices& wanted);

}  // namespace aster::open
