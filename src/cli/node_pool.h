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
#include "route/plan.h"

namespace aster::cli {

class NodePool {
 public:
  virtual ~NodePool() = default;

  // Those that may be given layers.
  const std::vector<route::PlanNode>& nodes() const { return nodes_; }
  // With which this process talks to them.
  virtual net::Credentials Credentials() const = 0;
  // Which of them are left, now that these did not do what they should; there may be new ones.
  virtual Status Refresh(std::span<const wire::NodeId> lost) = 0;

 protected:
  std::vector<route::PlanNode> nodes_;
};

// That the options ask for.
Result<std::unique_ptr<NodePool>> OpenNodePool(const ModelOptions& model,
                                               const ClusterOptions& cluster);

}  // namespace aster::cli
