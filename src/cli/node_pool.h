// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Where a command's nodes come from: processes that it starts, or its machine's cluster. Must not
// know what they are asked to compute.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/cluster_options.h"
#include "cli/model_options.h"
#include "net/credentials.h"
#include "node/cluster_view.h"
#include "route/planner.h"

namespace aster::cli {

class NodePool {
 public:
  virtual ~NodePool() = default;

  // Those that may be given layers, and the ways between them as far as they were measured.
  const std::vector<route::NodeAbility>& nodes() const { return nodes_; }
  const std::vector<route::LinkAbility>& links() const { return links_; }
  // Whether all of them have to take part, as whoever wants so many nodes means it.
  virtual bool wants_all() const = 0;
  // With which this process talks to them.
  virtual net::Credentials Credentials() const = 0;
  // One that this command has started ends at once, without a word.
  virtual Status Kill(const wire::NodeId& node);
  // Which of them are left, now that these did not do what they should; there may be new ones.
  virtual Status Refresh(std::span<const wire::NodeId> lost) = 0;

 protected:
  std::vector<route::NodeAbility> nodes_;
  std::vector<route::LinkAbility> links_;
};

// This machine's cluster, through one of these nodes or, without any, of those that it remembers.
Result<std::unique_ptr<node::ClusterView>> ViewOfCluster(const std::vector<std::string>& via);

// That the options ask for.
Result<std::unique_ptr<NodePool>> OpenNodePool(const ModelOptions& model,
                                               const ClusterOptions& cluster);

}  // namespace aster::cli
