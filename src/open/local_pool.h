// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The processes that a command starts as its nodes (open/local_nodes.h), as a pool. Must not know
// what they compute.
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

// With --split auto and a model of at least 64 MiB, this process measures the rates of one node
// alone, as all are alike: about two seconds. The measurement ignores that nodes may share cores,
// and that they share the memory's bandwidth.
Result<std::unique_ptr<NodePool>> StartLocalPool(const ModelOptions& model,
                                                 const ClusterOptions& cluster,
                                                 const WantedSlices& wanted);

// The links between nodes of one machine: loopback, with the simulated link of --link in front of
// it.
std::vector<plan::LinkAbility> LocalLinks(size_t nodes,
                                          const std::optional<net::LinkOptions>& link);

}  // namespace aster::open
