// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The processes that a command starts as its nodes (open/local_nodes.h), as a pool. Must not know
// what they are asked to compute.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "net/delaying_proxy.h"
#include "open/cluster_options.h"
#include "open/model_options.h"
#include "open/node_pool.h"
#include "plan/planner.h"

namespace aster::open {

// Where the split is a plan's and the model is large enough for the plan to matter, this process
// measures what one of its nodes does alone, as they are all alike: that takes about two seconds.
// Cores that nodes share for want of others, and memory that all of them read, are not in that.
Result<std::unique_ptr<NodePool>> StartLocalPool(const ModelOptions& model,
                                                 const ClusterOptions& cluster,
                                                 const WantedSlices& wanted);

// The ways between nodes of one machine: loopback, and in front of it the link that was asked for.
std::vector<plan::LinkAbility> LocalLinks(size_t nodes,
                                          const std::optional<net::LinkOptions>& link);

}  // namespace aster::open
