// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A plan for a model on the nodes of a pool, by what they can do at the moment. Must not know how
// they are reached, nor whether the plan is followed.
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

// How much of its measured rates a node has, from 0 to 1; those that are not named have all.
using NodeShares = std::map<wire::NodeId, double>;

struct WantedPlan {
  plan::ModelLoad load;
  uint64_t kv_bytes = 0;
  std::vector<ExpectedRequest> requests = {};  // that come one at a time; none: several at once
  // Whether what nodes took for this model lately counts; else they are judged by the shares of
  // their rates, which a watch of them finds.
  bool by_times = false;
  // KV rows that nodes have of what the requests' texts begin with.
  std::vector<plan::HeldRows> held = {};
  bool exact_transfers = true;
  bool replaces = false;  // a plan of this front end's, whose slices are gone then
};

// Where requests come one at a time it is the plan that answers all of them soonest, each on the
// path that suits it: short prompts may be computed by the nodes that decode, long ones by others.
// Layers of the model that a node holds already are shared where exactly these are planned, and
// take no more memory.
Result<plan::SplitPlan> PlanByAbility(const NodePool& pool, const WantedPlan& wanted,
                                      const NodeShares& shares);

// What a plan that is there would take; nothing where a node of it is missing, or rates are not
// known.
std::optional<plan::SplitPlan> PredictByAbility(const NodePool& pool, const WantedPlan& wanted,
                                                const NodeShares& shares, const plan::Plan& plan);

// What the plan takes for one of the wanted requests, in the mean; nothing where that is not known,
// or several come at once.
std::optional<double> SecondsByAbility(const NodePool& pool, const WantedPlan& wanted,
                                       const NodeShares& shares, const plan::Plan& plan);

}  // namespace aster::open
