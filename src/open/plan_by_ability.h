// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Plans a model on the nodes of a pool, by their present rates. Must not know how nodes are
// reached, nor whether the plan is used.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/result.h"
#include "open/cluster_options.h"
#include "open/node_pool.h"
#include "plan/model_load.h"
#include "plan/planner.h"

namespace aster::open {

// The share of its measured rates that a node reaches, from 0 to 1; other nodes have 1.
using NodeShares = std::map<wire::NodeId, double>;

struct WantedPlan {
  plan::ModelLoad load;
  uint64_t kv_bytes = 0;
  std::vector<ExpectedRequest> requests = {};  // which come one at a time; empty: several at once
  // Whether the nodes' recent times for this model count; otherwise only the shares of their rates,
  // which PlanWatch finds.
  bool by_times = false;
  // KV rows of the requests' common beginning that nodes have.
  std::vector<plan::HeldRows> held = {};
  bool exact_transfers = true;
  bool replaces = false;  // it replaces a plan of this front end, whose slices are freed then
};

// If requests come one at a time, this is the plan that answers all of them soonest, each on the
// better path: the decode nodes may compute short prompts, the prefill nodes long ones. Layers that
// a node already holds take no more memory if exactly these are planned.
Result<plan::SplitPlan> PlanByAbility(const NodePool& pool, const WantedPlan& wanted,
                                      const NodeShares& shares);

// The predicted times of a given plan; nullopt if one of its nodes is missing, or rates are
// unknown.
std::optional<plan::SplitPlan> PredictByAbility(const NodePool& pool, const WantedPlan& wanted,
                                                const NodeShares& shares, const plan::Plan& plan);

// The plan's mean time for the wanted requests; nullopt if unknown, or if several come at once.
std::optional<double> SecondsByAbility(const NodePool& pool, const WantedPlan& wanted,
                                       const NodeShares& shares, const plan::Plan& plan);

}  // namespace aster::open
