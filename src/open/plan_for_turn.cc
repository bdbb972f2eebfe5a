// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/plan_for_turn.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace aster::open {
namespace {

// Whether all nodes have their layers of the plan in memory.
bool IsLoaded(const NodePool& pool, const plan::Plan& plan) {
  return std::ranges::all_of(plan.AllStages(), [&](const plan::PlanStage& stage) {
    return !stage.is_group() && std::ranges::any_of(pool.shared(), [&](const SharedSlice& held) {
      return held.node == stage.node.id && held.slice == stage.slice;
    });
  });
}

// The time for the KV rows of earlier turns: either nodes of the present plan send them to those of
// the best one, or the best one computes them again, whichever is faster.
double MovingSeconds(const NodePool& pool, const WantedPlan& wanted, const plan::Plan& current,
                     const plan::SplitPlan& best) {
  const uint32_t held = wanted.requests.front().held_tokens;
  WantedPlan from_there = wanted;
  for (const plan::PlanStage& stage : current.AllStages())
    from_there.held.push_back({.stage = stage, .tokens = held});
  const auto moved = PredictByAbility(pool, from_there, {}, best.plan);
  const uint32_t kept = moved ? std::min(moved->held_tokens, held) : 0;
  return (moved ? moved->fetch_s : 0) + (held - kept) / best.prefill_tokens_per_s;
}

// A node of the plan that cannot be given layers any more; null: all are there.
const AbsentNode* MissingOf(const NodePool& pool, const plan::Plan& plan) {
  for (const AbsentNode& node : pool.absent()) {
    const bool is_used = std::ranges::any_of(
        plan.AllStages(), [&](const plan::PlanStage& stage) { return stage.Has(node.id); });
    if (is_used) return &node;
  }
  return nullptr;
}

std::string TimeText(double seconds) {
  return FormatDuration(static_cast<int64_t>(std::min(seconds, 1e9) * 1e9));
}

}  // namespace

std::optional<std::string> ChangeForTurn(const NodePool& pool, const WantedPlan& wanted,
                                         const plan::Plan& current, double opening_s,
                                         plan::TurnChanges& changes) {
  WantedPlan instead = wanted;
  instead.replaces = true;
  const auto best = PlanByAbility(pool, instead, {});
  // Without a better plan the cluster keeps the present one.
  if (!best.ok()) return std::nullopt;
  if (const AbsentNode* const missing = MissingOf(pool, current))
    return fmt::format("node {} {}", missing->name, missing->why);
  const auto current_s = SecondsByAbility(pool, instead, {}, current);
  const auto best_s = SecondsByAbility(pool, instead, {}, best->plan);
  const std::string name = plan::SplitText(best->plan);
  if (!current_s || !best_s || name == plan::SplitText(current)) return std::nullopt;
  const double loading_s = IsLoaded(pool, best->plan) ? 0 : opening_s;
  const plan::TurnOffer offer{.current_s = *current_s,
                              .best_s = *best_s,
                              .change_s = loading_s + MovingSeconds(pool, instead, current, *best)};
  if (!changes.Observe(offer)) return std::nullopt;
  return fmt::format("{} is expected to take {} for this turn, and {} to take {}", name,
                     TimeText(*best_s), plan::SplitText(current), TimeText(*current_s));
}

}  // namespace aster::open
