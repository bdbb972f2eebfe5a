// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/plan_by_ability.h"

#include <algorithm>
#include <utility>

namespace aster::open {
namespace {

plan::PlannerOptions OptionsFor(const NodePool& pool, const WantedPlan& wanted) {
  plan::PlannerOptions options{.reserved_bytes = wanted.kv_bytes, .all_nodes = pool.wants_all()};
  options.exact_transfers = wanted.exact_transfers;
  options.compares = !wanted.replaces;
  // Several requests share a pipeline best.
  if (!wanted.request) return options;
  options.may_choose = true;
  options.prompt_tokens = wanted.request->prompt_tokens;
  options.answer_tokens = wanted.request->answer_tokens;
  return options;
}

std::vector<plan::NodeAbility> AbilitiesOf(const NodePool& pool, const WantedPlan& wanted,
                                           const NodeShares& shares) {
  std::vector<plan::NodeAbility> nodes = pool.nodes();
  for (plan::NodeAbility& able : nodes) {
    if (!wanted.by_times) able.measured.clear();
    const auto found = shares.find(able.node.id);
    if (found == shares.end()) continue;
    able.multiply_flops_per_s *= found->second;
    able.memory_bytes_per_s *= found->second;
    for (plan::DeviceAbility& device : able.devices) {
      device.multiply_flops_per_s *= found->second;
      device.memory_bytes_per_s *= found->second;
    }
  }
  return nodes;
}

plan::ModelLoad LoadOfRequest(const WantedPlan& wanted) {
  plan::ModelLoad load = wanted.load;
  if (const auto& request = wanted.request)
    load.PrepareFor(request->prompt_tokens, request->answer_tokens);
  return load;
}

}  // namespace

Result<plan::SplitPlan> PlanByAbility(const NodePool& pool, const WantedPlan& wanted,
                                      const NodeShares& shares) {
  const plan::PlannerOptions options = OptionsFor(pool, wanted);
  const plan::ModelLoad load = LoadOfRequest(wanted);
  // Layers that another front end runs are shared, if exactly these are planned.
  const std::vector<SharedSlice>& shared = pool.shared();
  const std::vector<plan::NodeAbility> apart_nodes = AbilitiesOf(pool, wanted, shares);
  std::vector<plan::NodeAbility> nodes = apart_nodes;
  for (plan::NodeAbility& able : nodes) {
    for (const SharedSlice& held : shared)
      able.memory_bytes += held.node == able.node.id ? held.bytes : 0;
  }
  auto split = plan::PlanSplit(nodes, pool.links(), load, options);
  const auto is_shared = [&](const plan::PlanStage& stage) {
    const auto is_of_node = [&](const SharedSlice& held) { return held.node == stage.node.id; };
    return std::ranges::none_of(shared, is_of_node) ||
           std::ranges::any_of(shared, [&](const SharedSlice& held) {
             return is_of_node(held) && held.slice == stage.slice;
           });
  };
  if (wanted.replaces) return split;
  if (split.ok() && !std::ranges::all_of(split->plan.stages, is_shared)) {
    auto apart = plan::PlanSplit(apart_nodes, pool.links(), load, options);
    if (apart.ok()) split = std::move(apart);
  }
  return split;
}

std::optional<plan::SplitPlan> PredictByAbility(const NodePool& pool, const WantedPlan& wanted,
                                                const NodeShares& shares, const plan::Plan& plan) {
  return plan::PredictPlan(AbilitiesOf(pool, wanted, shares), pool.links(), LoadOfRequest(wanted),
                           OptionsFor(pool, wanted), plan);
}

}  // namespace aster::open
